// The texts of this module's errors for people: ends of sentences, without names from Swift.

extension KeyEncryptionKey.Invalid: CustomStringConvertible {
    package var description: String {
        switch self {
        case .wrongLength(let count): "a key-encryption key has 32 bytes, not \(count)"
        case .malformedText: "a key-encryption key is 32 bytes in base64 or hexadecimal"
        }
    }
}

extension JWK.Invalid: CustomStringConvertible {
    package var description: String {
        switch self {
        case .malformed: "a key of the set is no JSON Web Key"
        case .unsupportedKey: "a key of the set is no Ed25519 key"
        case .invalidPoint: "a key of the set is no point of Ed25519"
        case .privateKey: "a key of the set is a private key, where a public one belongs"
        case .otherPurpose: "a key of the set is not for signatures with EdDSA"
        case .wrongKeyID: "a key of the set has a `kid` that is not its thumbprint"
        }
    }
}

extension CompactJWS.Invalid: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tooLarge(let byteCount): "it is too large (\(byteCount) bytes)"
        case .malformed: "it is no compact JWS"
        case .malformedHeader: "its header is malformed"
        case .unsupportedAlgorithm: "its algorithm is not EdDSA"
        case .wrongType: "it is a document of another type"
        case .unknownKey(let keyID): "it is signed with the key \(keyID), which is not among the trusted ones"
        case .wrongSignature: "its signature is wrong"
        }
    }
}

extension APIToken.Invalid: CustomStringConvertible {
    package var description: String {
        switch self {
        case .malformed: "it has not the form of a token"
        case .wrongChecksum: "its checksum is wrong, so that it is mistyped or invented"
        }
    }
}

extension Ed25519PrivateKey.Failure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .wrongSeedLength(let count): "a private key has 32 bytes, not \(count)"
        case .signingFault: "a signature just made does not verify: this machine's memory or processor is at fault"
        }
    }
}
