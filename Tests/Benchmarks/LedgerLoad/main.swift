// Fills a migrated database with a long ledger: LedgerLoad --database CONNINFO [options]
//
// Every event goes through `pinledger.append`, in batches; what is recorded follows from the options and the seed
// alone. A ledger that has events already is continued. Prints one JSON object with what was done and how long it took.
import EventStore
import Glibc
import Keys
import PinWire
import Postgres
import Secrets

/// Loads what the options ask for and says what came of it.
func load(_ options: LoadOptions) async throws -> JSON {
    let clock = ContinuousClock()
    let begin = clock.now
    let pool = PostgresPool(configuration: PostgresConfiguration(connectionString: options.database))
    let key = try options.kekFile.map { file in
        try BatchKey(KeyEncryptionKey(text: try PrivateFile.read(file)))
    }
    var loader = Loader(pool: pool, key: key, start: options.start)
    try await loader.readExisting()
    let existing = loader.position
    let read = clock.now
    var story = Story(options: options, from: existing)
    var batch: [Story.Line] = []
    while loader.position + Int64(batch.count) < existing + options.events {
        batch.append(story.next())
        if batch.count == options.batch {
            try await loader.append(batch)
            batch.removeAll(keepingCapacity: true)
        }
    }
    try await loader.append(batch)
    await pool.close()
    func seconds(_ duration: Duration) -> JSON { .number((duration / .seconds(1) * 1000).rounded() / 1000) }
    return [
        "events": .integer(options.events),
        "existing": .integer(existing),
        "position": .integer(loader.position),
        "apps": .integer(Int64(story.appCount)),
        "entry_bytes": .integer(loader.entryBytes),
        "root": .string(loader.root),
        "read_seconds": seconds(begin.duration(to: read)),
        "seconds": seconds(begin.duration(to: clock.now)),
    ]
}

guard let options = LoadOptions(CommandLine.arguments.dropFirst()) else {
    print(LoadOptions.usage)
    exit(64)
}
print(try await load(options).canonicalText)
