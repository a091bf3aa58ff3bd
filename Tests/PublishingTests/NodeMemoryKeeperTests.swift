import EventStore
import Fixtures
import Foundation
import Keys
import PinWire
import Pinning
import Postgres
import Testing
import TransparencyLog

@testable import Publishing

/// The files that a node writes into its state directory while it runs.
@Suite("The keeping of a node's memory", .database, .timeLimit(.minutes(60)))
struct NodeMemoryKeeperTests {
    /// A node that publishes, with a directory to remember in and a pool that reaches no database.
    private static func run(
        _ test: (PublishingNode, _ directory: String, _ key: KeyEncryptionKey, _ nowhere: PostgresPool) async throws ->
            Void
    ) async throws {
        let database = try TestDatabase.current
        let key = try KeyEncryptionKey.random()
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path()
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let nowhere = PostgresPool(configuration: PostgresConfiguration(connectionString: "host=/nowhere"))
        try await PublishingNode.run(on: database, .with { $0.keyEncryptionKey = key }) { node in
            try await test(node, directory, key, nowhere)
        }
        await nowhere.close()
    }

    private static func keeper(
        _ file: NodeMemoryFile, _ node: PublishingNode, _ pool: PostgresPool, remembering memory: NodeMemory? = nil,
        _ standing: NodeMemoryKeeper.Standing = .continued
    ) -> NodeMemoryKeeper {
        NodeMemoryKeeper(
            file: file, remembered: memory, standing: standing, ledger: node.node.ledger, pool: pool,
            table: node.publisher.table, logger: .silent)
    }

    /// The memory in the directory, and the events beside it.
    private static func read(_ file: NodeMemoryFile) async throws -> (memory: NodeMemory, entries: [Entry]) {
        let memory = try #require(try await file.read()?.memory)
        let journal = try await EventJournalFile(directory: file.directory).read(memory)
        return (memory, try (journal?.entries ?? []).map { try Entry(bytes: $0) })
    }

    private static func engage(_ app: AppID) throws -> CommandRequest {
        var request = try Sample.request(
            .app(app, [.engageKillSwitch(nil, expiresAt: Timestamp.wall.adding(seconds: 3600))]), reason: "test")
        request.origin.isForced = true
        return request
    }

    @Test func `a node keeps what it has recorded and served without the database, also once it has halted`()
        async throws
    {
        try await Self.run { node, directory, key, nowhere in
            let ledger = node.node.ledger
            let file = NodeMemoryFile(directory: directory, keyEncryptionKeys: KeyEncryptionKeys(key))
            let keeper = Self.keeper(file, node, nowhere)
            let app = try Sample.app()
            try await keeper.update()
            try await node.makeKey()
            try await node.execute(try Sample.create(app, hosts: 1))
            try await node.execute(try Self.engage(app))
            let served = try node.check(app)
            // As after the loss of a primary: what came before is right.
            ledger.halt(.shrunk(from: ledger.position, to: 1))
            try await keeper.update()
            let (memory, entries) = try await Self.read(file)
            #expect(memory.position == ledger.position && memory.root == ledger.view.head.frontier.root)
            #expect(memory.documents[app] == served.remembered)
            #expect(memory.keys[served.keyID] != nil)
            #expect(entries.count == Int(ledger.position))
            guard case .app(.killSwitchEngaged) = entries.last?.event else {
                Issue.record("the switch is not kept")
                return
            }
            let kept = try await KeptDocumentsFile(directory: directory).read(memory.documents)
            #expect(kept.documents.first { $0.app == app }?.killSwitches.count == 1)
        }
    }

    @Test func `a node keeps what another one has recorded from what it has read of it`() async throws {
        try await Self.run { node, directory, key, nowhere in
            let file = NodeMemoryFile(directory: directory, keyEncryptionKeys: KeyEncryptionKeys(key))
            let keeper = Self.keeper(file, node, nowhere)
            try await keeper.update()
            let app = try Sample.app()
            try await TestNode.run(on: node.node.database, .with { $0.name = "other" }) { other in
                _ = try await other.insist(try Sample.create(app, hosts: 2))
            }
            let ledger = node.node.ledger
            #expect(await eventually { ledger.view.state.apps[app] != nil })
            try await keeper.update()
            let (memory, entries) = try await Self.read(file)
            #expect(memory.position == ledger.position && entries.count == Int(ledger.position))
        }
    }

