internal import Crypto
package import PinWire

/// A key with which an app's clients sign their reports, as `pinledger telemetry key create` prints it.
///
/// It ships with the app, so that a determined person can take it out: it keeps strangers from making up reports, and that is all. Its
/// secret shows in no description.
public struct ReportKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// Why a text is no secret.
    public struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        public let description = "a report key has an id, and a secret of tlsec_ and 32 bytes in base64"
    }

    /// The key's id, `tlk_…`.
    public let id: String
    private let secret: SymmetricKey

    public var description: String { "the report key \(self.id)" }
    public var customMirror: Mirror { Mirror(self, children: ["id": self.id]) }

    /// - Parameter secret: `tlsec_` and the secret's 32 bytes in base64 (RFC 4648 section 4).
    public init(id: String, secret: String) throws(Malformed) {
        let prefix = "tlsec_"
        guard secret.hasPrefix(prefix), let bytes = Base64.decode(String(secret.dropFirst(prefix.count))),
            bytes.count == 32,
            !id.isEmpty, id.isPrintableASCII, !id.contains("\""), !id.contains("\\")
        else { throw Malformed() }
        self.id = id
        self.secret = SymmetricKey(data: bytes)
    }

    /// Reads JSON with the members `key_id` and `secret`; others are left out.
    public init(json: [UInt8]) throws(Malformed) {
        guard let members = try? JSON(parsing: json), let id = members["key_id"]?.stringValue,
            let secret = members["secret"]?.stringValue
        else { throw Malformed() }
        try self.init(id: id, secret: secret)
    }

    /// The value of the request field `Pinledger-Signature` (RFC 8941): HMAC-SHA-256 over `pinledger-reports/v1`, the app and the time, each
    /// followed by a line feed, and the body.
    package func field(app: AppID, at time: Timestamp, body: [UInt8]) -> String {
        let head = "pinledger-reports/v1\n\(app)\n\(time.seconds)\n"
        let code = HMAC<SHA256>.authenticationCode(for: Array(head.utf8) + body, using: self.secret)
        return "keyid=\"\(self.id)\", time=\(time.seconds), mac=:\(Base64.encode(Array(code))):"
    }
}
