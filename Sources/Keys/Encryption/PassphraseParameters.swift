import PinWire

/// How a passphrase becomes a key: the cost of Argon2id (RFC 9106) and the salt.
///
/// Its text, ``description``, is stored beside what the key seals; it is no secret.
package struct PassphraseParameters: Hashable, Sendable {
    /// The number of bytes of a salt.
    package static let saltByteCount = 16

    /// The memory to fill, in KiB: 8 to 4,194,304.
    package let memoryKiB: UInt32

    /// The number of passes over the memory: 1 to 64.
    package let passes: UInt32

    /// 16 random bytes, drawn once for each passphrase.
    package let salt: [UInt8]

    /// Takes parameters; `nil` outside the bounds, which keep a forged text from taking the machine down.
    package init?(memoryKiB: UInt32, passes: UInt32, salt: [UInt8]) {
        guard (8...4_194_304).contains(memoryKiB), (1...64).contains(passes), salt.count == Self.saltByteCount else {
            return nil
        }
        self.memoryKiB = memoryKiB
        self.passes = passes
        self.salt = salt
    }

    /// Parameters for a new passphrase, with a fresh salt: 256 MiB and 4 passes, most of a second on a server.
    package static func fresh() -> PassphraseParameters {
        PassphraseParameters(unchecked: 262_144, passes: 4, salt: Random.bytes(self.saltByteCount))
    }

    /// Reads what ``description`` wrote; `nil` for anything else, down to the last character.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "$", omittingEmptySubsequences: false)
        guard parts.count == 4, let salt = Base64URL.decode(String(parts[3])) else { return nil }
        let costs = parts[2].split(separator: ",", omittingEmptySubsequences: false)
        guard costs.count == 3, costs[0].hasPrefix("m="), costs[1].hasPrefix("t="),
            let memoryKiB = UInt32(costs[0].dropFirst(2)),
            let passes = UInt32(costs[1].dropFirst(2))
        else { return nil }
        self.init(memoryKiB: memoryKiB, passes: passes, salt: salt)
        // Catches another algorithm, version or parallelism, signs and leading zeros.
        guard self.description == String(text) else { return nil }
    }

    private init(unchecked memoryKiB: UInt32, passes: UInt32, salt: [UInt8]) {
        self.memoryKiB = memoryKiB
        self.passes = passes
        self.salt = salt
    }
}

extension PassphraseParameters: CustomStringConvertible {
    /// `argon2id$v=19$m=…,t=…,p=1$salt`, the salt in base64url. libsodium knows no parallelism but 1.
    package var description: String {
        "argon2id$v=19$m=\(self.memoryKiB),t=\(self.passes),p=1$\(Base64URL.encode(self.salt))"
    }
}
