import PinWire

/// Encodings of Ed25519 points that implementations differ about.
enum OddKeys {
    /// Those of small order, by their names, with the sign of x and without.
    static let small: [(name: String, bytes: [UInt8])] = Self.signed([
        ("y = 0", Self.number(0)), ("y = 1", Self.number(1)), ("y = -1", Self.belowPrime(by: 1)),
        ("one of order 8", Hex.decode("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05") ?? []),
        ("another of order 8", Hex.decode("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a") ?? []),
        ("y = p", Self.belowPrime(by: 0)), ("y = p + 1", Self.belowPrime(by: -1)),
    ])

    /// Others that are not canonical.
    static let uncanonical: [(name: String, bytes: [UInt8])] = Self.signed([
        ("y = p + 2", Self.belowPrime(by: -2)), ("y = p + 3", Self.belowPrime(by: -3)),
        ("y = p + 18", Self.belowPrime(by: -18)),
    ])

    /// Encodings of no key that has signed anything, which clients take all the same.
    static let taken: [(name: String, bytes: [UInt8])] = Self.signed([
        ("y = 2, on no point of the curve", Self.number(2)), ("y = 3", Self.number(3)),
        ("y = -2, on no point of the curve", Self.belowPrime(by: 2)), ("y = -3", Self.belowPrime(by: 3)),
        ("y = p - 2^240", Self.belowPrime(by: 0).enumerated().map { $0.offset == 30 ? 0xFE : $0.element }),
    ])

    private static func signed(_ points: [(name: String, bytes: [UInt8])]) -> [(name: String, bytes: [UInt8])] {
        points.flatMap { point in
            let odd = point.bytes.enumerated().map { $0.offset == 31 ? $0.element | 0x80 : $0.element }
            return [(point.name, point.bytes), (point.name + ", x odd", odd)]
        }
    }

    private static func number(_ number: UInt8) -> [UInt8] { [number] + [UInt8](repeating: 0, count: 31) }

    /// A number near the prime 2^255 - 19, whose lowest byte is 0xED, in little-endian order.
    private static func belowPrime(by difference: Int) -> [UInt8] {
        [UInt8(0xED - difference)] + [UInt8](repeating: 0xFF, count: 30) + [0x7F]
    }
}
