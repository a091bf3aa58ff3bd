import CZlib

/// Decompresses gzip (RFC 1952), within a limit.
enum Inflation {
    /// Why a body cannot be decompressed.
    enum Failure: Error, Hashable, Sendable {
        /// The result would exceed the limit.
        case tooLarge
        /// It is not gzip, or is damaged, or ends early.
        case malformed
    }

    /// - Parameter limit: The most bytes of the result; no more memory than that is used.
    static func gunzip(_ bytes: [UInt8], atMost limit: Int) throws(Failure) -> [UInt8] {
        var stream = z_stream()
        // 15 bits of window, +16 for the gzip wrapper.
        guard inflateInit2_(&stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            throw .malformed
        }
        defer { inflateEnd(&stream) }
        var input = bytes
        // One byte more than the limit distinguishes the two failures.
        var output = [UInt8](repeating: 0, count: min(limit + 1, max(4096, bytes.count * 8)))
        while true {
            let (read, written) = (Int(stream.total_in), Int(stream.total_out))
            let status = input.withUnsafeMutableBufferPointer { source in
                output.withUnsafeMutableBufferPointer { target in
                    stream.next_in = source.baseAddress.map { $0 + read }
                    stream.avail_in = UInt32(source.count - read)
                    stream.next_out = target.baseAddress.map { $0 + written }
                    stream.avail_out = UInt32(target.count - written)
                    return inflate(&stream, Z_NO_FLUSH)
                }
            }
            let count = Int(stream.total_out)
            if count > limit { throw .tooLarge }
            if status == Z_STREAM_END {
                guard Int(stream.total_in) == bytes.count else { throw .malformed }
                output.removeLast(output.count - count)
                return output
            }
            guard status == Z_OK, count == output.count else { throw .malformed }
            output.append(contentsOf: repeatElement(0, count: min(limit + 1 - count, output.count)))
        }
    }
}
