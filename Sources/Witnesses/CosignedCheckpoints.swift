package import PinWire
import Pinning
package import Postgres

/// The checkpoint that witnesses have cosigned and what they last answered, in the database, where every node finds them.
package struct CosignedCheckpoints: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// What has become of the last request to a witness.
    package struct Answer: Sendable {
        package var askedAt: Timestamp
        /// The size of the last checkpoint that the witness has cosigned; nil for none.
        package var size: Int64?
        package var cosignedAt: Timestamp?
        /// Why it has not cosigned the last one that it was asked for; nil where it has.
        package var failure: String?
    }

    /// The signed note of the newest cosigned checkpoint; nil where there is none. Not to be believed before a
    /// ``CheckpointSource`` has verified it.
    func newest() async throws -> [UInt8]? {
        try await self.pool.read("SELECT note FROM pinledger.cosigned_checkpoint").first?.bytes(0)
    }

    /// Keeps a checkpoint, unless one of more events is there.
    func keep(_ note: [UInt8], of origin: LogName, size: Int64) async throws {
        _ = try await self.pool.query(
            "SELECT pinledger.keep_cosigned_checkpoint($1, $2, $3)", [.text(origin.text), .int64(size), .bytes(note)])
    }

    /// What has become of the last request to each witness, by its vkey.
    package func answers() async throws -> [String: Answer] {
        try Self.answers(in: try await self.pool.read(Self.answers))
    }

    /// The same on a connection.
    package static func answers(on connection: isolated PostgresConnection) throws -> [String: Answer] {
        try Self.answers(in: try connection.query(Self.answers))
    }

    private static let answers = "SELECT vkey, asked_at, size, cosigned_at, failure FROM pinledger.witness"

    private static func answers(in rows: PostgresRows) throws -> [String: Answer] {
        var answers: [String: Answer] = [:]
        for row in rows {
            answers[try row.text(0)] = Answer(
                askedAt: Timestamp(microseconds: try row.timestamp(1)), size: try row.optionalInt64(2),
                cosignedAt: try row.optionalTimestamp(3).map { Timestamp(microseconds: $0) },
                failure: try row.optionalText(4))
        }
        return answers
    }

    /// Keeps what a witness has answered: the size that it cosigned, or why it did not.
    func keep(_ result: Result<Int64, WitnessClient.Failure>, of witness: LogWitness) async throws {
        var (size, failure): (Int64?, String?)
        switch result {
        case .success(let cosigned): size = cosigned
        case .failure(let reason): failure = reason.description
        }
        _ = try await self.pool.query(
            "SELECT pinledger.keep_witness_answer($1, $2, $3)",
            [
                .text(witness.verifier), .optional(size) { .int64($0) }, .optional(failure) { .text($0) },
            ])
    }
}
