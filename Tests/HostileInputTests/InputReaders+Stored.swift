import PinWire
import Pinning
import TransparencyLog

@testable import EventStore
@testable import Keys
@testable import Postgres
@testable import Publishing
@testable import Signals

extension InputReader {
    private static let logKey = "pins.example.com/audit+f9b01114+AUKu9fG+jjWncmGh7nJ1lhs2uOn3zClkMeczf/z0Y/Xg"
    private static let logKeys = [NoteKey(text: logKey)].compactMap { $0 }
    private static let logNote = """
        pins.example.com/audit
        7
        v9TqcXkVt1Gc3utz4BEf4Nwnpqa6ogRugtJqJOhPI8g=

        — pins.example.com/audit +bARFIHisaeOEoUqSw0HwppmZd9+e5ga9dC5hgbP/UnUb2tO+VAy1tbgwt7AadvsFkAFI/KpJe6fAMR3vj7IoFwSFQE=

        """

    /// `{"alg":"EdDSA","kid":"k","typ":"pinset+jws"}`, a payload and a signature that fits nothing.
    private static func jws(_ header: [UInt8], _ payload: [UInt8]) -> [UInt8] {
        let signature = Base64URL.encode(Array(repeating: 1, count: 64))
        return Array("\(Base64URL.encode(header)).\(Base64URL.encode(payload)).\(signature)".utf8)
    }

