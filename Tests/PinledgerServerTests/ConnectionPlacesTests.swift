import Addresses
import NIOCore
import NIOEmbedded
import Probing
import Testing

@testable import PinledgerServer

/// Who gets a place, and who gives way.
@Suite struct `Places for connections` {
    private static func network(_ number: Int) throws -> ClientNetwork {
        ClientNetwork(of: try #require(IPAddress("198.51.\(number).1")))
    }

    @Test func `one network gets few places for connections, and others get the rest`() throws {
        let places = ConnectionPlaces(limits: .init(connections: 6, network: 2))
        let (one, other) = (try Self.network(1), try Self.network(2))
        let channels = (0..<7).map { _ in EmbeddedChannel() }
        #expect(places.take(channels[0], of: one) == .place)
        #expect(places.take(channels[1], of: one) == .place)
        #expect(places.take(channels[2], of: one) == .none)
        #expect(places.take(channels[3], of: other) == .place)
        // A proxy's connections count for no network.
        #expect(places.take(channels[4], of: nil) == .place)
        places.giveBack(channels[0], of: one)
        #expect(places.take(channels[5], of: one) == .place)
        #expect(places.take(channels[6], of: one) == .none)
    }

    @Test func `places for connections have a reserve, in which strangers give way and operators stay`() throws {
        let places = ConnectionPlaces(limits: .init(connections: 4, reserve: 2))
        let stranger = try Self.network(1)
        let channels = (0..<8).map { _ in EmbeddedChannel() }
        let ids = channels.map { ObjectIdentifier($0) }
        for channel in channels[..<2] { #expect(places.take(channel, of: stranger) == .place) }
        #expect(!places.hasTrials)
        // An operator comes among strangers, and says who it is.
        for channel in channels[2..<4] { #expect(places.take(channel, of: stranger) == .trial) }
        #expect(places.trial(among: [ids[0], ids[3]]) == ids[3])
        places.confirm(ids[3])
        #expect(places.trial(among: ids) == ids[2])
        for channel in channels[4..<8] { #expect(places.take(channel, of: stranger) == .trial) }
        #expect(places.trial(among: Array(ids[..<7])) == nil && places.trial(among: ids) == ids[7])
        // Those that gave way give back nothing when they close.
        for index in [2, 4, 5, 6] { places.giveBack(channels[index], of: stranger) }
        // It stays where there are operators alone.
        places.confirm(ids[7])
        #expect(!places.hasTrials && places.take(EmbeddedChannel(), of: stranger) == .none)
        for (index, channel) in channels.enumerated() where [0, 1, 3, 7].contains(index) {
            places.giveBack(channel, of: stranger)
        }
        #expect(places.take(EmbeddedChannel(), of: stranger) == .place)
    }

    @Test func `places in the reserve are taken from the network with most, and first from networks of no operator`()
        throws
    {
        let places = ConnectionPlaces(limits: .init(connections: 5, reserve: 4))
        let (flood, quiet) = (try Self.network(1), try Self.network(2))
        #expect(places.take(EmbeddedChannel(), of: flood) == .place)
        let channels = (0..<7).map { _ in EmbeddedChannel() }
        let ids = channels.map { ObjectIdentifier($0) }
        #expect(places.take(channels[0], of: quiet) == .trial)
        for channel in channels[1..<6] { #expect(places.take(channel, of: flood) == .trial) }
        #expect(ids.filter { places.trial(among: [$0]) != nil } == [ids[0], ids[3], ids[4], ids[5]])
        #expect(!places.promote(ids[4]))
        #expect(places.take(channels[6], of: flood) == .trial)
        #expect(ids.filter { places.trial(among: [$0]) != nil } == [ids[0], ids[3], ids[5], ids[6]])
    }

    @Test func `places for connections become free for new connections on probation`() throws {
        let places = ConnectionPlaces(limits: .init(connections: 2, reserve: 1, network: 1))
        let (one, other) = (try Self.network(1), try Self.network(2))
        let (first, second) = (EmbeddedChannel(), EmbeddedChannel())
        #expect(places.take(first, of: one) == .place && places.take(second, of: other) == .trial)
        #expect(!places.promote(ObjectIdentifier(second)))
        places.giveBack(first, of: one)
        #expect(places.promote(ObjectIdentifier(second)) && !places.hasTrials)
        places.giveBack(second, of: other)
        #expect(places.take(first, of: other) == .place)
    }

    @Test func `a network without places is looked at a few times a second`() throws {
        let places = ConnectionPlaces(limits: .init(connections: 12, reserve: 3, network: 2, trialsPerSecond: 3))
        let (flood, other) = (try Self.network(1), try Self.network(2))
        func refused(_ network: ClientNetwork?, at seconds: Double) -> Bool {
            places.refusesAtOnce(network, at: .uptimeNanoseconds(UInt64(seconds * 1e9)))
        }
        #expect(!refused(flood, at: 100))
        for _ in 0..<2 { #expect(places.take(EmbeddedChannel(), of: flood) == .place) }
        #expect((0..<6).map { _ in refused(flood, at: 100) } == [false, false, false, true, true, true])
        // Others have places, and a proxy's connections count for no network.
        #expect(!refused(other, at: 100) && !refused(nil, at: 100))
        #expect(refused(flood, at: 100.9) && !refused(flood, at: 101.1))
        // With all places taken every network has its own trials.
        for index in 3..<10 { #expect(places.take(EmbeddedChannel(), of: try Self.network(index)) == .place) }
        #expect((0..<4).map { _ in refused(other, at: 101.5) } == [false, false, false, true])
        #expect(!refused(flood, at: 101.5))
    }

    @Test func `a bounded number of networks is looked at each second for places`() throws {
        let places = ConnectionPlaces(limits: .init(connections: 2, reserve: 1, network: 1))
        #expect(places.take(EmbeddedChannel(), of: try Self.network(0)) == .place)
        let networks = try (0..<5000).map { number in
            ClientNetwork(of: try #require(IPAddress("10.\(number / 250).\(number % 250).1")))
        }
        let refused = networks.map { places.refusesAtOnce($0, at: .uptimeNanoseconds(5_000_000_000)) }
        #expect(refused.filter { $0 }.count == 5000 - 4096)
    }

    @Test func `a connection without a reserve behind it is refused without probation`() throws {
        let places = ConnectionPlaces(limits: .init(connections: 4, network: 1))
        let one = try Self.network(1)
        #expect(!places.refusesAtOnce(one, at: .uptimeNanoseconds(1)))
        #expect(places.take(EmbeddedChannel(), of: one) == .place)
        #expect(places.refusesAtOnce(one, at: .uptimeNanoseconds(2)))
    }
}
