import Crypto  // On Apple's systems: CryptoKit
import Foundation
import PinWire

/// A client's part in trusting documents: the nine rules of verification.
struct PinnedDocument {
    struct Refused: Error, CustomStringConvertible { let description: String }

    /// The document, ready to decide: `Evaluator(pinned.issued).decide("api.example.com", for: device, at: now)`.
    let issued: IssuedDocument
    /// Whether to fetch another one before connecting. A stale document is still valid.
    let isStale: Bool

    /// - Parameters:
    ///   - keys: The keys that ship with the app, by `kid`.
    ///   - held: The document that the app holds, if there is one.
    init(
        token: String, keys: [String: Curve25519.Signing.PublicKey], app: AppID, issuer: String,
        held: IssuedDocument?, now: Timestamp
    ) throws {
        guard token.utf8.count <= IssuedDocument.payloadLimit else { throw Refused(description: "rule 1: too large") }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let head = Base64URL.decode(parts[0]), let payload = Base64URL.decode(parts[1]),
            let signature = Base64URL.decode(parts[2])
        else { throw Refused(description: "rule 2: not three parts in base64url") }
        let members = try JSON(parsing: head).objectValue
        guard let members, Set(members.keys) == ["alg", "kid", "typ"],
            members["alg"] == "EdDSA", members["typ"] == "pinset+jws"
        else { throw Refused(description: "rule 2: another kind of document") }
        guard let key = members["kid"]?.stringValue.flatMap({ keys[$0] }) else {
            throw Refused(description: "rule 3: unknown key")
        }
        guard key.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)) else {
            throw Refused(description: "rule 3: wrong signature")
        }
        // Rules 4 and 6: canonical form, known members, and the digest computed from the content.
        self.issued = try IssuedDocument(payload: payload)
        guard self.issued.document.app == app, self.issued.document.issuer == issuer else {
            throw Refused(description: "rule 5: for another app, or from another issuer")
        }
        if let held {
            let (version, heldVersion) = (self.issued.document.version, held.document.version)
            guard version >= heldVersion else { throw Refused(description: "rule 7: lower version") }
            guard version > heldVersion || self.issued.contentDigest == held.contentDigest else {
                throw Refused(description: "rule 8: another content under the same version")
            }
            guard self.issued.issuedAt >= held.issuedAt else { throw Refused(description: "rule 8: issued earlier") }
        }
        guard self.issued.issuedAt <= now.adding(seconds: IssuedDocument.clockSkew) else {
            throw Refused(description: "rule 9: issued in the future")
        }
        self.isStale = now >= self.issued.expiresAt
    }
}
