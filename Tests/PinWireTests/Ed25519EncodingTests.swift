import PinWire
import Testing

/// The bytes that a client takes for a public key, before any library sees them.
struct Ed25519EncodingTests {
    /// The encodings of the eight points of small order: the canonical ones, then those with y + p or with a sign that x = 0 does not have.
    static let smallOrder = [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
        "0100000000000000000000000000000000000000000000000000000000000080",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    ]

    @Test(arguments: smallOrder)
    func `a point of small order is nobody's key`(point: String) throws {
        #expect(Ed25519Encoding.isUsable(try #require(Hex.decode(point))) == false)
    }

    @Test func `no coordinate from the prime on is taken`() throws {
        for first in UInt8(0xED)...0xFF {
            for last in [UInt8(0x7F), 0xFF] {
                #expect(!Ed25519Encoding.isUsable([first] + [UInt8](repeating: 0xFF, count: 30) + [last]))
            }
        }
    }

    @Test(arguments: [
        // Of RFC 8032, section 7.1.
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        // Next to those that are refused; points that are not on the curve are not this table's.
        "0200000000000000000000000000000000000000000000000000000000000000",
        "0200000000000000000000000000000000000000000000000000000000000080",
        "ebffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edfffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7e",
        "edfeffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ])
    func `other bytes pass`(point: String) throws {
        #expect(Ed25519Encoding.isUsable(try #require(Hex.decode(point))))
    }

    @Test(arguments: [0, 31, 33])
    func `a key has 32 bytes`(count: Int) {
        #expect(!Ed25519Encoding.isUsable([UInt8](repeating: 7, count: count)))
    }
}
