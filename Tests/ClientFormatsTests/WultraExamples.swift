import ClientLiterals
import PinWire
import Pinning

/// Apps and certificates for the tests of Wultra's formats. Test data is known to be well-formed; where it is not, the
/// test cannot go on.
enum WultraExamples {
    static let noon = Timestamp(seconds: 1_760_697_600)
    /// The end of certificates that the vectors of the clients' tests have.
    static let end = Timestamp(seconds: 4_102_444_800)
    static let day: Int64 = 86_400

    static func pattern(_ text: String) -> HostPattern {
        do { return try HostPattern(text) } catch { fatalError("\(text) \(error)") }
    }

    static func appID(_ text: String) -> AppID {
        do { return try AppID(text) } catch { fatalError("\(text) \(error)") }
    }

    static func version(_ text: String) -> AppVersion {
        do { return try AppVersion(text) } catch { fatalError("\(text) \(error)") }
    }

    static func reason(_ text: String) -> Reason {
        do { return try Reason(text) } catch { fatalError("\(text) \(error)") }
    }

    static func bytes(_ base64: String) -> [UInt8] {
        guard let bytes = Base64.decode(base64) else { fatalError("\(base64) is not base64") }
        return bytes
    }

    static func key(_ number: Int) -> KeyFacts {
        guard let pin = Pin(bytes: sha256(Array("key \(number)".utf8))) else { fatalError("a digest has 32 bytes") }
        return KeyFacts(
            pin: pin, algorithm: "ec", bits: 256, curve: "P-256", spkiSHA512: Array(repeating: 1, count: 64),
            rawKeySHA256: sha256(Array("raw \(number)".utf8)))
    }

    static func pin(_ number: Int) -> Pin { key(number).pin }

    /// A certificate of an imagined key.
    ///
    /// - Parameters:
    ///   - name: the common name, and the only alternative one unless `dnsNames` are given.
    ///   - edition: tells certificates of one key apart.
    static func certificate(
        _ number: Int, _ name: String?, dnsNames: [String]? = nil, edition: Int = 0, notAfter: Timestamp = end,
        isAuthority: Bool = false, issuer: String = "CN=Issuing", isSelfSigned: Bool = false,
        sha256 digest: [UInt8]? = nil
    ) -> CertificateFacts {
        CertificateFacts(
            key: key(number), sha256: digest ?? sha256(Array("certificate \(number) \(edition)".utf8)),
            sha1: Array(repeating: 2, count: 20), subject: name.map { "CN=\($0)" } ?? "O=Example",
            issuer: issuer, commonName: name, dnsNames: isAuthority ? [] : dnsNames ?? name.map { [$0] } ?? [],
            serial: "\(number)\(edition)", notBefore: noon.adding(seconds: -30 * day), notAfter: notAfter,
            isCA: isAuthority, isSelfSigned: isSelfSigned)
    }

    /// A host of an app, with a pin for each certificate's key, the first of them the primary one.
    struct Place {
        var pattern: HostPattern
        var mode: PinMode?
        var certificates: [CertificateFacts]

        init(_ pattern: String, _ mode: PinMode? = .enforce, _ certificates: CertificateFacts...) {
            self.pattern = WultraExamples.pattern(pattern)
            self.mode = mode
            self.certificates = certificates
        }
    }

    static let shop = appID("mobile-app")

    /// An app with hosts as they are, whatever the ledger would have said of them.
    static func app(_ places: Place...) -> App {
        var app = App(id: shop, displayName: "Mobile \"App\"", createdAt: noon)
        app.version = 1
        for place in places {
            var policy = Policy(mode: place.mode ?? .off)
            for certificate in place.certificates {
                let pin = certificate.key.pin
                if policy.pins[pin] == nil {
                    let role: PinRole = policy.pins.isEmpty ? .primary : .backup
                    policy.pins[pin] = PinRecord(role: role, state: .active, note: nil, since: noon)
                }
                guard var knowledge = app.keys[pin] else {
                    app.keys[pin] = KeyKnowledge(.certificate(certificate))
                    continue
                }
                // Several hosts may share a certificate.
                guard !knowledge.certificates.contains(certificate) else { continue }
                knowledge.certificates.append(certificate)
                knowledge.certificates.sort { $0.notAfter > $1.notAfter }
                app.keys[pin] = knowledge
            }
            app.hosts[place.pattern] = Pinning.Host(
                includesSubdomains: false, baseline: place.mode == nil ? .builtin : .policy(policy))
        }
        return app
    }

    /// What clients see of an app.
    static func view(
        _ app: App, at now: Timestamp = noon, everythingOff: KillSwitch? = nil, served: [HostPattern: Set<Pin>] = [:]
    ) -> ClientView {
        var state = LedgerState()
        state.apps.insert(app)
        state.fleet.killSwitch = everythingOff
        guard let document = state.document(of: app.id) else { fatalError("the app is there") }
        return ClientView(document, of: app, served: served, at: now)
    }

    static func killSwitch(until end: Timestamp = noon.adding(seconds: day)) -> KillSwitch {
        KillSwitch(engagedAt: noon.adding(seconds: -60), expiresAt: end)
    }

    /// An app after changes that the ledger took.
    static func after(_ app: App?, _ command: [AppCommand], at now: Timestamp = noon) throws(Refusal) -> App {
        let context = DecisionContext(now: now, reason: reason("test"), isForced: false, rails: []) {
            ["com"].contains($0)
        }
        var state = LedgerState()
        if let app { state.apps.insert(app) }
        state.take(try state.decide(.app(shop, command), in: context).after)
        guard let app = state.apps[shop] else { throw .appUnknown(shop) }
        return app
    }

    static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
