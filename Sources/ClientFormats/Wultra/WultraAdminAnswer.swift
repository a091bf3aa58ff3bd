package import PinWire
package import Pinning

/// The answers of the administrative interface of Wultra's mobile utility server, as JSON. Null members are left out.
package enum WultraAdminAnswer {
    /// The answer to a deletion.
    package static let ok = OrderedJSON.members(["status": .string("OK")]).bytes()

    /// The answer to `GET /admin/apps`: the apps by name.
    package static func apps(_ apps: [(name: AppID, displayName: String)]) -> [UInt8] {
        let list = apps.sorted { $0.name < $1.name }.map { app -> OrderedJSON in
            .members(["name": .string(app.name.text), "displayName": .string(app.displayName)])
        }
        return OrderedJSON.members(["applications": .array(list)]).bytes()
    }

    /// The answer to `GET /admin/apps/{name}`, and to the creation of the app.
    ///
    /// - Parameters:
    ///   - point: The app's P-256 key as an uncompressed point (ANSI X9.63), 65 bytes; nil where it has none.
    ///   - material: Certificates in DER by their SHA-256. The ledger has none; one that is missing is shown without
    ///     its `pem`.
    package static func app(
        _ app: App, publicKey point: [UInt8]?, material: [[UInt8]: [UInt8]], at now: Timestamp
    ) -> [UInt8] {
        let domains = app.hosts.sorted { $0.key < $1.key }.map { pattern, host -> OrderedJSON in
            let roles = PinRole.allCases
            // Primary pins first, as they are published.
            let pins = (host[.baseline]?.activePins ?? []).sorted { left, right in
                let (one, other) = (roles.firstIndex(of: left.role) ?? 0, roles.firstIndex(of: right.role) ?? 0)
                return one == other ? left.pin < right.pin : one < other
            }
            let certificates = pins.flatMap { app.keys[$0.pin]?.listed(at: pattern, app.wultraSettings, now) ?? [] }
            return .members([
                "name": .string(pattern.text),
                "certificates": .array(certificates.map { Self.json($0, material[$0.sha256]) }),
            ])
        }
        return OrderedJSON.members([
            "name": .string(app.id.text),
            "displayName": .string(app.displayName),
            "publicKey": point.map { .string(Base64.encode($0)) },
            "domains": .array(domains),
        ]).bytes()
    }

    /// The answer to the addition of a certificate.
    ///
    /// - Parameter der: The certificate; nil where it is not stored, and is shown without its `pem`.
    package static func certificate(
        _ certificate: CertificateFacts, der: [UInt8]?, of pattern: HostPattern
    ) -> [UInt8] {
        Self.json(certificate, der, name: pattern.text).bytes()
    }

    /// The answer to `GET …/versions`.
    package static func versionRules(_ rules: [ClientVersionRule]) -> [UInt8] {
        OrderedJSON.members(["applicationVersions": .array(rules.sorted { $0.id < $1.id }.map(Self.json))]).bytes()
    }

    /// The answer to `GET …/versions/{id}`, and to the addition of the rule.
    package static func versionRule(_ rule: ClientVersionRule) -> [UInt8] { Self.json(rule).bytes() }

    /// The answer to `GET /admin/texts`.
    package static func texts(_ texts: [ClientText]) -> [UInt8] {
        OrderedJSON.members(["texts": .array(texts.map(Self.json))]).bytes()
    }

    /// The answer to `GET /admin/texts/{key}/{language}`, and to setting the text.
    package static func text(_ text: ClientText) -> [UInt8] { Self.json(text).bytes() }

    private static func json(_ certificate: CertificateFacts, _ der: [UInt8]?, name: String? = nil) -> OrderedJSON {
        .members([
            "name": name.map { .string($0) },
            "pem": der.map { .string(PEM.text($0, .certificate)) },
            "fingerprint": .string(Base64.encode(certificate.sha256)),
            "expires": .integer(certificate.notAfter.seconds),
        ])
    }

    private static func json(_ rule: ClientVersionRule) -> OrderedJSON {
        .members([
            "id": .integer(rule.id),
            "platform": .string(rule.platform.rawValue),
            "majorOsVersion": rule.majorOSVersion.map { .integer($0) },
            "suggestedVersion": rule.suggestedVersion.map { .string($0.text) },
            "requiredVersion": rule.requiredVersion.map { .string($0.text) },
            "messageKey": rule.messageKey.map { .string($0.text) },
        ])
    }

    private static func json(_ text: ClientText) -> OrderedJSON {
        .members([
            "messageKey": .string(text.key.text), "language": .string(text.language.text),
            "text": .string(text.text.text),
        ])
    }
}