    @Test func `news of the same second is added to the memory, which is written as a whole later`() async throws {
        try await Self.run { node, directory, key, nowhere in
            let file = NodeMemoryFile(directory: directory, keyEncryptionKeys: KeyEncryptionKeys(key))
            let keeper = Self.keeper(file, node, nowhere)
            try await node.makeKey()
            let apps = [try Sample.app(), try Sample.app()]
            for app in apps {
                try await node.execute(try Sample.create(app))
                try await keeper.update()
            }
            let memory = try await Self.read(file).memory
            #expect(memory.position == node.node.ledger.position)
            #expect(Set(apps).isSubset(of: memory.documents.keys))
            // The whole alone is as good as before.
            let additions = "\(directory)/additions"
            if FileManager.default.fileExists(atPath: additions) {
                let whole = try file.content(try PrivateFile.read(file.path)).memory
                #expect(whole.position < memory.position && whole.documents[apps[0]] != nil)
            }
            // A process that goes on from there writes one whole.
            let next = Self.keeper(file, node, nowhere, remembering: memory)
            try await next.update()
            #expect(try file.content(try PrivateFile.read(file.path)).memory == memory)
        }
    }

    @Test func `a memory is authenticated again with the key that comes into force`() async throws {
        try await Self.run { node, directory, key, nowhere in
            let new = try KeyEncryptionKey.random()
            let ring = KeyEncryptionKeys(key, beside: new)
            let file = NodeMemoryFile(directory: directory, keyEncryptionKeys: ring)
            func isAuthentic(_ key: KeyEncryptionKey) async throws -> Bool {
                try #require(
                    try await NodeMemoryFile(directory: directory, keyEncryptionKeys: KeyEncryptionKeys(key)).read()
                ).isAuthentic
            }
            let keeper = Self.keeper(file, node, nowhere)
            try await node.execute(try Sample.create(try Sample.app()))
            try await keeper.update()
            #expect(try await isAuthentic(key))
            ring.use(new.idBytes)
            // The same second, and nothing is new.
            try await keeper.update()
            #expect(try await isAuthentic(new))
            // Either is accepted meanwhile.
            #expect(try await file.read()?.isAuthentic == true)
        }
    }

    @Test func `a memory that the ledger contradicts stays, and takes in what is served`() async throws {
        try await Self.run { node, directory, key, nowhere in
            try await node.makeKey()
            let (known, new) = (try Sample.app(), try Sample.app())
            try await node.execute(try Sample.create(known))
            let file = NodeMemoryFile(directory: directory, keyEncryptionKeys: KeyEncryptionKeys(key))
            var before = NodeMemory(of: node.node.ledger.view, documents: [:])
            before.position += 100
            before.documents[known] = .init(version: 70, contentDigest: [UInt8](repeating: 7, count: 32))
            try await file.write(before)
            let bytes = try PrivateFile.read(file.path)
            let foreign = Self.keeper(file, node, nowhere, remembering: before, .foreign)
            let keeper = Self.keeper(file, node, nowhere, remembering: before, .contradicted)
            try await node.execute(try Sample.create(new))
            try await foreign.update()
            #expect(try PrivateFile.read(file.path) == bytes)
            try await keeper.update()
            let memory = try await Self.read(file).memory
            #expect(memory.position == before.position && memory.root == before.root)
            #expect(memory.documents[known]?.version == 70 && memory.documents[new] == node[new]?.remembered)
        }
    }

    @Test func `documents count that were kept and not remembered yet, under a key that is known`() async throws {
        try await Self.run { node, directory, key, nowhere in
            let file = NodeMemoryFile(directory: directory, keyEncryptionKeys: KeyEncryptionKeys(key))
            let keeper = Self.keeper(file, node, nowhere)
            let kid = try await node.makeKey()
            let app = try Sample.app()
            try await node.execute(try Sample.create(app))
            try await keeper.update()
            let before = try await Self.read(file).memory
            try await node.execute(try Sample.rename(app, "x"))
            try await keeper.update()
            let documents = KeptDocumentsFile(directory: directory)
            let kept = try await documents.read(before.documents, signedBy: before.keys)
            #expect(kept.remembered[app] == node[app]?.remembered && kept.documents.map(\.version) == [2])
            // A document that nobody vouches for does not count.
            for keys in [[:], [kid: [UInt8](repeating: 7, count: 32)]] {
                #expect(try await documents.read(before.documents, signedBy: keys).remembered == before.documents)
            }
        }
    }

    @Test func `a recovery takes versions and kill switches from documents, where nothing has kept the events`()
        async throws
    {
        try await Self.run { node, directory, key, nowhere in
            let file = NodeMemoryFile(directory: directory, keyEncryptionKeys: KeyEncryptionKeys(key))
            let keeper = Self.keeper(file, node, nowhere)
            try await keeper.update()
            try await node.makeKey()
            let app = try Sample.app()
            try await node.execute(try Sample.create(app))
            // The state of a standby that takes over.
            let left = node.node.ledger.view
            try await node.execute(try Self.engage(app))
            try await keeper.update()
            let memory = try await Self.read(file).memory
            let kept = try await KeptDocumentsFile(directory: directory).read(memory.documents)
            let journal = try await EventJournalFile(directory: directory).read(memory)
            func loss(of memory: NodeMemory, _ journal: EventJournal?) async throws -> HistoryLoss {
                try await HistoryLoss(
                    of: [KnownHistory(memory, journal: journal, kept: kept, source: "node")], against: left,
                    stored: [:], reader: LedgerReader(pool: node.node.pool))
            }
            let blind = try await loss(of: memory, nil)
            #expect(blind.unknownEvents == 1 && blind.documents.map(\.version) == [2])
            let changes = LostChanges(
                of: blind.events, documents: blind.documents, in: left.state, at: .wall)
            let end = try #require(blind.documents.first?.killSwitches.first?.expiresAt)
            #expect(changes.repetitions.map(\.command) == [.app(app, [.engageKillSwitch(nil, expiresAt: end)])])
            #expect(blind.overtaken.map(\.served) == [2])
            // The events say all of it.
            let known = try await loss(of: memory, journal)
            #expect(known.unknownEvents == 0 && known.documents.isEmpty && known.events.count == 1)
            // A document that was kept before the memory stated it counts all the same.
            var earlier = memory
            earlier.documents[app]?.version = 1
            #expect(try await loss(of: earlier, journal).documents.map(\.version) == [2])
            #expect(try await loss(of: earlier, journal).overtaken.map(\.served) == [2])
        }
    }

    @Test func `a recovery finds what a node has set aside, with the documents as they were then`() async throws {
        try await Self.run { node, directory, key, nowhere in
            let file = NodeMemoryFile(directory: directory, keyEncryptionKeys: KeyEncryptionKeys(key))
            let keeper = Self.keeper(file, node, nowhere)
            try await keeper.update()
            try await node.makeKey()
            let app = try Sample.app()
            try await node.execute(try Sample.create(app))
            // The state of a standby that took over, in which a recovery has begun an epoch since.
            var left = node.node.ledger.view
            try await node.execute(try Self.engage(app))
            try await keeper.update()
            let memory = try await Self.read(file).memory
            left.state.fleet.evolve(
                .historyRestored(
                    HistoryRestoration(
                        epoch: 1, keptSize: left.head.position,
                        lost: .init(size: memory.position, root: memory.root.bytes), raisedBy: 1000)), at: .wall)
            #expect(await SetAside.epochs(in: directory).isEmpty)
            try await file.setAside(epoch: 0)
            #expect(await SetAside.epochs(in: directory) == [0])
            // The node goes on: documents without the switch, in the same files.
            let next = Self.keeper(file, node, nowhere, remembering: memory)
            try await node.execute(try Sample.request(.app(app, [.releaseKillSwitch(nil)]), reason: "test"))
            try await next.update()
            let aside = NodeMemoryFile(directory: directory, keyEncryptionKeys: KeyEncryptionKeys(key), lostIn: 0)
            let content = try #require(try await aside.read())
            #expect(content.memory == memory && content.isAuthentic)
            let kept = try await KeptDocumentsFile(directory: directory, lostIn: 0).read(
                memory.documents, signedBy: memory.keys)
            #expect(kept.documents.map(\.killSwitches.count) == [1])
            let journal = try await EventJournalFile(directory: directory, lostIn: 0).read(memory)
            func changes(_ journal: EventJournal?) async throws -> LostChanges {
                let loss = try await HistoryLoss(
                    of: [KnownHistory(memory, journal: journal, kept: kept, source: "node", isSetAside: true)],
                    against: left, stored: [:], reader: LedgerReader(pool: node.node.pool))
                // The loss is over: no other epoch begins for it.
                #expect(loss.isNone && !loss.isOpen && loss.events.isEmpty)
                return LostChanges(in: loss.history, documents: loss.documents, leaving: left.state, at: .wall)
            }
            let end = try #require(kept.documents.first?.killSwitches.first?.expiresAt)
            // Of a node that had no earlier events: its journal begins behind the place where the histories part.
            let late = try EventJournal(start: #require(journal).end)
            for journal in [journal, nil, late] {
                let commands = try await changes(journal).repetitions.map(\.command)
                guard case .app(app, let steps)? = commands.first, commands.count == 1,
                    case .engageKillSwitch(nil, let until)? = steps.first
                else {
                    Issue.record("the switch is not repeated, but \(commands)")
                    continue
                }
                #expect(until.wholeSeconds == end)
            }
        }
    }

    @Test func `a node serves what it has kept where what is stored is no document, and nobody can sign it again`()
        async throws
    {
        try await Self.run { node, directory, key, nowhere in
            let file = NodeMemoryFile(directory: directory, keyEncryptionKeys: KeyEncryptionKeys(key))
            let keeper = Self.keeper(file, node, nowhere)
            try await keeper.update()
            try await node.makeKey()
            let apps = [try Sample.app(), try Sample.app()]
            for app in apps { try await node.execute(try Sample.create(app)) }
            try await keeper.update()
            let memory = try await Self.read(file).memory
            let documents = try apps.map { try #require(node[$0]) }
            let database = node.node.database
            #expect(
                try await eventually {
                    try await database.query("SELECT count(*) FROM pinledger.document").only.int64(0) == 2
                })
            try await database.query(
                "UPDATE pinledger.document SET body = 'garbage' WHERE app = $1", [.text(apps[0].text)])
            let kept = KeptDocumentsFile(directory: directory)
            let source = Publisher.KeptSource(file: kept, remembered: memory.documents, signedBy: memory.keys)
            let view = try await TestNode.run(on: database) { try await $0.fullFold() }
            try await PublishingNode.run(
                on: database, .with { ($0.node.name, $0.node.view, $0.kept) = ("other", view, source) }
            ) { other in
                #expect(await eventually { other[apps[0]]?.bytes == documents[0].bytes })
                #expect(other[apps[1]]?.bytes == documents[1].bytes && other.node.ledger.fault == nil)
                var written = DocumentKeeper(file: kept)
                let isWritten = try await eventually {
                    try await written.keep([], of: other.publisher.table, onlyAdds: false)
                }
                #expect(isWritten)
                #expect(try await kept.read(memory.documents).remembered == memory.documents)
            }
        }
    }

    @Test func `kept documents that cannot be read stay as they are`() async throws {
        try await Self.run { node, directory, key, nowhere in
            let file = NodeMemoryFile(directory: directory, keyEncryptionKeys: KeyEncryptionKeys(key))
            let keeper = Self.keeper(file, node, nowhere)
            try await keeper.update()
            try await node.makeKey()
            let app = try Sample.app()
            try await node.execute(try Sample.create(app))
            try await keeper.update()
            let memory = try await Self.read(file).memory
            let database = node.node.database
            let stored = "SELECT FROM pinledger.document"
            #expect(try await eventually { try await database.query(stored).count == 1 })
            try await database.execute("DELETE FROM pinledger.document")
            let kept = KeptDocumentsFile(directory: directory)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: kept.path)
            let source = Publisher.KeptSource(file: kept, remembered: memory.documents, signedBy: memory.keys)
            let view = try await TestNode.run(on: database) { try await $0.fullFold() }
            try await PublishingNode.run(
                on: database, .with { ($0.node.name, $0.node.view, $0.kept) = ("other", view, source) }
            ) { other in
                #expect(await eventually { other.publisher.table.leavesKept })
                var written = DocumentKeeper(file: kept)
                let isLeft = try await written.keep([], of: other.publisher.table, onlyAdds: false)
                #expect(isLeft)
            }
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: kept.path)
            #expect(try await kept.read(memory.documents).remembered == memory.documents)
        }
    }

    @Test func `the file of kept documents is written again once what it has was compared with what is stored`()
        async throws
    {
        try await Self.run { node, directory, key, _ in
            try await node.makeKey()
            let app = try Sample.app()
            try await node.execute(try Sample.create(app))
            let document = try #require(node[app])
            let file = KeptDocumentsFile(directory: directory)
            _ = try await file.append([document], to: nil)
            let table = DocumentTable(clock: { .wall })
            table.remember([app: document.remembered], isStrict: false)
            table.awaitKept()
            table.adopt([]) { _ in
                .serve
            } onContradiction: { _, _ in
            }
            #expect(table.lacksAll && table.missing == [app.text])
            var keeper = DocumentKeeper(file: file)
            #expect(try await !keeper.keep([], of: table, onlyAdds: false))
            #expect(try await file.read([app: document.remembered]).remembered.count == 1)
            table.takeKept([])
            #expect(try await keeper.keep([], of: table, onlyAdds: false))
        }
    }

    @Test func `the file of the process before is added to while documents are still verified`() async throws {
        try await Self.run { node, directory, key, _ in
            try await node.makeKey()
            let apps = [try Sample.app(), try Sample.app(), try Sample.app()]
            for app in apps { try await node.execute(try Sample.create(app)) }
            let documents = try apps.map { try #require(node[$0]) }
            let file = KeptDocumentsFile(directory: directory)
            _ = try await file.append([documents[0]], to: nil)
            // As after a crash.
            try PrivateFile.append(Array("eyJ".utf8), to: file.path)
            let table = DocumentTable(clock: { .wall })
            table.put(documents)
            var keeper = DocumentKeeper(file: file)
            #expect(try await !keeper.keep([documents[1]], of: table, onlyAdds: false))
            let remembered = Dictionary(uniqueKeysWithValues: documents.map { ($0.app, $0.remembered) })
            #expect(try await Set(file.read(remembered).remembered.keys) == Set(apps.prefix(2)))
            table.adopt([]) { _ in
                .serve
            } onContradiction: { _, _ in
            }
            table.put(documents)
            #expect(try await keeper.keep([], of: table, onlyAdds: false))
            #expect(try await Set(file.read(remembered).remembered.keys) == Set(apps))
            #expect(try await keeper.keep([documents[2]], of: table, onlyAdds: false))
        }
    }

    @Test func `the file of kept documents stays near its limit, and one above it is read`() async throws {
        try await Self.run { node, directory, key, _ in
            try await node.makeKey()
            let apps = try (0..<10).map { _ in try Sample.app() }
            for app in apps { try await node.execute(try Sample.create(app, hosts: 4)) }
            func documents() throws -> [PublishedDocument] { try apps.map { try #require(node[$0]) } }
            let live = try documents().reduce(0) { $0 + $1.bytes.count + 1 }
            // Limits between the present documents and twice their size, and below their size.
            for limit in [live * 3 / 2, live / 4] {
                let file = KeptDocumentsFile(
                    directory: directory, smallSize: live / 8, largeSize: limit)
                // Looked at before one more document is added.
                let most = max(limit, live * 5 / 4) + live / 5
                var keeper = DocumentKeeper(file: file)
                #expect(try await keeper.keep(try documents(), isComplete: true))
                for round in 0..<3 {
                    for app in apps {
                        try await node.execute(try Sample.rename(app, "x\(round)"))
                        #expect(
                            try await keeper.keep([try #require(node[app])], of: node.publisher.table, onlyAdds: false))
                        #expect(try PrivateFile.read(file.path).count <= most)
                    }
                }
                let kept = try await file.readAll().flatMap { $0.newestFirst(at: .wall) }.map(\.document)
                for document in try documents() {
                    #expect(kept.first { $0.app == document.app }?.version == document.version)
                }
            }
        }
    }

    @Test func `kept documents that cannot be read are no documents, and the log says why`() async throws {
        try await Self.run { node, directory, key, _ in
            let file = KeptDocumentsFile(directory: directory)
            let log = LogRecorder()
            #expect(
                await file.readOrLog([:], signedBy: [:], log.logger)?.remembered.isEmpty == true && log.text.isEmpty)
            try FileManager.default.createDirectory(atPath: file.path, withIntermediateDirectories: false)
            #expect(await file.readOrLog([:], signedBy: [:], log.logger) == nil)
            #expect(log.text.contains { $0.hasPrefix("critical") && $0.contains(file.path) })
            await #expect(throws: PrivateFile.Failure.notAFile) { try await file.read([:]) }
        }
    }
}
