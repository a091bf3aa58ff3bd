package import Crypto
package import PinWire

/// A person with an offline key that signs roots of trust. The key follows from the name.
package struct RootSigner: Sendable {
    package let key: Curve25519.Signing.PrivateKey

    package init(_ name: String) throws {
        self.key = try Curve25519.Signing.PrivateKey(rawRepresentation: sha256(Array(name.utf8)))
    }

    /// 32 bytes.
    package var publicKey: [UInt8] { Array(self.key.publicKey.rawRepresentation) }
    package var keyID: String { RootMetadata.keyID(self.publicKey) }

    package func sign(_ root: inout SignedRoot) throws {
        root.add(Array(try self.key.signature(for: root.message)), by: self.keyID)
    }
}

extension SignedRoot {
    /// A root of trust with the keys of people and of documents, signed by people.
    ///
    /// - Parameters:
    ///   - people: The names of those whose keys are in it.
    ///   - signers: The names of those who have signed it; nil for `people`.
    package static func made(
        _ version: Int64, people: [String] = ["Ada", "Bob", "Cleo"], threshold: Int = 2, documents: [[UInt8]],
        expiresAt: Timestamp, signedBy signers: [String]? = nil
    ) throws -> SignedRoot {
        let keys = try people.map { try RootSigner($0).publicKey }
        var root = SignedRoot(
            RootMetadata(
                version: version, expiresAt: expiresAt, root: RootMetadata.Role(keys: keys, threshold: threshold),
                documents: RootMetadata.Role(keys: documents, threshold: 1)))
        for name in signers ?? people { try RootSigner(name).sign(&root) }
        return root
    }
}