    private static let header = Array(#"{"alg":"EdDSA","kid":"k","typ":"pinset+jws"}"#.utf8)

    private static let rowTypes: [UInt32] = [
        TypeOID.bool, TypeOID.int2, TypeOID.int4, TypeOID.int8, TypeOID.float8, TypeOID.timestamptz, TypeOID.bytea,
        TypeOID.textArray, TypeOID.byteaArray, TypeOID.int8Array, TypeOID.int4Array, TypeOID.timestamptzArray, 25,
        TypeOID.jsonb,
    ]

    /// What stands in the database, where others may have written it, and what is notified through it.
    static let stored: [InputReader] = [
        InputReader(
            "a log's key, note, checkpoint and proof",
            seeds: [Self.logKey, Self.logNote, "c2sp.org/tlog-proof@v1\nextra AA==\nindex 5\n\n\(Self.logNote)"],
            frames: [
                Frame(), Frame("", "\n7\nv9TqcXkVt1Gc3utz4BEf4Nwnpqa6ogRugtJqJOhPI8g=\n"),
                Frame("— ", " AAAAAAA=\n"), Frame("text\n\n— ", " AAAAAAA=\n"),
                Frame("text\n\n— name AAAAAAA=\n— ", " AAAAAAA=\n"),
            ],
            read: { input in
                use(String(ascii: input).flatMap(NoteKey.init(text:)), LogName(input))
                if let checkpoint = try? Checkpoint(text: input) {
                    use(checkpoint == checkpoint, checkpoint.hashValue, checkpoint.text)
                }
                if let note = try? SignedNote(input) {
                    use(note == note, note.hashValue, note.encoded, try? note.verified(by: Self.logKeys))
                    use(note.signatures.map { Set([$0, $0]).count })
                }
                use(try? SignedNote.signatures(in: input[...]), CheckpointSubmission.size(in: input))
                let proof = try LogProof(input)
                use(proof == proof, proof.encoded)
                use(try? LogTrust(log: Self.logKeys)?.verify(proof, leaf: MerkleTree.emptyRoot))
            }),
        InputReader(
            "a signed document", bytes: [jws(header, Array(#"{"aud":"a","version":1}"#.utf8))],
            frames: [
                Frame(encode: {
                    jws(Array(#"{"alg":"EdDSA","typ":"pinset+jws","kid":""#.utf8) + $0 + Array(#""}"#.utf8), [])
                }),
                Frame(encode: { jws(header, $0) }), Frame(), Frame(".."),
            ],
            read: { input in
                let document = DocumentStore.Signed(
                    app: try AppID("a"), version: .max, position: .max, contentDigest: input,
                    issuedAt: Timestamp(microseconds: .max), expiresAt: Timestamp(microseconds: .min), keyID: "k",
                    body: input)
                let stored = DocumentStore.Stored(document: document, ledgerEnd: .max)
                use(DocumentJudge.verdict(on: stored, by: LedgerView(), isHalted: false))
                use(document.expiresAt.rfc3339, document.issuedAt.rfc3339)
                let text = String(decoding: input, as: UTF8.self)
                _ = try CompactJWS.verify(text, type: "pinset+jws", trusting: [])
            }),
        InputReader(
            "a document's payload", bytes: files("PinWireTests/Golden", ending: ".json"),
            frames: [
                Frame(#"{"aud":""#, #""}"#), Frame(#"{""#, #"":1}"#), Frame(#"{"hosts":[{"host":""#, #""}]}"#),
                Frame(#"{"hosts":["#, "]}"),
            ],
            read: { input in
                let issued = try IssuedDocument(payload: input)
                use(issued.document.payload(issuedAt: issued.issuedAt, expiresAt: issued.expiresAt))
            }),
        InputReader(
            "a notification",
            seeds: ["com.example.app@12@1769860800", "a@1@9223372036854775807 b@-1@-9223372036854775808", "17"],
            frames: [Frame(), Frame("app@1@"), Frame("", "@1@1")],
            read: { input in
                // As the connection to the database gives it.
                let payload = String(decoding: input.prefix(8000).filter { $0 != 0 }, as: UTF8.self)
                let text = payload.isASCII ? payload : ""
                for news in DocumentStore.News.list(text) ?? [] {
                    use(
                        news.isNews(to: DocumentTable(clock: { Timestamp(seconds: 1_800_000_000) })),
                        news.issuedAt.rfc3339,
                        news.issuedAt.adding(seconds: 1))
                }
                if let position = Int64(text) { use(Ledger().knows(through: position)) }
            }),
        InputReader(
            "an event", bytes: files("PinningTests/Golden").flatMap { $0.split(separator: 0x0A).map { Array($0) } },
            frames: [Frame(#"{"stream":""#, #""}"#), Frame(#"{"reason":""#, #""}"#), Frame(#"{""#, #"":1}"#)],
            read: { input in
                use(try? Entry(canonical: input))
                let json = try JSON(parsing: input)
                for (name, value) in json.objectValue ?? [:] { use(try? Event(type: name, schema: 1, data: value)) }
                for type in ["HostAdded", "PinStaged", "AppRolloutSet", "RolloutPlanSet", "WarningRaised"] {
                    use(try? Event(type: type, schema: 1, data: json))
                }
            }),
        InputReader(
            "a row of outcomes",
            seeds: [
                #"{"cells":[{"arm":"baseline","failures":1,"host":"a.example.com","reports":9007199254740991,"#
                    + #""version":3}],"releases":["1.2.3"]}"#
            ],
            bytes: [Array(repeating: 0xFF, count: 64), Array(repeating: 0, count: 64)],
            frames: [
                Frame(#"{"cells":[{"host":""#, #""}],"releases":[]}"#), Frame(#"{"cells":[],"releases":[""#, #""]}"#),
            ],
            read: { input in
                let app = try AppID("a")
                for level in [-1, 0, 63, 64, Int(Int32.max)] {
                    let row = TelemetryRow(
                        app: app, isAuthenticated: false, minute: Timestamp(microseconds: .max), level: max(0, level),
                        content: input, units: input, reports: .max)
                    use(OutcomeHour([row, row]))
                }
                use(OutcomeUnit.read(input).map(\.reason))
            }),
        InputReader(
            "a snapshot", bytes: [Array(repeating: 0, count: 64), [0, 0, 0, 1, 1] + Array(repeating: 0, count: 40)],
            read: { input in
                var state = LedgerState()
                for part in 0..<LedgerState.snapshotPartCount { try? state.restore(part: part, from: input[...]) }
                let seal = SnapshotSeal(position: 1, frontier: input, digests: sha256(input))
                use(seal.bytes, seal.stateDigest)
                try? seal.restore(part: 0, from: input, in: &state)
                try? seal.restore(part: 256, from: input, in: &state)
                use(try? MerkleFrontier(size: 3, encoded: input), InstallSketch(registers: input)?.estimate)
            }),
        InputReader(
            "a row of the database",
            bytes: [
                [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 25, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 65],
                [0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [0x80, 0, 0, 0, 0, 0, 0, 0],
                [0xFF, 0xFF, 0xFF, 0xFF],
            ],
            read: { input in
                for type in rowTypes {
                    let rows = PostgresRows(
                        buffer: input, cells: [.init(offset: 0, length: input.count)], columnNames: ["x"],
                        columnTypes: [type], columnCount: 1, count: 1, affectedRows: 1)
                    guard let row = rows.first else { continue }
                    use(
                        try? row.bool(0), try? row.int16(0), try? row.int32(0), try? row.int64(0), try? row.natural(0),
                        try? row.double(0), try? row.timestamp(0), try? row.bytes(0), try? row.textArray(0),
                        try? row.bytesArray(0), try? row.int64Array(0), try? row.int32Array(0),
                        try? row.timestampArray(0))
                    if let time = try? row.timestamp(0) {
                        let time = Timestamp(microseconds: time)
                        use(time.rfc3339, time.adding(seconds: 1), Timestamp(seconds: time.microseconds).rfc3339)
                    }
                    if let text = try? row.text(0) { handle(text) }
                }
                var decoder = PostgresCopyDecoder()
                try? input.withUnsafeBytes { bytes throws in
                    try decoder.append(UnsafeRawBufferPointer(rebasing: bytes[...]))
                }
                use(decoder.takeRows())
            }),
    ]
}
