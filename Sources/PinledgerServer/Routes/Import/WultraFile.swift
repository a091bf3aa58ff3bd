import KeyFiles
import Keys
import PinWire
import Pinning

/// What was read of a mobile utility server's app, and everything that is wrong with it.
struct WultraFile: Sendable {
    struct Certificate: Sendable {
        var facts: CertificateFacts
        var place: JSONPointer
    }

    struct Domain: Sendable {
        var pattern: HostPattern
        var isRequired: Bool
        /// Servers' own before authorities'.
        var certificates: [Certificate]
        var place: JSONPointer
    }

    /// Nil where nothing could be read.
    private(set) var name: (text: String, place: JSONPointer)?
    private(set) var displayName: String?
    /// What installs have built in.
    private(set) var publicKey: P256PublicKey?
    /// Its private half, where the file has it.
    private(set) var secret: ClientSigningKey?
    private(set) var domains: [Domain] = []
    /// The settings of clients of the kind ``ClientKind/wultra``, as far as the server knew them.
    private(set) var settings = ClientSettings()
    private(set) var findings: [ImportFinding] = []
    /// The certificates and keys that it shows.
    private(set) var material: Set<Material> = []

    /// Reads a file, the certificates in it too: not on a cooperative thread.
    ///
    /// - Parameter id: The app that is meant, where the file has several.
    init(_ json: JSON, for id: AppID) {
        do {
            let records = try WultraRecords(json, for: id.text)
            for remark in records.remarks { self.say(.note, remark.pointer, remark.message, remark.advice) }
            self.readApp(records)
            self.readKey(records)
            self.readDomains(records)
            self.readSettings(records)
        } catch {
            self.refuse(error, "Give the answers of the administrative interface, or the rows of the tables.")
        }
    }

    private mutating func say(
        _ severity: ImportFinding.Severity, _ pointer: JSONPointer, _ message: String, _ advice: String
    ) {
        self.findings.append(
            ImportFinding(severity: severity, place: .value(pointer), message: message, advice: advice))
    }

    private mutating func refuse(_ defect: JSONDefect, _ advice: String = "Correct it, or remove it.") {
        self.say(.fatal, defect.pointer, defect.message, advice)
    }

    private mutating func readApp(_ records: WultraRecords) {
        do throws(JSONDefect) {
            self.name = (try records.name.string(), records.name.pointer)
            self.displayName = try records.displayName?.plainText(atMost: 200)
        } catch {
            self.refuse(error)
        }
    }

    // MARK: The key

    /// Nothing that is said here tells anything of a private key.
    private mutating func readKey(_ records: WultraRecords) {
        do throws(JSONDefect) {
            self.publicKey = try records.publicKey.map { (field) throws(JSONDefect) in
                guard let point = Base64.decode(try field.string()), let key = P256PublicKey(x963: point) else {
                    throw field.defect("must be an uncompressed point on P-256 in base64, 65 bytes")
                }
                return key
            }
            guard let field = records.privateKey else { return }
            let secret = try Self.secret(field, isChecked: self.publicKey != nil)
            if let publicKey, publicKey.subjectPublicKeyInfo != secret.subjectPublicKeyInfo {
                throw field.defect("is not the private half of the app's public key")
            }
            self.secret = secret
        } catch {
            self.refuse(error)
        }
    }

    /// The key whose number the server keeps in base64.
    ///
    /// - Parameter isChecked: Whether a number that was cut short will be noticed by its public half.
    private static func secret(_ field: JSONField, isChecked: Bool) throws(JSONDefect) -> ClientSigningKey {
        guard var number = Base64.decode(try field.string()) else { throw field.defect("must be base64") }
        defer { SecureBytes.wipe(&number) }
        // Java leaves zeros at a number's beginning out.
        var whole = [UInt8](repeating: 0, count: isChecked ? max(0, 32 - number.count) : 0) + number
        defer { SecureBytes.wipe(&whole) }
        do { return try ClientSigningKey(importing: whole, algorithm: .es256) } catch {
            throw field.defect(error.description)
        }
    }

    // MARK: Domains

