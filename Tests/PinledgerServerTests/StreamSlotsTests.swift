import Addresses
import Concurrency
import NIOCore
import PinWire
import Probing
import Publishing
import Testing

@testable import PinledgerServer

/// How many streams there may be, in all and on one connection.
@Suite struct `Places for streams` {
    private static func peer(_ port: Int) throws -> SocketAddress {
        try SocketAddress(ipAddress: "192.0.2.1", port: port)
    }

    @Test func `one connection gets few places for streams, and others get the rest`() throws {
        let (own, more) = (DocumentPush.connectionLimit, 3)
        let push = DocumentPush(
            table: DocumentTable(clock: { Timestamp(seconds: 1_800_000_000) }), limit: 2 * own + more)
        let (one, other) = (try Self.peer(1), try Self.peer(2))
        var slots = try (0..<own).map { _ in try #require(push.slot(on: one)) }
        #expect(push.slot(on: one) == nil && push.slot(on: other) != nil)
        slots.removeLast().release()
        #expect(push.count == own - 1)
        slots.append(try #require(push.slot(on: one)))
        slots += try (0..<(own + more)).map { _ in try #require(push.slot()) }
        #expect(push.count == slots.count && push.slot() == nil && push.slot(on: other) == nil)
    }
}

/// Which network a client counts for, and how many places it may have.
@Suite struct `A client's network` {
    private static func address(_ text: String) throws -> SocketAddress { try SocketAddress(ipAddress: text, port: 1) }

    private static func network(_ text: String, _ forwardedFor: String? = nil, _ trusted: [String] = []) throws
        -> String?
    {
        ClientNetwork(
            of: try Self.address(text), forwardedFor: forwardedFor, trusted: try trusted.map { try IPNetwork($0) })?
            .description
    }

    @Test(arguments: [
        ("192.0.2.77", "192.0.2.0/24"), ("::ffff:192.0.2.77", "192.0.2.0/24"),
        ("2001:db8:1:2:3::4", "2001:db8:1::/48"), ("::1", "::/48"),
    ])
    func `a client's network is a /24 or a /48`(address: String, network: String) throws {
        #expect(try Self.network(address) == network)
    }

    @Test func `a client's network is what trusted proxies say, and the proxies' own has no limit`() throws {
        #expect(try Self.network("192.0.2.77", "198.51.100.9") == "192.0.2.0/24")
        #expect(try Self.network("192.0.2.77", "10.9.9.9, 198.51.100.9", ["192.0.2.0/24"]) == "198.51.100.0/24")
        #expect(try Self.network("192.0.2.77", nil, ["192.0.2.0/24"]) == nil)
    }

    @Test func `a client's network leaves places for streams to the others`() throws {
        let push = DocumentPush(
            table: DocumentTable(clock: { Timestamp(seconds: 1_800_000_000) }), limit: 10, networkLimit: 2)
        let one = try #require(IPAddress("192.0.2.1").map { ClientNetwork(of: $0) })
        let other = try #require(IPAddress("198.51.100.1").map { ClientNetwork(of: $0) })
        var taken = try (0..<2).map { _ in try #require(push.slot(in: one)) }
        #expect(push.slot(in: one) == nil && push.slot(in: other) != nil && push.slot() != nil)
        taken.removeLast().release()
        #expect(push.slot(in: one) != nil && taken.count == 1)
    }
}

/// When streams show that they stand.
@Suite struct `The heartbeat of streams` {
    @Test(arguments: [(75, 15_000), (30, 15_000), (29, 14_500), (3, 1500), (1, 500)])
    func `the heartbeat of streams comes before a connection counts as idle`(idleSeconds: Int, milliseconds: Int) {
        var limits = Server.Limits()
        limits.idleSeconds = idleSeconds
        #expect(limits.heartbeat == milliseconds)
    }
}
