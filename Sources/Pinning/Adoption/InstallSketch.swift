import Glibc
package import PinWire

/// The hash of an install id: 64 bits of SHA-256(salt ‖ app ‖ id), from which the id cannot be found without the
/// deployment's salt, and of which a sketch keeps only a few bits.
package struct InstallMark: Hashable, Sendable {
    package let bits: UInt64

    package init(bits: UInt64) { self.bits = bits }

    package init(_ install: InstallID, of app: AppID, salt: [UInt8]) {
        self.bits = sha256(salt + app.text.utf8 + install.bytes).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}

/// An estimate of the number of distinct installs: a HyperLogLog (Flajolet, Fusy, Gandouet and Meunier 2007) of 2048
/// registers, with the small-range correction; of 64-bit hashes, so that there is no large-range one.
///
/// The standard error is 1.04/√2048 = 2.3 %. The union of two sketches is the sketch of the union.
package struct InstallSketch: Hashable, Sendable {
    /// The highest rank that each register has reached; 0 for none.
    package private(set) var registers: [UInt8]

    /// Bits of a hash that choose the register.
    static let precision = 11
    /// The number of registers, each of one byte.
    package static let size = 1 << Self.precision

    package init() { self.registers = Array(repeating: 0, count: Self.size) }

    /// Nil for bytes that are not registers.
    package init?(registers: [UInt8]) {
        guard registers.count == Self.size, registers.allSatisfy({ $0 <= 64 - Self.precision + 1 }) else { return nil }
        self.registers = registers
    }

    /// Takes in an install; false where that changed nothing.
    @discardableResult
    package mutating func insert(_ mark: InstallMark) -> Bool {
        let register = Int(mark.bits >> (64 - Self.precision))
        // The position of the first one among the remaining bits; a one appended to them ends the search.
        let rest = mark.bits << Self.precision | 1 << (Self.precision - 1)
        let rank = UInt8(rest.leadingZeroBitCount + 1)
        guard rank > self.registers[register] else { return false }
        self.registers[register] = rank
        return true
    }

    package mutating func formUnion(_ other: InstallSketch) {
        for place in self.registers.indices where other.registers[place] > self.registers[place] {
            self.registers[place] = other.registers[place]
        }
    }

    /// Registers that an install has set.
    var reached: Int { self.registers.count { $0 > 0 } }

    /// The approximate number of installs.
    package var estimate: Double {
        let count = Double(Self.size)
        var sum = 0.0
        for rank in self.registers { sum += 1 / Double(1 << UInt64(rank)) }
        let raw = 0.7213 / (1 + 1.079 / count) * count * count / sum
        let empty = Self.size - self.reached
        return raw <= 2.5 * count && empty > 0 ? count * log(count / Double(empty)) : raw
    }
}