    private mutating func readDomains(_ records: WultraRecords) {
        var uploads = Uploads(known: KnownKeys())
        var seen: Set<HostPattern> = []
        for record in records.domains {
            var certificates: [Certificate] = []
            for field in record.certificates {
                do throws(JSONDefect) {
                    let facts = try Self.certificate(field, &uploads)
                    try self.compareExpiry(of: facts, field)
                    if certificates.contains(where: { $0.facts.sha256 == facts.sha256 }) { continue }
                    certificates.append(Certificate(facts: facts, place: field.pointer))
                } catch {
                    self.refuse(error)
                }
            }
            do throws(JSONDefect) {
                let pattern = try record.name.parse(HostPattern.init)
                guard seen.insert(pattern).inserted else { throw record.name.defect("is listed twice") }
                self.domains.append(
                    Domain(
                        pattern: pattern, isRequired: record.isRequired,
                        certificates: certificates.filter { $0.facts.isServers(at: pattern) }
                            + certificates.filter { !$0.facts.isServers(at: pattern) },
                        place: record.name.pointer))
            } catch {
                self.refuse(error)
            }
        }
        self.material = uploads.material
    }

    /// The certificate in `pem`, which must be the one that `fingerprint` is of.
    private static func certificate(
        _ field: JSONField, _ uploads: inout Uploads
    ) throws(JSONDefect) -> CertificateFacts {
        guard let pem = try field.member("pem") else {
            throw field.defect("has no pem, and a certificate's fingerprint is not a pin (G40)")
        }
        let upload = try pem.upload(Array(try pem.string().utf8), &uploads)
        guard upload.items.count == 1, case .certificate(let facts) = upload.items[0] else {
            throw pem.defect("must be one certificate")
        }
        uploads.keep(.certificate(facts), of: upload)
        if let fingerprint = try field.member("fingerprint"),
            Base64.decode(try fingerprint.string()) != facts.sha256
        {
            throw fingerprint.defect(
                "is not the fingerprint of the certificate in pem, which is \(Base64.encode(facts.sha256))")
        }
        return facts
    }

    private mutating func compareExpiry(of facts: CertificateFacts, _ field: JSONField) throws(JSONDefect) {
        guard let expires = try field.member("expires") else { return }
        let seconds = try expires.integer(0...JSON.largestInteger)
        guard seconds != facts.notAfter.seconds else { return }
        self.say(
            .warning, expires.pointer,
            "is \(seconds), but the certificate expires at \(facts.notAfter), second \(facts.notAfter.seconds), which is used",
            "To limit how long clients trust an entry, set `entry_days`.")
    }

    // MARK: Settings

    private mutating func readSettings(_ records: WultraRecords) {
        let before = self.findings.count
        for rule in records.versionRules { self.check(rule, as: "version_rules") }
        for text in records.texts { self.check(text, as: "texts") }
        let isDeep = records.domains.contains { domain in
            !domain.isRequired || domain.certificates.contains { ($0.value["depth"]?.integerValue ?? 0) > 0 }
        }
        guard self.findings.count == before else { return }
        let settings: JSON = [
            "understands_domains": .bool(isDeep), "version_rules": .array(records.versionRules.map(\.json)),
            "texts": .array(records.texts.map(\.json)),
        ]
        do { self.settings = try ClientSettings(JSONField(settings), of: .wultra) } catch {
            // Only what concerns several of them is still unsaid.
            let rows = error.pointer.path.first == "texts" ? records.texts : records.versionRules
            let row = error.pointer.path.dropFirst().first.flatMap { Int($0) }
            let place = row.flatMap { rows.indices.contains($0) ? rows[$0].pointer : nil }
            self.refuse(JSONDefect(pointer: place ?? JSONPointer(), message: error.message))
            return
        }
        guard isDeep else { return }
        self.say(
            .note, JSONPointer(),
            "has values that only clients of 2.x understand, so depths and domainsConfig are sent",
            "If installs are older, set `understands_domains` to false; they ignore both.")
    }

    /// Says what is wrong with one version rule or text, at its place in the file.
    private mutating func check(_ record: WultraRecords.Renamed, as list: String) {
        do {
            _ = try ClientSettings(JSONField(.object([list: .array([record.json])])), of: .wultra)
        } catch {
            var place = record.pointer
            if let member = error.pointer.path.dropFirst(2).first {
                place = place.appending(record.names[member] ?? member)
            }
            self.refuse(JSONDefect(pointer: place, message: error.message))
        }
    }
}
