package import PinWire

/// A person's own key, with which they sign approvals: without it, neither a stolen token nor the server can approve in their name.
package struct ApprovalKey: Hashable, Sendable {
    /// The key's RFC 7638 thumbprint.
    package let kid: String
    /// An Ed25519 public key (RFC 8032), 32 bytes.
    package let publicKey: [UInt8]

    package init(kid: String, publicKey: [UInt8]) {
        self.kid = kid
        self.publicKey = publicKey
    }

    /// The most keys of one person.
    package static let limit = 5

    package var json: JSON { ["kid": .string(self.kid), "public_key": .string(Base64URL.encode(self.publicKey))] }
}

/// An approver's signature of what they approve. The state machine knows of it; who takes it from outside has verified it.
package struct ApprovalSignature: Hashable, Sendable {
    /// The key's RFC 7638 thumbprint.
    package let kid: String
    /// The signature in OpenSSH's format SSHSIG (PROTOCOL.sshsig), without its armor.
    package let bytes: [UInt8]

    package init(kid: String, bytes: [UInt8]) {
        self.kid = kid
        self.bytes = bytes
    }

    /// The most bytes of a signature in this format: those of an Ed25519 key take about 180.
    package static let maximumSize = 1024

    /// The namespace of the signatures, so that none made for something else fits.
    package static let namespace = "pinledger-approval"

    /// What is signed: the canonical JSON (RFC 8785) of the change's id, the hash of its content, 32 bytes, and the approver's id.
    package static func statement(change: String, contentDigest: [UInt8], principal: String) -> [UInt8] {
        let statement: JSON = [
            "change_id": .string(change), "content_sha256": .string(Hex.encode(contentDigest)),
            "principal_id": .string(principal),
        ]
        return statement.canonicalBytes
    }

    package var json: JSON { ["kid": .string(self.kid), "sshsig": .string(Base64.encode(self.bytes))] }

    /// Reads what ``json`` writes.
    package init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (members) throws(JSONDefect) in
            let kid = try members.required("kid").string()
            let text = try members.required("sshsig")
            guard let bytes = Base64.decode(try text.string()), bytes.count <= Self.maximumSize else {
                throw text.defect("must be at most \(Self.maximumSize) bytes in base64")
            }
            return ApprovalSignature(kid: kid, bytes: bytes)
        }
    }
}
