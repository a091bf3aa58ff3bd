import EventStore
import Fixtures
import Keys
import PinWire
import Pinning
import Postgres
import Testing

@testable import Publishing

/// Documents on nodes whose connections lead to a primary and to a standby that lags behind it.
@Suite(.takingTurns, .timeLimit(.minutes(60)))
struct SeveralServersTests {
    private static let newest = "SELECT coalesce(max(version), 0) FROM pinledger.document"

    @Test func `a node on a standby serves a document as soon as it has taken in the event`() async throws {
        try await TestCluster.run { cluster in
            let primary = try await cluster.database()
            try await cluster.withStandby { standby in
                let key = try KeyEncryptionKey.random()
                // Nothing comes of waiting: a standby announces nothing, and no tick comes.
                let reading = PublishingNode.Setup.with {
                    $0.node.name = "reader"
                    $0.node.follows = false
                    $0.node.pollInterval = .seconds(86_400)
                }
                try await PublishingNode.run(on: primary, .with { $0.keyEncryptionKey = key }) { signer in
                    try await signer.makeKey()
                    let app = try Sample.app()
                    try await signer.execute(try Sample.create(app, hosts: 1))
                    let onStandby = TestCluster.database(on: standby)
                    try await PublishingNode.run(on: onStandby, reading) { reader in
                        for name in ["first", "second", "third"] {
                            let host = AppCommand.addHost(
                                try Sample.host("\(name).example.com"), includesSubdomains: false, mode: .enforce,
                                pins: Sample.pins())
                            try await signer.execute(try Sample.request(.app(app, [host])))
                            let (end, version) = (signer.node.ledger.position, try signer.check(app).version)
                            let isThere = try await eventually {
                                try await onStandby.query(Self.newest).only.int64(0) == version
                            }
                            #expect(isThere)
                            let isTaken = try await eventually {
                                try await reader.node.follower.catchUp()
                                return reader.node.ledger.position == end
                            }
                            #expect(isTaken)
                            #expect(await eventually(within: 60) { reader[app]?.version == version })
                        }
                    }
                }
            }
        }
    }

    @Test func `a document is read from a server that has the events that the node knows`() async throws {
        try await TestCluster.run { cluster in
            let primary = try await cluster.database()
            try await cluster.withStandby { standby in
                let key = try KeyEncryptionKey.random()
                try await PublishingNode.run(on: primary, .with { $0.keyEncryptionKey = key }) { signer in
                    try await signer.makeKey()
                    let app = try Sample.app()
                    try await signer.execute(try Sample.create(app, hosts: 1))
                    var configuration = try TestCluster.database(on: standby, cluster).configuration()
                    configuration.preferredServer = .preferStandby
                    let pool = PostgresPool(configuration: configuration, maximumConnections: 2)
                    signer.node.ledger.hold(pool, logger: .silent)
                    #expect(try await standby.connectToBoth(pool) == [false, true])
                    try await standby.setReplay(false)
                    let host = AppCommand.addHost(
                        try Sample.host("new.example.com"), includesSubdomains: false, mode: .enforce,
                        pins: Sample.pins())
                    try await signer.execute(try Sample.request(.app(app, [host])))
                    let version = try signer.check(app).version
                    let isStored = try await eventually {
                        try await primary.query(Self.newest).only.int64(0) == version
                    }
                    #expect(isStored)
                    let ledger = signer.node.ledger
                    let store = DocumentStore(pool: pool) { ledger.position }
                    // The connection to the primary is in use, so that the other one is asked first.
                    let read = try await pool.withConnection { _ in try await store.load([app]).stored }
                    #expect(read.map(\.document.version) == [version])
                    await pool.close()
                }
            }
        }
    }
}
