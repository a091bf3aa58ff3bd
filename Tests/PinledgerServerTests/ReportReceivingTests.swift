import Addresses
import CZlib
import Probing
import Testing

@testable import PinledgerServer

/// What happens to a report before it is read.
struct ReportReceivingTests {
    private func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

    @Test(arguments: [
        ("192.0.2.1", "198.51.100.1", "192.0.2.1"),
        ("10.0.0.1", nil, "10.0.0.1"),
        ("10.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "203.0.113.9, 198.51.100.1, 10.0.0.2", "198.51.100.1"),
        ("10.0.0.1", "10.0.0.3,10.0.0.2", "10.0.0.3"),
        ("10.0.0.1", "198.51.100.1, unknown", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.1:4711", "198.51.100.1"),
        ("10.0.0.1", "203.0.113.60, [2001:db8::1]:4711", "2001:db8::1"),
        ("::ffff:10.0.0.1", "::ffff:198.51.100.7", "198.51.100.7"),
    ])
    func `proxies are believed where they are trusted, hop by hop`(
        peer: String, forwardedFor: String?, expected: String
    ) throws {
        let found = ClientAddress.of(
            peer: try self.address(peer), forwardedFor: forwardedFor, trusted: [try IPNetwork("10.0.0.0/8")])
        #expect(found == (try self.address(expected)))
        let none = ClientAddress.of(
            peer: try self.address("192.0.2.1"), forwardedFor: forwardedFor, trusted: [])
        #expect(none == (try self.address("192.0.2.1")))
    }

    private func gzip(_ bytes: [UInt8]) -> [UInt8] {
        var stream = z_stream()
        deflateInit2_(
            &stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        defer { deflateEnd(&stream) }
        var (input, output) = (bytes, [UInt8](repeating: 0, count: bytes.count + 100))
        input.withUnsafeMutableBufferPointer { source in
            output.withUnsafeMutableBufferPointer { target in
                stream.next_in = source.baseAddress
                stream.avail_in = UInt32(source.count)
                stream.next_out = target.baseAddress
                stream.avail_out = UInt32(target.count)
                _ = deflate(&stream, Z_FINISH)
            }
        }
        return Array(output.prefix(Int(stream.total_out)))
    }

    @Test func `gzip is taken apart up to the limit, and no further`() throws {
        for count in [0, 1, 5000, 100_000] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * $0 >> 3) }
            #expect(try Inflation.gunzip(self.gzip(bytes), atMost: max(count, 1)) == bytes)
        }
        let bomb = self.gzip([UInt8](repeating: 0, count: 50_000_000))
        #expect(bomb.count < 100_000)
        #expect(throws: Inflation.Failure.tooLarge) { try Inflation.gunzip(bomb, atMost: 1 << 20) }
        let good = self.gzip(Array("hello".utf8))
        for bad in [[], [1, 2, 3], good.dropLast(), good + [0], good.dropFirst()].map({ Array($0) }) {
            #expect(throws: Inflation.Failure.malformed) { try Inflation.gunzip(bad, atMost: 1000) }
        }
        #expect(throws: Inflation.Failure.tooLarge) { try Inflation.gunzip(good, atMost: 4) }
    }

    @Test func `a small body has room however many clients send slowly`() {
        var room = BodyRoom()
        var bodies = [Int](repeating: 0, count: 2000)
        for _ in 0..<300 {
            for place in bodies.indices where room.grow(bodies[place], by: 1024) { bodies[place] += 1024 }
        }
        #expect(room.arriving == bodies.reduce(0, +) && room.arriving < BodyRoom.limit)
        let isWaiting = room.grow(0, by: 4096) && room.enter(4096)
        #expect(isWaiting && room.waiting == 4096)
        room.leave(4096)
        for count in bodies { room.abandon(count) }
        #expect(room.arriving == 0 && room.waiting == 0)
    }

    @Test func `waiting reports are bounded apart from those in progress`() {
        var room = BodyRoom()
        var entered = 0
        while room.grow(0, by: TelemetryServices.bodyLimit), room.enter(TelemetryServices.bodyLimit) { entered += 1 }
        #expect(entered == BodyRoom.limit / TelemetryServices.bodyLimit && room.arriving == 0)
        let isArriving = room.grow(0, by: TelemetryServices.bodyLimit)
        #expect(isArriving)
    }
}
