import PinWire

/// A signed document in compact serialisation (RFC 7515 section 7.1), in the profile for clients.
///
/// The protected header has exactly `alg` (`EdDSA`, RFC 8037), `kid` and `typ`; `typ` keeps a signature made for one
/// kind of document from being used as another. Nothing in the header leads to a key: `jwk`, `jku`, `x5u` and `crit`
/// are refused with every other member.
package struct CompactJWS: Hashable, Sendable {
    /// Why a text is refused.
    package enum Invalid: Error, Hashable, Sendable {
        /// Longer than ``maximumSize``; nothing was parsed.
        case tooLarge(byteCount: Int)
        /// Not three parts of canonical base64url, or the signature not 64 bytes.
        case malformed
        /// The header is not a JSON object of three strings named `alg`, `kid` and `typ`.
        case malformedHeader
        /// `alg` is not `EdDSA`.
        case unsupportedAlgorithm
        /// `typ` is not the expected kind of document.
        case wrongType
        /// No trusted key has this `kid`.
        case unknownKey(keyID: String)
        /// The signature is not the key's.
        case wrongSignature
    }

    /// The most bytes a text may have before it is parsed: 2 MiB, more than any signed document has.
    package static let maximumSize = 2 << 20

    /// The thumbprint of the claimed signing key.
    package let keyID: String

    /// The kind of document, as `typ` names it.
    package let type: String

    /// The payload: not to be trusted before ``verify(with:)``.
    package let payload: [UInt8]

    // The first two parts with the dot between them, which are the signed bytes.
    private let signingInput: [UInt8]
    private let signature: [UInt8]

    /// Signs a payload: `BASE64URL(header).BASE64URL(payload).BASE64URL(signature)`, the header in canonical JSON.
    ///
    /// - Throws: ``Ed25519PrivateKey/Failure/signingFault``.
    package static func sign(
        _ payload: [UInt8],
        type: String,
        keyID: String,
        key: Ed25519PrivateKey
    ) throws(Ed25519PrivateKey.Failure) -> String {
        let header: JSON = ["alg": "EdDSA", "kid": .string(keyID), "typ": .string(type)]
        return try self.sign(payload, header: header.canonicalBytes, key: key)
    }

    /// Signs a payload under any header. For formats with a header of their own; documents go through
    /// ``sign(_:type:keyID:key:)``.
    package static func sign(
        _ payload: [UInt8],
        header: [UInt8],
        key: Ed25519PrivateKey
    ) throws(Ed25519PrivateKey.Failure) -> String {
        let input = Base64URL.encode(header) + "." + Base64URL.encode(payload)
        let signature = try key.sign(Array(input.utf8))
        return input + "." + Base64URL.encode(signature)
    }

    /// Parses a text without trusting it.
    ///
    /// - Throws: ``Invalid``, but never ``Invalid/wrongSignature`` or ``Invalid/unknownKey(keyID:)``.
    package init(parsing text: String, type: String) throws(Invalid) {
        let byteCount = text.utf8.count
        guard byteCount <= Self.maximumSize else { throw .tooLarge(byteCount: byteCount) }
        // Split by bytes: splitting a text by characters takes longer than verifying the signature.
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        guard parts.count == 3,
            let header = Base64URL.decode(parts[0]),
            let payload = Base64URL.decode(parts[1]),
            let signature = Base64URL.decode(parts[2]),
            signature.count == Ed25519PublicKey.signatureByteCount
        else { throw .malformed }
        guard let members = try? JSON(parsing: header, limits: JSONLimits(depth: 2, nodes: 16)).objectValue,
            members.count == 3,
            let algorithm = members["alg"]?.stringValue,
            let keyID = members["kid"]?.stringValue,
            let typ = members["typ"]?.stringValue
        else { throw .malformedHeader }
        guard algorithm == "EdDSA" else { throw .unsupportedAlgorithm }
        guard typ == type else { throw .wrongType }
        self.keyID = keyID
        self.type = typ
        self.payload = payload
        self.signingInput = Array((parts[0] + "." + parts[1]).utf8)
        self.signature = signature
    }

    /// The payload, if `key` signed it.
    ///
    /// - Throws: ``Invalid/wrongSignature``.
    package func verify(with key: Ed25519PublicKey) throws(Invalid) -> [UInt8] {
        guard key.verifies(self.signature, over: self.signingInput) else { throw .wrongSignature }
        return self.payload
    }

    /// The payload of `text`, if one of the trusted keys signed it as a document of this type.
    ///
    /// - Throws: ``Invalid``.
    package static func verify(_ text: String, type: String, trusting keys: [JWK]) throws(Invalid) -> [UInt8] {
        let jws = try CompactJWS(parsing: text, type: type)
        guard let key = keys.first(where: { $0.keyID == jws.keyID }) else { throw .unknownKey(keyID: jws.keyID) }
        return try jws.verify(with: key.publicKey)
    }
}
