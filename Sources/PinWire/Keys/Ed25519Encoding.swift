/// The encodings of Ed25519 points that are nobody's public key: those of small order, with which a signature may fit every message, and
/// those that are not canonical.
///
/// Implementations of RFC 8032 take different ones of them. Where this table is asked first, every client takes the same keys.
package enum Ed25519Encoding {
    /// The coordinates y of the points whose order divides 8, in the order of their bytes: 0, 1 and -1, and the two of order 8.
    private static let smallOrder: [[UInt8]] = [
        [UInt8](repeating: 0, count: 32),
        [1] + [UInt8](repeating: 0, count: 31),
        [0xEC] + [UInt8](repeating: 0xFF, count: 30) + [0x7F],
        [
            0x26, 0xE8, 0x95, 0x8F, 0xC2, 0xB2, 0x27, 0xB0, 0x45, 0xC3, 0xF4, 0x89, 0xF2, 0xEF, 0x98, 0xF0,
            0xD5, 0xDF, 0xAC, 0x05, 0xD3, 0xC6, 0x33, 0x39, 0xB1, 0x38, 0x02, 0x88, 0x6D, 0x53, 0xFC, 0x05,
        ],
        [
            0xC7, 0x17, 0x6A, 0x70, 0x3D, 0x4D, 0xD8, 0x4F, 0xBA, 0x3C, 0x0B, 0x76, 0x0D, 0x10, 0x67, 0x0F,
            0x2A, 0x20, 0x53, 0xFA, 0x2C, 0x39, 0xCC, 0xC6, 0x4E, 0xC7, 0xFD, 0x77, 0x92, 0xAC, 0x03, 0x7A,
        ],
    ]

    /// True for 32 bytes that may be a public key: y is below 2^255 - 19 and none of small order, whatever the sign of x. That leaves
    /// out 14 encodings of points of small order, and 34 others. Points that are not on the curve pass: none has signed anything.
    package static func isUsable(_ bytes: [UInt8]) -> Bool {
        guard bytes.count == 32 else { return false }
        var y = bytes
        y[31] &= 0x7F
        let isCanonical = y[0] < 0xED || y[31] < 0x7F || y[1..<31].contains { $0 < 0xFF }
        return isCanonical && !Self.smallOrder.contains(y)
    }
}
