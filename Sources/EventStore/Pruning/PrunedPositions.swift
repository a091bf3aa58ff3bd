import Postgres

/// Where the ledger's entries may be missing because they were pruned.
struct PrunedPositions: Sendable {
    private let partitions: [Range<Int64>]

    init(on connection: isolated PostgresConnection) throws {
        self.partitions = try connection.query("SELECT first_position, end_position FROM pinledger.pruned_partition")
            .map {
                let (first, end) = (try $0.int64(0), try $0.int64(1))
                return first..<max(first, end)
            }
    }

    /// Whether an event may have been pruned, of the stream whose name these bytes are: one of a single app.
    func holds(_ position: Int64, of stream: some Sequence<UInt8>) -> Bool {
        self.partitions.contains { $0.contains(position) } && stream.contains(UInt8(ascii: "/"))
    }
}
