package import PinWire
package import Pinning
package import Postgres
import Synchronization

/// The bytes of public keys and certificates, which the ledger knows only by their digests: in the database for every
/// node, and in memory as far as they were asked for lately.
///
/// The ledger is complete without them. Bytes that the ledger does not name, because the process died or the change was
/// refused, are erased after a day.
package final class MaterialStore: Sendable {
    private let pool: PostgresPool
    private let cache: Mutex<MaterialCache>

    /// The number of digests in one query.
    private static let batchSize = 256

    /// How long answers and records, which can do without keys and certificates, wait for them.
    package static let patience = Duration.milliseconds(300)

    /// The time was over before the database had answered. The bytes may be stored all the same.
    package struct Late: Error, CustomStringConvertible {
        package var description: String { "the database did not answer in time" }
    }

    /// - Parameter limit: The most bytes that are kept in memory.
    package init(pool: PostgresPool, limit: Int = 32 * 1024 * 1024) {
        self.pool = pool
        self.cache = Mutex(MaterialCache(limit: limit))
    }

    /// Stores keys and certificates. Bytes that are there already count as recent again; bytes larger than
    /// ``PinWire/Material/maximumSize`` are skipped.
    package func store(_ material: Set<Material>) async throws {
        let kept = material.filter { (1...Material.maximumSize).contains($0.der.count) }
        guard !kept.isEmpty else { return }
        let rows = Array(kept)
        _ = try await self.pool.query(
            "SELECT pinledger.store_material($1, $2)",
            [.textArray(rows.map(\.kind.rawValue)), .bytesArray(rows.map(\.der))]
        )
        self.cache.withLock { $0.take(rows.map { (key: $0.digest, value: $0.der) }) }
    }

    /// The same, for a caller that does not wait longer.
    ///
    /// - Throws: ``Late``, and the database's errors.
    package func store(_ material: Set<Material>, within limit: Duration) async throws {
        guard !material.isEmpty else { return }
        // Every wait of the pool has an end, and a cancelled one ends at once unless its statement runs.
        guard try await Deadline.within(limit, { try await self.store(material) }) != nil else { throw Late() }
    }

    /// Keys and certificates in DER, by their digests, without missing ones.
    ///
    /// Bytes that another node stored are found after ``MaterialCache/missingTime`` at the latest.
    package func der(of digests: Set<[UInt8]>) async throws -> [[UInt8]: [UInt8]] {
        var (found, unknown) = self.cache.withLock { $0.find(digests, at: .now) }
        for start in stride(from: 0, to: unknown.count, by: Self.batchSize) {
            let batch = unknown[start..<min(start + Self.batchSize, unknown.count)]
            let rows = try await self.pool.read(
                "SELECT digest, der FROM pinledger.material WHERE digest = ANY($1)", [.bytesArray(Array(batch))])
            var read: [[UInt8]: [UInt8]] = [:]
            for row in rows { read[try row.bytes(0)] = try row.bytes(1) }
            let missing = batch.filter { read[$0] == nil }
            self.cache.withLock { [read] cache in
                cache.take(read)
                cache.takeMissing(missing, at: .now)
            }
            found.merge(read) { first, _ in first }
        }
        return found
    }

    /// As many of them as are found in time, or in memory where the database does not answer: for answers that are
    /// given in any case. The database is not asked again before ``MaterialCache/missingTime`` is over.
    ///
    /// - Returns: The bytes, and whether they are complete.
    package func der(
        of digests: Set<[UInt8]>, within limit: Duration
    ) async -> (found: [[UInt8]: [UInt8]], isWhole: Bool) {
        let (found, unknown, isSilent) = self.cache.withLock { cache in
            let (found, unknown) = cache.find(digests, at: .now)
            return (found, unknown, cache.isSilent(at: .now))
        }
        guard !unknown.isEmpty else { return (found, true) }
        guard !isSilent else { return (found, false) }
        // Every wait of the pool has an end, and a cancelled one ends at once unless its statement runs.
        if let all = try? await Deadline.within(limit, { try await self.der(of: digests) }) { return (all, true) }
        if !Task.isCancelled { self.cache.withLock { $0.takeSilence(at: .now) } }
        return (self.remembered(of: digests), false)
    }

    /// As many of them as are in memory.
    package func remembered(of digests: Set<[UInt8]>) -> [[UInt8]: [UInt8]] {
        self.cache.withLock { $0.find(digests, at: .now).found }
    }

    /// Erases bytes that are older than a day and that `state` does not know; returns how many. Erases nothing where
    /// the state lacks events that were recorded more than an hour ago, and so may not know keys that others have
    /// uploaded.
    ///
    /// - Parameters:
    ///   - position: The ledger's position of the state.
    ///   - pageSize: The number of digests examined together.
    @discardableResult
    package func eraseUnnamed(
        by state: LedgerState, at position: Int64, pageSize: Int32 = 50_000
    ) async throws -> Int64 {
        var last: [UInt8] = []
        var erased: Int64 = 0
        while true {
            let rows = try await self.pool.read(
                """
                SELECT digest FROM pinledger.material WHERE digest > $1 AND stored_at < now() - interval '1 day'
                ORDER BY digest LIMIT $2
                """, [.bytes(last), .int32(pageSize)])
            let page = try rows.map { try $0.bytes(0) }
            let unnamed = state.unnamed(Set(page))
            if !unnamed.isEmpty {
                erased += try await self.pool.query(
                    "SELECT pinledger.erase_material($1, $2)", [.bytesArray(Array(unnamed)), .int64(position)]
                ).only.int64(0)
            }
            guard page.count == Int(pageSize), let end = page.last else { return erased }
            last = end
        }
    }
}
