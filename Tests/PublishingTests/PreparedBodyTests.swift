import CZlib
import Glibc
import NIOCore
import PinWire
import Publishing
import Testing

/// Bodies in every coding, read back with the libraries' own decoders.
@Suite(.timeLimit(.minutes(60)))
struct PreparedBodyTests {
    private static let text = Array(
        String(repeating: "{\"pins\":[\"sha256/abc\"],\"mode\":\"enforce\"}", count: 200).utf8)

    private static func bytes(_ representation: PreparedBody.Representation?) throws -> [UInt8] {
        Array(try #require(representation).bytes.readableBytesView)
    }

    @Test func `every coding spells the same bytes`() throws {
        let body = PreparedBody(Self.text)
        #expect(try Self.bytes(body.identity) == Self.text)
        #expect(try Self.gunzip(try Self.bytes(body.gzip)) == Self.text)
        #expect(try Self.unbrotli(try Self.bytes(body.br), atMost: Self.text.count) == Self.text)
        #expect(body.representations.map(\.coding) == [.identity, .gzip, .br])
        for coding in ContentCoding.allCases { #expect(body.representation(in: coding)?.coding == coding) }
    }

    @Test func `the same body is the same bytes each time, with strong tags of their own`() throws {
        let (first, second) = (PreparedBody(Self.text), PreparedBody(Self.text))
        for (left, right) in zip(first.representations, second.representations) {
            #expect(left.bytes == right.bytes)
            #expect(left.tag == right.tag)
            #expect(left.tag.hasPrefix("\"") && left.tag.hasSuffix("\"") && left.tag.count > 40)
        }
        let tags = (first.representations + PreparedBody(Self.text + [0x20]).representations).map(\.tag)
        #expect(Set(tags).count == 6)
        // RFC 1952: no time, so that the bytes are the same on every node.
        #expect(try Self.bytes(first.gzip)[4..<8].allSatisfy { $0 == 0 })
    }

    @Test func `a prefix stands before the digest in every tag`() {
        let body = PreparedBody(Self.text, tagPrefix: "12.")
        let plain = PreparedBody(Self.text)
        for coding in ContentCoding.allCases {
            #expect(body.tag(in: coding) == "\"12." + plain.tag(in: coding).dropFirst())
            #expect(body.representation(in: coding)?.tag == body.tag(in: coding))
        }
    }

    @Test(arguments: [0, 1, 5]) func `a body that does not shrink is left uncompressed`(count: Int) throws {
        let bytes = (0..<count).map { _ in UInt8.random(in: 0...255) }
        let body = PreparedBody(bytes)
        #expect(try Self.bytes(body.identity) == bytes)
        #expect(body.gzip == nil)
        #expect(body.br == nil)
        #expect(body.representations.count == 1)
    }

    @Test func `large bodies of every kind come back whole`() throws {
        let random = (0..<200_000).map { _ in UInt8.random(in: 0...255) }
        let hexadecimal = Array(Hex.encode(random).utf8)
        let body = PreparedBody(hexadecimal)
        #expect(try Self.gunzip(try Self.bytes(body.gzip)) == hexadecimal)
        #expect(try Self.unbrotli(try Self.bytes(body.br), atMost: hexadecimal.count) == hexadecimal)
        #expect(PreparedBody(random).gzip == nil)
    }

    private static func gunzip(_ bytes: [UInt8]) throws -> [UInt8] {
        var stream = z_stream()
        try #require(inflateInit2_(&stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK)
        defer { inflateEnd(&stream) }
        var (input, output) = (bytes, [UInt8](repeating: 0, count: 1_000_000))
        let status = input.withUnsafeMutableBufferPointer { source in
            output.withUnsafeMutableBufferPointer { target in
                stream.next_in = source.baseAddress
                stream.avail_in = UInt32(source.count)
                stream.next_out = target.baseAddress
                stream.avail_out = UInt32(target.count)
                return inflate(&stream, Z_FINISH)
            }
        }
        try #require(status == Z_STREAM_END)
        return Array(output.prefix(Int(stream.total_out)))
    }

    /// The decoder is a library of its own, which the program does not need.
    private static func unbrotli(_ bytes: [UInt8], atMost limit: Int) throws -> [UInt8] {
        typealias Decompress =
            @convention(c) (
                Int, UnsafePointer<UInt8>, UnsafeMutablePointer<Int>, UnsafeMutablePointer<UInt8>
            ) -> Int32
        let library = try #require(dlopen("libbrotlidec.so.1", RTLD_NOW))
        defer { dlclose(library) }
        let decompress = unsafeBitCast(
            try #require(dlsym(library, "BrotliDecoderDecompress")), to: Decompress.self
        )
        var output = [UInt8](repeating: 0, count: limit + 1)
        var count = output.count
        try #require(decompress(bytes.count, bytes, &count, &output) == 1)
        return Array(output.prefix(count))
    }
}
