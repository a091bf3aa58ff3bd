package import PinWire
package import Pinning

/// A counted install that reported for the first time in its hour of one host, arm and version.
///
/// Sixteen bytes, in memory as in the database.
package struct OutcomeUnit: Hashable, Sendable {
    package var mark: InstallMark
    /// The network, as a keyed hash.
    package var network: UInt32
    /// The index of the host, arm and version among the cells of the minute.
    package var cell: UInt16
    /// The index of the app's version among the releases of the minute, counted from 1.
    package var release: UInt8
    private var flags: UInt8

    /// The number of bytes of the stored form.
    package static let size = 16
    /// Where the client did not state the app's version.
    package static let noRelease: UInt8 = 0
    /// Where there was no room for the version.
    package static let otherRelease: UInt8 = 255

    package init(
        mark: InstallMark, network: UInt32, cell: UInt16, release: UInt8, outcome: ConnectionOutcome,
        platform: ClientPlatform?
    ) {
        self.mark = mark
        self.network = network
        self.cell = cell
        self.release = release
        // Three bits for the reason, counted from 1; three for the platform, likewise.
        let reason: UInt8 = if case .failure(let reason) = outcome { Self.index(of: reason) } else { 0 }
        self.flags = reason | Self.index(of: platform) << 3
    }

    /// Nil for a success.
    package var reason: OutcomeReason? {
        let index = Int(self.flags & 7)
        return index == 0 ? nil : OutcomeReason.allCases.indices.contains(index - 1) ? .allCases[index - 1] : .other
    }

    package var isFailing: Bool { self.flags & 7 != 0 }

    package var platform: ClientPlatform? {
        let index = Int(self.flags >> 3 & 7)
        return index == 0 ? nil : ClientPlatform.allCases.indices.contains(index - 1) ? .allCases[index - 1] : .other
    }

    // The numbers are stored: the order of both lists may never change.
    private static func index(of reason: OutcomeReason) -> UInt8 {
        UInt8(OutcomeReason.allCases.firstIndex(of: reason) ?? 0) + 1
    }

    private static func index(of platform: ClientPlatform?) -> UInt8 {
        platform.flatMap { ClientPlatform.allCases.firstIndex(of: $0) }.map { UInt8($0) + 1 } ?? 0
    }

    // MARK: Bytes

    /// Appends the stored form: ``size`` bytes, numbers in network order.
    package func append(to bytes: inout [UInt8]) {
        func append<T: FixedWidthInteger>(_ number: T) {
            withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
        }
        append(self.mark.bits)
        append(self.network)
        append(self.cell)
        append(self.release)
        append(self.flags)
    }

    /// Reads units one after the other; ignores an incomplete one at the end.
    package static func read(_ bytes: [UInt8]) -> [OutcomeUnit] {
        bytes.withUnsafeBytes { buffer in
            stride(from: 0, to: buffer.count - Self.size + 1, by: Self.size).map { OutcomeUnit(buffer, at: $0) }
        }
    }

    private init(_ bytes: UnsafeRawBufferPointer, at start: Int) {
        func number<T: FixedWidthInteger>(_ offset: Int) -> T {
            T(bigEndian: bytes.loadUnaligned(fromByteOffset: start + offset, as: T.self))
        }
        self.mark = InstallMark(bits: number(0))
        self.network = number(8)
        self.cell = number(12)
        self.release = number(14)
        self.flags = number(15)
    }
}
