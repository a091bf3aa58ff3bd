import PinWire
package import Pinning

/// NetKit's `SecurityPolicy` values as JSON, for apps to make them of.
///
/// NetKit has types and no wire format. This one has their names, and their values' as Swift's `Codable` writes them:
/// `Data` in base64, a set as an array, a case by its name.
///
/// ```json
/// {"app":"com.example.app","version":42,
///  "policies":[{"mode":"publicKey","pinnedHosts":["api.example.com"],"pinnedItems":["BASE64"],
///    "fallbackItems":["BASE64"],"failureAction":"reject","validateCertificateChain":true,
///    "pinnedKeys":[{"spkiSHA256":"BASE64","rawKey":"BASE64","certificates":["BASE64"]}],"fallbackKeys":[]}],
///  "builtinHosts":[],"unpinnedHosts":[]}
/// ```
///
/// - `policies`: One for each host, for every item of a policy counts for every host of it. `pinnedHosts` is never
///   empty, which NetKit takes for "all hosts", and neither is `pinnedKeys`: NetKit ends the process where it has no
///   item.
/// - `pinnedItems`, `fallbackItems`: What NetKit compares: in mode `publicKey` raw keys (of which the SHA-256 is *not*
///   the pin), in mode `certificate` certificates. Both are there only where they are known of every pin, as a policy
///   without the served key would refuse every connection. What is served now or primary is pinned, all else fallback.
/// - `pinnedKeys`, `fallbackKeys`: The same keys for versions with `PinnedKey.spkiSHA256`, with what is known in DER.
/// - `failureAction`: `reject`, or `allowWithWarning` in the mode `report_only`, whereupon the system's own validation
///   decides.
/// - `unpinnedHosts`: Pinning is off, or there are no pins. NetKit leaves hosts without a policy to the system's
///   validation.
/// - `builtinHosts`: The pins built into the app hold on.
package struct NetKitDocument: Hashable, Sendable {
    /// The compared objects.
    package enum Mode: String, CaseIterable, Sendable, Hashable {
        case publicKey
        case certificate
    }

    /// The body: UTF-8, not signed.
    package let bytes: [UInt8]

    /// - Parameters:
    ///   - view: The clients' view.
    ///   - names: The host names that the app connects to. NetKit knows exact names only, so that a pattern with a
    ///     wildcard, or one that includes subdomains, holds for the names given here. Names that no pattern covers are
    ///     ignored. Empty for the exact patterns' own names.
    ///   - mode: The compared objects; public keys outlive the renewal of their certificates.
    ///   - material: Known bytes in DER, by their SHA-256: SubjectPublicKeyInfos by the pin's bytes, certificates by
    ///     theirs.
    package init(
        _ view: ClientView, for names: [String] = [], mode: Mode = .publicKey, material: [[UInt8]: [UInt8]] = [:]
    ) {
        var policies: [OrderedJSON] = []
        var builtin: [String] = []
        var unpinned: [String] = []
        let material = NetKitMaterial(material: material)
        for (host, names) in Self.names(names, in: view) {
            switch host.outcome {
            case .builtin: builtin += names
            case .off: unpinned += names
            case .enforce, .reportOnly:
                if let policy = Self.policy(host, names, mode, material, at: view.now) {
                    policies.append(policy)
                } else {
                    unpinned += names
                }
            }
        }
        let json: OrderedJSON = [
            "app": .string(view.app.text),
            "version": .integer(view.document.version),
            "policies": .array(policies),
            "builtinHosts": .array(builtin.map { .string($0) }),
            "unpinnedHosts": .array(unpinned.map { .string($0) }),
        ]
        self.bytes = json.bytes()
    }

    /// The hosts, in the view's order, with the names that each is rendered for, in the order of their bytes.
    private static func names(_ names: [String], in view: ClientView) -> [(ClientView.Host, [String])] {
        guard !names.isEmpty else {
            return view.hosts.filter { !$0.pattern.isWildcard }.map { ($0, [$0.pattern.name]) }
        }
        var byPattern: [HostPattern: Set<String>] = [:]
        for name in names {
            guard name.utf8.allSatisfy({ $0 < 0x80 }), let exact = try? HostPattern(name.lowercased()),
                !exact.isWildcard, let host = view.host(for: exact.text)
            else { continue }
            byPattern[host.pattern, default: []].insert(exact.text)
        }
        return view.hosts.compactMap { host in byPattern[host.pattern].map { (host, $0.sorted()) } }
    }

    /// Nil for a host without pins.
    private static func policy(
        _ host: ClientView.Host, _ names: [String], _ mode: Mode, _ material: NetKitMaterial, at now: Timestamp
    ) -> OrderedJSON? {
        guard let first = host.pins.first else { return nil }
        func isPinned(_ pin: ClientView.ClientPin) -> Bool { pin.isServed || pin.role == .primary || pin == first }
        let pinned = host.pins.filter(isPinned)
        let fallback = host.pins.filter { !isPinned($0) }
        func items(of pin: ClientView.ClientPin) -> [[UInt8]] {
            switch mode {
            case .publicKey: material.rawKey(of: pin).map { [$0] } ?? []
            case .certificate: material.certificates(of: pin, at: now)
            }
        }
        let isWhole = host.pins.allSatisfy { !items(of: $0).isEmpty }
        func base64(_ items: [[UInt8]]) -> OrderedJSON { .array(items.map { .string(Base64.encode($0)) }) }
        func key(_ pin: ClientView.ClientPin) -> OrderedJSON {
            let certificates = material.certificates(of: pin, at: now)
            return .members([
                "spkiSHA256": .string(pin.pin.base64),
                "rawKey": material.rawKey(of: pin).map { .string(Base64.encode($0)) },
                "certificates": certificates.isEmpty ? nil : base64(certificates),
            ])
        }
        return .members([
            "mode": .string(mode.rawValue),
            "pinnedHosts": .array(names.map { .string($0) }),
            "pinnedItems": isWhole ? base64(pinned.flatMap(items)) : nil,
            "fallbackItems": isWhole ? base64(fallback.flatMap(items)) : nil,
            "failureAction": host.outcome == .reportOnly ? "allowWithWarning" : "reject",
            "validateCertificateChain": true,
            "pinnedKeys": .array(pinned.map(key)),
            "fallbackKeys": .array(fallback.map(key)),
        ])
    }
}
