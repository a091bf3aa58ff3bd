import EventStore
import Exposition
import Fixtures
import Keys
import PinWire
import Pinning
import Postgres
import Secrets
import Synchronization
import Testing

@testable import Publishing

/// Changes of the whole fleet, beside those of single apps, on one node and on two.
@Suite(.database, .timeLimit(.minutes(60)))
struct FleetPublishingTests {
    /// The versions that a node has put in place, in that order.
    private final class Published: Sendable {
        private let versions = Mutex<[(app: String, version: Int64)]>([])

        init(of node: PublishingNode) {
            let table = node.publisher.table
            table.observe { [self] name in
                guard let app = try? AppID(name), let version = table.held(app)?.version else { return }
                self.versions.withLock { $0.append((name, version)) }
            }
        }

        var count: Int { self.versions.withLock { $0.count } }

        /// The number of documents put in place before this one; nil while it is not.
        func place(of version: Int64, of app: AppID) -> Int? {
            self.versions.withLock { $0.firstIndex { $0.app == app.text && $0.version >= version } }
        }
    }

    private static func makeApps(_ count: Int, on node: PublishingNode) async throws -> [AppID] {
        let apps = try (0..<count).map { _ in try Sample.app() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for app in apps { group.addTask { try await node.execute(try Sample.create(app, hosts: 3)) } }
            try await group.waitForAll()
        }
        return apps
    }

    private static func engage(_ target: Command) throws -> CommandRequest {
        var request = try Sample.request(target, reason: "test")
        request.origin.isForced = true
        return request
    }

    private static var later: Timestamp { .wall.adding(seconds: 3600) }

    @Test func `a change of one app is published beside a change of the whole fleet, whose requester waits for all`()
        async throws
    {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { node in
            try await node.makeKey()
            let apps = try await Self.makeApps(400, on: node)
            let before = try #require(node[apps[0]]?.version)
            let published = Published(of: node)
            try await PublishingNode.run(on: database, .with { ($0.keyEncryptionKey, $0.node.name) = (key, "other") }) {
                other in
                #expect(await eventually { other.publisher.table.count == apps.count })
                #expect(await eventually { other.node.ledger.position == node.node.ledger.position })
                let elsewhere = Published(of: other)
                let fleet = Task {
                    try await node.execute(try Self.engage(.fleet(.engageKillSwitch(expiresAt: Self.later))))
                    return apps.count { node[$0]?.version ?? 0 > before }
                }
                #expect(await eventually { published.count > 0 })
                try await node.execute(
                    try Self.engage(.app(apps[0], [.engageKillSwitch(nil, expiresAt: Self.later)])))
                // Answered with the document in place: F45 of the fault experiments measures that it overtakes the others.
                #expect(published.place(of: before + 2, of: apps[0]) != nil)
                #expect(try await fleet.value == apps.count)
                #expect(await eventually { apps.allSatisfy { elsewhere.place(of: before + 1, of: $0) != nil } })
                #expect(await eventually { elsewhere.place(of: before + 2, of: apps[0]) != nil })
                for app in apps {
                    #expect(await eventually { node[app]?.bytes == other[app]?.bytes })
                    try node.check(app)
                }
            }
        }
    }

