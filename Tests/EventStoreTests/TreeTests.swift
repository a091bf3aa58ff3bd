import EventStore
import Fixtures
import Pinning
import Postgres
import Testing
import TransparencyLog

/// The Merkle tree as the database holds it.
@Suite(.database, .timeLimit(.minutes(60)))
struct TreeTests {
    @Test func `proofs made of stored hashes lead to the root of the head's frontier`() async throws {
        let database = try TestDatabase.current
        try await TestNode.run(on: database) { node in
            let app = try Sample.app()
            _ = try await node.writer.execute(try Sample.create(app))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<650 {
                    group.addTask { _ = try await node.writer.execute(try Sample.rename(app, "n\(number)")) }
                }
                try await group.waitForAll()
            }
            let view = try await Ledgers.check(database)
            let size = view.head.frontier.size
            #expect(size == 651)
            #expect(try await database.query("SELECT FROM pinledger.tree_node").count == 2)
            let root = view.head.frontier.root
            let reader = LedgerReader(pool: node.pool)

            for index in [0, 1, 255, 256, 300, 511, 512, 600, 650] as [UInt64] {
                let plan = try InclusionProof.plan(leafIndex: index, treeSize: size)
                let proof = try InclusionProof(
                    leafIndex: index, treeSize: size, plan: plan, stored: try await Self.read(plan, database)
                )
                let entry = try #require(try await reader.entries(at: Int64(index)..<Int64(index) + 1, limit: 1).first)
                try proof.verify(leaf: MerkleTree.leafHash(entry.bytes), root: root)
                #expect(throws: LogError.rootMismatch) {
                    try proof.verify(leaf: MerkleTree.leafHash(entry.bytes + [0x20]), root: root)
                }
            }
            for old in [1, 2, 255, 256, 257, 512, 513, 600, 650] as [UInt64] {
                let past = try MerkleFrontier.plan(size: old)
                let frontier = try MerkleFrontier(size: old, plan: past, stored: try await Self.read(past, database))
                let plan = try ConsistencyProof.plan(from: old, to: size)
                let proof = try ConsistencyProof(
                    from: old, to: size, plan: plan, stored: try await Self.read(plan, database)
                )
                try proof.verify(oldRoot: frontier.root, newRoot: root)
                // What a node remembers is held to the same proof.
                try await reader.check(view.head, goesOnFrom: Int64(old), root: frontier.root)
                await #expect(throws: LedgerFault.rewritten(remembered: Int64(old))) {
                    try await reader.check(view.head, goesOnFrom: Int64(old), root: MerkleTree.leafHash([0]))
                }
            }
            try await reader.check(view.head, goesOnFrom: 651, root: root)
            try await reader.check(view.head, goesOnFrom: 0, root: MerkleTree.emptyRoot)
            await #expect(throws: LedgerFault.forgotten(remembered: 652, found: 651)) {
                try await reader.check(view.head, goesOnFrom: 652, root: root)
            }
            await #expect(throws: LedgerFault.rewritten(remembered: 651)) {
                try await reader.check(view.head, goesOnFrom: 651, root: MerkleTree.leafHash([0]))
            }
            // The reader gives the same hashes as SQL does.
            for range in [HashRange(level: 0, indices: 250..<260), HashRange(level: 8, indices: 0..<2)] {
                #expect(try await reader.hashes(range) == (try await Self.read(range, database)))
            }
        }
    }

    private static func read(_ plan: HashPlan, _ database: TestDatabase) async throws -> [[LogHash]] {
        var stored: [[LogHash]] = []
        for range in plan.ranges { stored.append(try await self.read(range, database)) }
        return stored
    }

    private static func read(_ range: HashRange, _ database: TestDatabase) async throws -> [LogHash] {
        let (low, high) = (range.indices.lowerBound, range.indices.upperBound)
        let sql =
            range.level == 0
            ? "SELECT leaf_hash FROM pinledger.event WHERE position >= \(low) AND position < \(high) ORDER BY position"
            : "SELECT hash FROM pinledger.tree_node WHERE level = \(range.level) AND index >= \(low) AND index < \(high) "
                + "ORDER BY index"
        return try await database.query(sql).compactMap { LogHash(try $0.bytes(0)) }
    }
}
