import CBrotli
import CZlib

/// A content coding of HTTP (RFC 9110 section 8.4.1).
package enum ContentCoding: String, CaseIterable, Sendable {
    case identity
    case gzip
    case br
}

/// Compresses whole bodies, once, when they are published.
enum Compression {
    /// `bytes` in gzip (RFC 1952) at the strongest level; nil where zlib fails or nothing is saved. The header has no
    /// time, so that the same body has the same bytes everywhere.
    static func gzip(_ bytes: [UInt8]) -> [UInt8]? {
        var stream = z_stream()
        // 15 bits of window, +16 for the gzip wrapper.
        guard
            deflateInit2_(
                &stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
                Int32(MemoryLayout<z_stream>.size)
            ) == Z_OK
        else { return nil }
        defer { deflateEnd(&stream) }
        var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))))
        var input = bytes
        let status = input.withUnsafeMutableBufferPointer { source in
            output.withUnsafeMutableBufferPointer { target in
                stream.next_in = source.baseAddress
                stream.avail_in = UInt32(source.count)
                stream.next_out = target.baseAddress
                stream.avail_out = UInt32(target.count)
                return deflate(&stream, Z_FINISH)
            }
        }
        let count = Int(stream.total_out)
        guard status == Z_STREAM_END, count < bytes.count else { return nil }
        return Array(output.prefix(count))
    }

    /// The smallest window (RFC 7932 section 9.1), as a power of two, that holds so many bytes.
    private static func window(_ count: Int) -> Int32 {
        let bits = Int32(Int.bitWidth - max(count, 1).leadingZeroBitCount)
        return min(max(bits, BROTLI_MIN_WINDOW_BITS), BROTLI_DEFAULT_WINDOW)
    }

    /// `bytes` in Brotli (RFC 7932); nil where the encoder fails or nothing is saved.
    ///
    /// Quality 9 rather than 11: documents are compressed between a change and its answer. The window is no larger than
    /// the text: the encoder clears tables of that size, megabytes for the default.
    static func brotli(_ bytes: [UInt8]) -> [UInt8]? {
        var count = BrotliEncoderMaxCompressedSize(bytes.count)
        guard count > 0 else { return nil }
        var output = [UInt8](repeating: 0, count: count)
        let done = BrotliEncoderCompress(
            9, Self.window(bytes.count), BROTLI_MODE_TEXT, bytes.count, bytes, &count, &output)
        guard done == BROTLI_TRUE, count < bytes.count else { return nil }
        return Array(output.prefix(count))
    }
}