    /// How much they save depends on how soon a stored document is known to the other node, which is late where all tests run at
    /// once: `FleetRoundTests` counts it by turns, and F45 of the fault experiments on a machine with nothing else to do.
    @Test func `two nodes that sign a change of the whole fleet at once come to the same documents`() async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        let (first, second) = (MetricRegistry(), MetricRegistry())
        func signed() -> Int { first.signedDocuments + second.signedDocuments }
        try await PublishingNode.run(on: database, .with { ($0.keyEncryptionKey, $0.metrics) = (key, first) }) { node in
            try await node.makeKey()
            let apps = try await Self.makeApps(600, on: node)
            try await PublishingNode.run(
                on: database, .with { ($0.keyEncryptionKey, $0.node.name, $0.metrics) = (key, "other", second) }
            ) { other in
                #expect(await eventually { apps.allSatisfy { other[$0] != nil } })
                let (before, version) = (signed(), try #require(node[apps[0]]?.version))
                // Both see it at once, as from a third node.
                try await TestNode.run(on: database, .with { $0.name = "third" }) { third in
                    _ = try await third.insist(
                        try Self.engage(.fleet(.engageKillSwitch(expiresAt: Self.later))))
                }
                for app in apps {
                    #expect(
                        await eventually { node[app]?.version == version + 1 && node[app]?.bytes == other[app]?.bytes })
                }
                #expect(signed() - before >= apps.count)
            }
        }
    }

    @Test func `documents of one second are not all renewed in one second`() throws {
        let schedule = Publisher.Schedule(lifetimeSeconds: 86_400)
        var due: [Int64: Int] = [:]
        for number in 0..<5_000 {
            due[schedule.renewalSeconds(of: try AppID("com.example.app\(number)")), default: 0] += 1
        }
        #expect(due.keys.allSatisfy { (16_200...21_600).contains($0) })
        // About one a second, over an hour and a half.
        #expect(due.count > 2_500 && due.values.max() ?? .max < 20)
        let third = due.filter { $0.key < 18_000 }.values.reduce(0, +)
        #expect((1_400...1_950).contains(third), "\(third) of 5,000 in the first third")
        #expect(Publisher.Schedule(lifetimeSeconds: 1).renewalSeconds(of: try AppID("a")) == 1)
    }

    @Test func `a document that the database refuses is named, and holds back no other`() async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        let log = LogRecorder()
        try await PublishingNode.run(
            on: database, .with { ($0.keyEncryptionKey, $0.node.logger) = (key, log.logger) }
        ) { node in
            try await node.makeKey()
            let refused = try Sample.app()
            try await database.execute(
                """
                CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    RAISE EXCEPTION 'not this one' USING ERRCODE = 'XX002';
                END $$;
                CREATE TRIGGER refuse BEFORE INSERT ON pinledger.document
                    FOR EACH ROW WHEN (NEW.app = '\(refused)') EXECUTE FUNCTION public.refuse();
                """)
            try await node.execute(try Sample.create(refused, hosts: 3))
            let version = try node.check(refused).version
            let apps = try await Self.makeApps(30, on: node)
            func stored() async throws -> Int64 {
                try await database.query("SELECT count(*) FROM pinledger.document").only.int64(0)
            }
            // One statement has them all, and the refused one.
            try await node.execute(try Self.engage(.fleet(.engageKillSwitch(expiresAt: Self.later))))
            try #expect(
                await eventually {
                    try await database.query(
                        "SELECT FROM pinledger.document WHERE version = $1", [.int64(version + 1)]
                    ).count == apps.count
                })
            #expect(try await stored() == Int64(apps.count))
            #expect(
                await eventually {
                    log.text.contains { $0.hasPrefix("error") && $0.contains("XX002") && $0.contains(refused.text) }
                })
            // Served all the same, and stored once it can be.
            try node.check(refused)
            try await database.execute("DROP TRIGGER refuse ON pinledger.document")
            try #expect(await eventually { try await stored() == Int64(apps.count) + 1 })
        }
    }
}

extension MetricRegistry {
    /// The documents that a node with this registry has signed.
    fileprivate var signedDocuments: Int {
        var samples = MetricSamples()
        self.collect(into: &samples)
        let lines = String(decoding: MetricText.prometheus.bytes(of: samples), as: UTF8.self).split(separator: "\n")
        let line = lines.first { $0.hasPrefix("\(MetricFamily.signedDocuments.rawValue)_total ") }
        return line?.split(separator: " ").last.flatMap { Double($0) }.map { Int($0) } ?? 0
    }
}
