/// A SHA-256 value of the log: a leaf hash, an interior node or a root.
///
/// Exactly 32 bytes, held inline, so that an array of hashes is one allocation. Equality is not constant-time:
/// everything in a log is public to anyone who may compare it.
package struct LogHash: Hashable, Sendable {
    /// The number of bytes of every hash.
    package static let byteCount = 32

    // Four words in the order, and with the bytes, in which they lie in memory; never used as numbers.
    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// Takes 32 bytes; `nil` for any other number of bytes.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        let contiguous = [UInt8](bytes)
        self = contiguous.withUnsafeBytes { Self(loading: $0) }
    }

    /// Takes 32 bytes out of a buffer; `nil` for any other number of bytes.
    package init?(bytes buffer: UnsafeBufferPointer<UInt8>) {
        guard buffer.count == Self.byteCount else { return nil }
        self.init(loading: UnsafeRawBufferPointer(buffer))
    }

    /// Copies the first 32 bytes of `buffer`, which MUST hold as many.
    init(loading buffer: UnsafeRawBufferPointer) {
        self.words = (
            buffer.loadUnaligned(fromByteOffset: 0, as: UInt64.self),
            buffer.loadUnaligned(fromByteOffset: 8, as: UInt64.self),
            buffer.loadUnaligned(fromByteOffset: 16, as: UInt64.self),
            buffer.loadUnaligned(fromByteOffset: 24, as: UInt64.self)
        )
    }

    /// The 32 bytes.
    package var bytes: [UInt8] {
        self.withUnsafeBytes { [UInt8]($0) }
    }

    /// Calls `body` with the 32 bytes, which are valid only until it returns.
    package func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try Swift.withUnsafeBytes(of: self.words, body)
    }

    package static func == (left: LogHash, right: LogHash) -> Bool {
        left.words == right.words
    }

    package func hash(into hasher: inout Hasher) {
        // A part of a SHA-256 value is as evenly spread as the whole.
        hasher.combine(self.words.0)
    }
}

extension LogHash: CustomStringConvertible {
    /// Lower-case hexadecimal, 64 characters.
    package var description: String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(2 * Self.byteCount)
        for byte in self.bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 0x0F)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
