import Keys
import PinWire

/// The bytes of hexadecimal test data; malformed text gives nothing.
func hex(_ text: String) -> [UInt8] {
    Hex.decode(text) ?? []
}

extension Ed25519PrivateKey {
    /// The key of a seed in hexadecimal.
    init(seed text: String) throws(Failure) {
        try self.init(seed: KeysTests.hex(text))
    }
}

/// The seed of RFC 8032 section 7.1 TEST 1, which RFC 8037 appendix A uses too.
let rfcSeed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
