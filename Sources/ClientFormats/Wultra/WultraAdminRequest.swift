package import PinWire
package import Pinning

/// A changing request to the administrative interface of Wultra's mobile utility server 1.x and 2.x, as far as it can
/// be read without the ledger. The app stands in the path, except for a new one.
package enum WultraAdminRequest: Hashable, Sendable {
    /// `POST /admin/apps`.
    case createApp(AppID, displayName: String)
    /// `POST …/certificates/auto`: looks up the certificate that the host serves now.
    case addServedCertificate(HostPattern)
    /// `POST …/certificates/pem`. `depth` is 2.x's; nil as 0.
    case addCertificate(HostPattern, pem: String, depth: Int64?)
    /// `DELETE …/certificates`: with a fingerprint of 32 bytes.
    case deleteCertificate(HostPattern, fingerprint: [UInt8])
    /// `DELETE …/domains`.
    case deleteDomain(HostPattern)
    /// `POST …/versions`. The rule's id is given when it is recorded.
    case addVersionRule(ClientVersionRule)
    /// `POST /admin/texts`.
    case setText(ClientText)

    /// Reads the body of `POST /admin/apps`.
    ///
    /// Wultra's names have 2 to 255 letters, digits, hyphens and underscores, beginning with a letter or digit. Names
    /// of apps have at most 128 characters here: longer ones are refused with that reason.
    package static func createApp(_ bytes: [UInt8]) throws(WultraAdminError) -> Self {
        let body = try WultraAdminBody(bytes)
        let name = try body.text("name")
        guard Self.isName(name) else {
            throw body.error(
                "name",
                "must be 2 to 255 letters, digits, hyphens and underscores, beginning with a letter or digit")
        }
        guard let app = try? AppID(name) else {
            throw body.error("name", "must have at most 128 characters: longer names cannot be kept here")
        }
        let displayName = try body.text("displayName")
        guard PlainText.isAcceptable(displayName, atMost: 200) else {
            throw body.error("displayName", "must be 1 to 200 characters of plain text, and not only spaces")
        }
        return .createApp(app, displayName: displayName)
    }

    /// Reads the body of `POST …/certificates/auto`.
    package static func addServedCertificate(_ bytes: [UInt8]) throws(WultraAdminError) -> Self {
        .addServedCertificate(try WultraAdminBody(bytes).host("domain"))
    }

    /// Reads the body of `POST …/certificates/pem`.
    package static func addCertificate(_ bytes: [UInt8]) throws(WultraAdminError) -> Self {
        let body = try WultraAdminBody(bytes)
        return .addCertificate(
            try body.host("domain"), pem: try body.text("pem"), depth: try body.optionalNumber("depth", 0...8))
    }

    /// Reads the query of `DELETE …/certificates`.
    ///
    /// - Parameter fingerprint: Base64 of 32 bytes. Scripts that send `+` unescaped mean it, although it spells a
    ///   space.
    /// - Returns: Nil for a name that no app can have, so that there is nothing to delete.
    /// - Throws: ``WultraAdminError`` where a parameter is missing.
    package static func deleteCertificate(domain: String?, fingerprint: String?) throws(WultraAdminError) -> Self? {
        let host = HostPattern(deleted: try Self.required(domain, "domain"))
        let text = try Self.required(fingerprint, "fingerprint")
        guard let host, let bytes = Base64.decode(text.replacing(" ", with: "+")), bytes.count == 32 else { return nil }
        return .deleteCertificate(host, fingerprint: bytes)
    }

    /// Reads the query of `DELETE …/domains`.
    ///
    /// - Returns: Nil for a name that no app can have, so that there is nothing to delete.
    /// - Throws: ``WultraAdminError`` where the parameter is missing.
    package static func deleteDomain(_ domain: String?) throws(WultraAdminError) -> Self? {
        guard let host = HostPattern(deleted: try Self.required(domain, "domain")) else { return nil }
        return .deleteDomain(host)
    }

    private static func required(_ parameter: String?, _ name: String) throws(WultraAdminError) -> String {
        guard let parameter else { throw WultraAdminError(.malformed, "The query parameter \(name) is required.") }
        return parameter
    }

    /// Reads the body of `POST …/versions`.
    package static func addVersionRule(_ bytes: [UInt8]) throws(WultraAdminError) -> Self {
        let body = try WultraAdminBody(bytes)
        let rule = ClientVersionRule(
            id: 0,
            platform: try body.parse("platform") { (text) throws(ClientSettings.Malformed) in
                try WultraPlatform(text.uppercased())
            },
            majorOSVersion: try body.optionalNumber("majorOsVersion", ClientVersionRule.majorOSVersions),
            suggestedVersion: try body.optionalVersion("suggestedVersion"),
            requiredVersion: try body.optionalVersion("requiredVersion"),
            messageKey: try body.optionalText("messageKey").map { (_) throws(WultraAdminError) in
                try body.parse("messageKey", TextKey.init)
            })
        guard rule.suggestedVersion != nil || rule.requiredVersion != nil else {
            throw body.error("suggestedVersion", "or requiredVersion must be given")
        }
        return .addVersionRule(rule)
    }

    /// Reads the body of `POST /admin/texts`.
    package static func setText(_ bytes: [UInt8]) throws(WultraAdminError) -> Self {
        let body = try WultraAdminBody(bytes)
        return .setText(
            ClientText(
                key: try body.parse("messageKey", TextKey.init), language: try body.parse("language", Self.language),
                text: try body.parse("text", MessageText.init)))
    }

    /// Reads the name of a text in the path of `GET` and `DELETE /admin/texts/{key}/{language}`.
    package static func textName(
        key: String, language: String
    ) throws(WultraAdminError) -> (key: TextKey, language: TextLanguage) {
        func part<T>(
            _ field: String, _ text: String, _ parse: (String) throws(ClientSettings.Malformed) -> T
        ) throws(WultraAdminError) -> T {
            do throws(ClientSettings.Malformed) { return try parse(text) } catch {
                throw WultraAdminError(field, error.description, value: OrderedJSON(repeating: .string(text)))
            }
        }
        return (try part("messageKey", key, TextKey.init), try part("language", language, Self.language))
    }

    /// A text's language: two letters in any case.
    private static func language(_ text: String) throws(ClientSettings.Malformed) -> TextLanguage {
        try TextLanguage(text.lowercased())
    }

    /// Wultra's rule for names: `^[a-zA-Z0-9][a-zA-Z0-9-_]{1,254}$`.
    private static func isName(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        func isPlain(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: false
            }
        }
        return (2...255).contains(bytes.count) && isPlain(bytes[0])
            && bytes.allSatisfy { isPlain($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
    }
}

extension HostPattern {
    /// The host of a domain's name; nil where it is malformed.
    fileprivate init?(deleted text: String) {
        guard let host = try? HostPattern(text.lowercased()) else { return nil }
        self = host
    }
}
