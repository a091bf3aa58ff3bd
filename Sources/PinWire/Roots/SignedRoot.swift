internal import Crypto

/// A root of trust in its file's form: content and signatures, which nothing has counted yet.
///
/// A file is canonical JSON (RFC 8785) of `{"signatures": […], "signed": {…}}` in printable ASCII without a backslash, with integers alone. For such
/// texts TUF's canonical form is the same one, so what is signed stands in the file byte for byte. The signatures are in the order of their key ids.
package struct SignedRoot: Hashable, Sendable {
    /// Why bytes are no root.
    package struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String
    }

    package let metadata: RootMetadata
    /// Signatures of 64 bytes, by TUF's key id.
    package private(set) var signatures: [String: [UInt8]]
    /// What is signed.
    package let signed: JSON

    /// The most signatures: those of the keys from before, and of those in it.
    private static let signatureLimit = 2 * RootMetadata.keyLimit

    /// A root that is still to be signed.
    package init(_ metadata: RootMetadata) {
        self.metadata = metadata
        self.signed = metadata.json
        self.signatures = [:]
    }

    /// Reads a file.
    ///
    /// - Parameter isLenient: Whether white space and another order of members do no harm, as in files that other TUF tools write.
    package init(_ bytes: [UInt8], isLenient: Bool = false) throws(Malformed) {
        guard bytes.count <= RootOfTrust.byteLimit else {
            throw Malformed(description: "the root has more than \(RootOfTrust.byteLimit) bytes")
        }
        let json: JSON
        do { json = try JSON(parsing: bytes, limits: JSONLimits(depth: 16, nodes: RootOfTrust.byteLimit)) } catch {
            throw Malformed(description: "the root is no JSON: \(error)")
        }
        do throws(JSONDefect) { try self.init(JSONField(json)) } catch {
            throw Malformed(description: "the root is malformed: \(error)")
        }
        guard isLenient || self.bytes == bytes else {
            throw Malformed(
                description: "the root is not canonical JSON (RFC 8785) with signatures in the order of their key ids")
        }
    }

    /// Reads the file's members.
    package init(_ field: JSONField) throws(JSONDefect) {
        guard field.value.canonicalBytes.allSatisfy({ (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "\\") }) else {
            throw field.defect("must have no other characters than printable ASCII, and no backslash")
        }
        guard field.value.hasIntegersAlone else { throw field.defect("must have no other numbers than integers") }
        (self.signatures, self.signed, self.metadata) = try field.object { (file) throws(JSONDefect) in
            var signatures: [String: [UInt8]] = [:]
            for element in try file.required("signatures").elements(atMost: Self.signatureLimit) {
                let (id, signature) = try Self.signature(element)
                guard signatures.updateValue(signature, forKey: id) == nil else {
                    throw element.defect("is the second one of its key")
                }
            }
            let signed = try file.required("signed")
            return (signatures, signed.value, try RootMetadata(signed))
        }
    }

    private static func signature(_ field: JSONField) throws(JSONDefect) -> (String, [UInt8]) {
        try field.object { (m) throws(JSONDefect) in
            func hex(_ name: String, _ count: Int) throws(JSONDefect) -> [UInt8] {
                let field = try m.required(name)
                let text = try field.string()
                guard let bytes = Hex.decode(text), bytes.count == count else {
                    throw field.defect("must be \(2 * count) hexadecimal digits in lower case")
                }
                return bytes
            }
            return (Hex.encode(try hex("keyid", 32)), try hex("sig", 64))
        }
    }

    /// The file.
    package var bytes: [UInt8] { self.json.canonicalBytes }

    package var json: JSON {
        let signatures = self.signatures.sorted { $0.key < $1.key }
        return [
            "signatures": .array(
                signatures.map { ["keyid": .string($0.key), "sig": .string(Hex.encode($0.value))] }),
            "signed": self.signed,
        ]
    }

    /// The bytes that are signed.
    package var message: [UInt8] { self.signed.canonicalBytes }

    /// Adds a signature, or replaces the one of the same key.
    package mutating func add(_ signature: [UInt8], by keyID: String) { self.signatures[keyID] = signature }

    /// The keys of a role that have signed it (RFC 8032).
    package func signers(of role: RootMetadata.Role) -> Set<String> {
        let message = self.message
        return Set(
            role.keys.compactMap { id, bytes in
                guard let signature = self.signatures[id],
                    let key = try? Curve25519.Signing.PublicKey(rawRepresentation: bytes),
                    key.isValidSignature(signature, for: message)
                else { return nil }
                return id
            })
    }

    /// Whether enough keys of a role have signed it.
    package func isSigned(by role: RootMetadata.Role) -> Bool { self.signers(of: role).count >= role.threshold }
}

extension JSON {
    /// Whether all numbers in it are integers. Its depth is bounded where it was read.
    fileprivate var hasIntegersAlone: Bool {
        switch self {
        case .number: false
        case .array(let elements): elements.allSatisfy(\.hasIntegersAlone)
        case .object(let members): members.values.allSatisfy(\.hasIntegersAlone)
        case .null, .bool, .integer, .string: true
        }
    }
}
