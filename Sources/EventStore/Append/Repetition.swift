import Pinning
import Postgres

/// Looks up the results of earlier requests with the same idempotency key.
enum Repetition {
    /// The answers to those of `requests` whose key is recorded, by their indices.
    ///
    /// An answer is given once a commit after it is confirmed, by a standby too where there is one: the first answer
    /// may be missing because that confirmation was.
    ///
    /// - Parameter version: A stream's present version, for commands that recorded nothing.
    static func answers(
        to requests: [(place: Int, request: CommandRequest)], on connection: isolated PostgresConnection,
        version: (StreamID) -> Int64
    ) throws -> [(place: Int, answer: Pending.Answer)] {
        let keys = requests.compactMap(\.request.key)
        let rows = try connection.query(
            prepared: Statements.commands, [.textArray(keys.map(\.actor)), .textArray(keys.map(\.key))])
        guard !rows.isEmpty else { return [] }
        try connection.query(prepared: Statements.lockHead)
        try connection.checkCommitsWait()
        return try rows.map { row in
            let number = Int(try row.natural(0)) - 1
            guard requests.indices.contains(number) else {
                throw PostgresError(.decoding, "there is no command \(number + 1) among those asked for")
            }
            let (place, request) = requests[number]
            guard try row.bytes(1) == request.digest else { return (place, .failed(.keyReused)) }
            let (first, count) = (try row.natural(2), try row.natural(3))
            let entries = try LedgerReader.stored(
                try connection.query(
                    prepared: Statements.entries, [.int64(first), .int64(first + count), .int64(count)])
            ).map(\.entry)
            let recorded = Recorded(
                entries: entries, position: first + count,
                streamVersion: entries.last?.streamVersion ?? version(request.command.stream), isReplay: true)
            return (place, .recorded(recorded))
        }
    }
}
