import Crypto
import PinWire

/// Makes roots of trust, sound and unsound, with keys that follow from names.
struct RootMaker {
    /// A root as its file has it: any JSON, signed as it stands.
    struct Draft {
        var signed: [String: JSON]
        var signatures: [JSON]

        var json: JSON { ["signatures": .array(self.signatures), "signed": .object(self.signed)] }
        var bytes: [UInt8] { self.json.canonicalBytes }
    }

    static let end: Int64 = 1_924_992_000

    static func key(_ name: String) throws -> Curve25519.Signing.PrivateKey {
        try Curve25519.Signing.PrivateKey(rawRepresentation: sha256(Array("pinledger conformance \(name)".utf8)))
    }

    static func publicKey(_ name: String) throws -> [UInt8] { Array(try self.key(name).publicKey.rawRepresentation) }

    static func keyID(_ name: String) throws -> String { RootMetadata.keyID(try self.publicKey(name)) }

    /// What a root of people and of documents' keys says.
    ///
    /// - Parameters:
    ///   - morePeople: Public keys that nobody signs with.
    ///   - moreDocuments: The same, among those of documents.
    static func content(
        _ version: Int64, people: [String] = ["ada", "bob", "cleo"], threshold: Int = 2,
        documents: [String] = ["first", "second"], expires: Int64 = Self.end, morePeople: [[UInt8]] = [],
        moreDocuments: [[UInt8]] = []
    ) throws -> [String: JSON] {
        let metadata = RootMetadata(
            version: version, expiresAt: Timestamp(seconds: expires),
            root: RootMetadata.Role(
                keys: try people.map { try self.publicKey($0) } + morePeople, threshold: threshold),
            documents: RootMetadata.Role(
                keys: try documents.map { try self.publicKey($0) } + moreDocuments, threshold: 1))
        return metadata.json.objectValue ?? [:]
    }

    static func signature(_ signed: [String: JSON], by name: String) throws -> JSON {
        let signature = try self.key(name).signature(for: JSON.object(signed).canonicalBytes)
        return ["keyid": .string(try self.keyID(name)), "sig": .string(Hex.encode(Array(signature)))]
    }

    /// Signs in the order of the key ids.
    static func sign(_ signed: [String: JSON], by names: [String]) throws -> Draft {
        let signatures = try names.map { try self.signature(signed, by: $0) }
        return Draft(
            signed: signed,
            signatures: signatures.sorted { ($0["keyid"]?.stringValue ?? "") < ($1["keyid"]?.stringValue ?? "") })
    }
}
