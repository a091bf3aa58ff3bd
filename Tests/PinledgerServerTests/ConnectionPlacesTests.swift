import Addresses
import Fixtures
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
        let channels = (0..<2).map { _ in EmbeddedChannel() }
        for channel in channels {
            #expect(places.take(channel, of: flood) == .place)
            places.hear(ObjectIdentifier(channel))
        }
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

    // MARK: Silent connections

    private static func seconds(_ seconds: Double) -> NIODeadline { .uptimeNanoseconds(UInt64(seconds * 1e9)) }

    private static func connected() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 443)).wait()
        return channel
    }

    @Test func `a silent connection gives its place to the next of its network after a second, and a heard one never`()
        throws
    {
        let places = ConnectionPlaces(limits: .init(connections: 9, network: 3))
        let (one, other) = (try Self.network(1), try Self.network(2))
        let channels = try (0..<6).map { _ in try Self.connected() }
        for channel in channels[..<3] { #expect(places.take(channel, of: one, at: Self.seconds(100)) == .place) }
        places.hear(ObjectIdentifier(channels[0]))
        // Another network's is not touched, nor one that has not been silent for long.
        let quiet = try Self.connected()
        #expect(places.take(quiet, of: other, at: Self.seconds(90)) == .place)
        #expect(places.refusesAtOnce(one, at: Self.seconds(100.9)))
        #expect(places.take(channels[3], of: one, at: Self.seconds(100.9)) == .none)
        for (index, time) in [(4, 101.0), (5, 101.1)] {
            #expect(!places.refusesAtOnce(one, at: Self.seconds(time)))
            #expect(places.take(channels[index], of: one, at: Self.seconds(time)) == .place)
        }
        #expect(channels.map(\.isActive) == [true, false, false, true, true, true] && quiet.isActive)
        #expect(places.count == 4)
        // Connections that gave way give nothing back: others have their places.
        for index in [1, 2] { places.giveBack(channels[index], of: one) }
        #expect(places.count == 4 && places.take(EmbeddedChannel(), of: one, at: Self.seconds(101.5)) == .none)
    }

    @Test func `a silent connection on trial gives way to the next of its network, which is on trial too`() throws {
        let places = ConnectionPlaces(limits: .init(connections: 3, reserve: 2, network: 1))
        let (one, other) = (try Self.network(1), try Self.network(2))
        let channels = try (0..<4).map { _ in try Self.connected() }
        #expect(places.take(channels[0], of: one, at: Self.seconds(100)) == .place)
        places.hear(ObjectIdentifier(channels[0]))
        #expect(places.take(channels[1], of: one, at: Self.seconds(100)) == .trial)
        #expect(places.take(channels[2], of: other, at: Self.seconds(100)) == .trial)
        #expect(places.take(channels[3], of: one, at: Self.seconds(101)) == .trial)
        #expect(channels.map(\.isActive) == [true, false, true, true] && places.count == 3)
    }

    @Test func `three thousand silent connections keep no operator of their network out`() throws {
        let limits = ConnectionPlaces.Limits(connections: 10_000, reserve: 256, network: 2500)
        let places = ConnectionPlaces(limits: limits)
        let (flood, now) = (try Self.network(1), Self.seconds(100))
        var heard: [EmbeddedChannel] = []
        for number in 0..<6000 {
            let channel = try Self.connected()
            #expect(!places.refusesAtOnce(flood, at: now))
            #expect(places.take(channel, of: flood, at: now) != .none)
            guard number.isMultiple(of: 1000) else { continue }
            // An operator among them, whose request comes before the next connection.
            places.hear(ObjectIdentifier(channel))
            places.confirm(ObjectIdentifier(channel))
            heard.append(channel)
        }
        #expect(heard.count == 6 && !heard.contains { !$0.isActive })
        #expect(places.count <= 2500 + 256)
        // Others lose nothing, and have places.
        let other = try Self.network(2)
        #expect(places.take(EmbeddedChannel(), of: other, at: now) == .place)
    }

    @Test func `a network all of whose connections have been heard gets its trials alone`() throws {
        let places = ConnectionPlaces(limits: .init(connections: 4, reserve: 1, network: 2, trialsPerSecond: 2))
        let (one, now) = (try Self.network(1), Self.seconds(100))
        let channels = try (0..<2).map { _ in try Self.connected() }
        for channel in channels {
            #expect(places.take(channel, of: one, at: now) == .place)
            places.hear(ObjectIdentifier(channel))
        }
        #expect((0..<4).map { _ in places.refusesAtOnce(one, at: now) } == [false, false, true, true])
        #expect(channels.map(\.isActive) == [true, true])
    }

    @Test func `silent connections are known in the order of their arrival, whichever of them leaves`() throws {
        var silent = SilentConnections()
        let (one, other) = (try Self.network(1), try Self.network(2))
        let channels = (0..<5).map { _ in EmbeddedChannel() }
        for (index, channel) in channels.enumerated() {
            silent.add(channel, of: index == 3 ? other : one, at: Self.seconds(Double(index)))
        }
        silent.add(EmbeddedChannel(), of: nil, at: Self.seconds(9))
        #expect(silent.count == 5 && silent.oldest(of: other)?.channel === channels[3])
        // From the middle, the front and the back.
        for (index, oldest) in [(1, 0), (0, 2), (4, 2)] {
            silent.remove(ObjectIdentifier(channels[index]))
            #expect(silent.oldest(of: one)?.channel === channels[oldest])
        }
        silent.add(channels[0], of: one, at: Self.seconds(9))
        silent.remove(ObjectIdentifier(channels[2]))
        #expect(silent.oldest(of: one)?.since == Self.seconds(9))
        for channel in channels { silent.remove(ObjectIdentifier(channel)) }
        #expect(silent.count == 0 && silent.oldest(of: one) == nil)
    }

    // MARK: The gate

    /// Stands for the handler of TLS.
    private final class Reader: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private(set) var read: [ByteBuffer] = []

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { self.read.append(self.unwrapInboundIn(data)) }
    }

    @Test func `a connection costs no state of TLS before anything is sent on it`() throws {
        let reader = Reader()
        var made = 0
        let gate = ConnectionGate(
            places: ConnectionPlaces(limits: .init(connections: 2)), log: LimitedLog(logger: .silent),
            install: { _ in },
            secure: {
                made += 1
                return reader
            }, refuse: {})
        let channel = EmbeddedChannel(handler: gate)
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 443)).wait()
        #expect(made == 0 && channel.isActive)
        for byte in [UInt8(1), 2] { try channel.writeInbound(ByteBuffer(bytes: [byte])) }
        #expect(made == 1 && reader.read == [ByteBuffer(bytes: [1]), ByteBuffer(bytes: [2])])
        #expect(throws: (any Error).self) { try channel.pipeline.syncOperations.handler(type: ConnectionGate.self) }
    }
}

extension ConnectionPlaces {
    /// All at one instant.
    fileprivate func take(_ channel: any Channel, of network: ClientNetwork?) -> Admission {
        self.take(channel, of: network, at: .uptimeNanoseconds(100_000_000_000))
    }
}
