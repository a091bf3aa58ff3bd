package import Keys
package import PinWire

/// A Google service account, read from the key file of its console.
///
/// Printing the value shows nothing of the key.
package struct ServiceAccount: Sendable, CustomStringConvertible {
    /// Why a file is not a service account.
    package struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String
    }

    /// The account's project, which it is used for.
    package let project: String
    package let email: String
    /// The issuer of its tokens.
    package let tokenURL: String
    private let keyID: String?
    private let key: RSAPrivateKey

    package var description: String { "the service account \(self.email)" }

    /// The scope of a token.
    private static let scope = "https://www.googleapis.com/auth/firebase.remoteconfig"
    /// How long an assertion is valid, in seconds: the longest that Google accepts.
    private static let lifetime: Int64 = 3600

    /// Reads a file's content. Unneeded members are ignored.
    package init(_ text: [UInt8], endpoint: FirebaseEndpoint) throws(Malformed) {
        let json: JSON
        do throws(JSONSyntaxError) { json = try JSON(parsing: text) } catch {
            throw Malformed(description: "does not hold JSON: \(error.message)")
        }
        guard json["type"] == "service_account" else {
            throw Malformed(description: "is not the key file of a service account (type is not service_account)")
        }
        func member(_ name: String) throws(Malformed) -> String {
            guard let text = json[name]?.stringValue, !text.isEmpty, text.utf8.count <= 32_768 else {
                throw Malformed(description: "has no \(name)")
            }
            return text
        }
        self.project = try member("project_id")
        self.email = try member("client_email")
        self.tokenURL = try member("token_uri")
        self.keyID = json["private_key_id"]?.stringValue
        guard endpoint.allows(self.tokenURL) else {
            throw Malformed(description: "has a token_uri that does not begin with https")
        }
        let key = Array(try member("private_key").utf8)
        do throws(KeyImportError) { self.key = try RSAPrivateKey(importing: key) } catch {
            throw Malformed(description: "has a private_key that \(error)")
        }
    }

    /// The assertion that is exchanged for a token (RFC 7523): it states who asks for what, and until when it is valid.
    /// Takes milliseconds.
    package func assertion(at now: Timestamp) throws(KeyFault) -> String {
        let header: JSON = .members(["alg": "RS256", "kid": self.keyID.map { .string($0) }, "typ": "JWT"])
        let claims: JSON = [
            "iss": .string(self.email), "scope": .string(Self.scope), "aud": .string(self.tokenURL),
            "iat": .integer(now.seconds), "exp": .integer(now.seconds + Self.lifetime),
        ]
        let input = Base64URL.encode(header.canonicalBytes) + "." + Base64URL.encode(claims.canonicalBytes)
        return input + "." + Base64URL.encode(try self.key.signRS256(Array(input.utf8)))
    }
}
