import ArgumentParser
import Foundation
import Keys
import PinWire
import Pinning
import TransparencyLog

/// Writes what a reviewer needs of a period into one directory.
struct AuditReportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Export a period's events, their proofs and the documents for reviewers.",
        discussion: """
            pinledger audit report 2026-q3 --since 2026-07-01 --until 2026-10-01 --key VKEY --previous checkpoint-2026-q2

            The directory holds the events, each as it was recorded, the part of the log that proves them against its \
            checkpoint, and README.md with the commands by which a reviewer verifies the events with other programs than \
            this one. This command verifies them too, writes nothing where anything does not fit, and finds events of the \
            period that the server leaves out. Each app's document at the end of the period is what the server says: its \
            digest is to be compared with a document that clients have.

            Keep the report's log/checkpoint for --previous of the next one: then each report proves that the periods before it \
            were not altered.
            """)
    @Argument(help: "The directory, which is made. It may be there if it is empty.") var directory: String
    @Option(help: "Beginning of the period: 2026-07-01, 2026-07-01T00:00:00Z or 90d (ago).") var since: String
    @Option(help: "End of the period, which is not part of it, written like --since. Default: now.") var until: String?
    @OptionGroup var trusted: LogTrustOptions
    @Option(help: ArgumentHelp("Checkpoint that the log must continue.", valueName: "file")) var previous: String?
    @OptionGroup var remote: RemoteOptions

    /// The period: its times, and the positions of its events.
    private struct Period {
        var since: Timestamp
        var until: Timestamp
        var positions: Range<Int64>
    }

    func run() async throws {
        let trust = try self.trusted.trust()
        let since = try TimeInput.moment(self.since, .back)
        let until = try TimeInput.moment(self.until ?? "now", .back)
        try TimeInput.checkOrder(("--since", self.since, since), ("--until", self.until ?? "now", until))
        let earlier = try self.previous.map { try Self.checkpoint($0, trust) }
        let directory = try ReportDirectory(self.directory)
        do {
            let said = try await self.remote.withClient { client in
                try await Self.write(since..<until, trust, earlier, from: client, to: directory)
            }
            Console.print("Wrote \(self.directory): \(said) README.md says how to verify them without this program.")
        } catch {
            directory.discard()
            throw error
        }
    }

    /// Writes the report, and says what is in it.
    private static func write(
        _ times: Range<Timestamp>, _ trust: LogTrust, _ earlier: (note: [UInt8], checkpoint: Checkpoint)?,
        from client: APIClient, to directory: ReportDirectory
    ) async throws -> String {
        let lower = try await Self.count(before: times.lowerBound.rfc3339, client)
        let upper = max(lower, try await Self.count(before: times.upperBound.rfc3339, client))
        let period = Period(since: times.lowerBound, until: times.upperBound, positions: lower..<upper)
        let answer = try await client.send("GET", "/log/checkpoint", limit: SignedNote.maximumSize)
        try answer.check()
        let verified: LogTrust.Verified
        do { verified = try trust.verify(checkpoint: answer.body) } catch {
            throw CommandFailure("the checkpoint does not verify: \(error)", status: .notVerified)
        }
        let checkpoint = verified.checkpoint
        guard upper <= Int64(clamping: checkpoint.size) else {
            throw CommandFailure(
                "the ledger has \(upper) events up to the end of the period, and the newest checkpoint covers \(checkpoint.size)",
                advice: "Repeat the command once witnesses have cosigned: `pinledger log witness list`.",
                status: .conflict)
        }
        let excerpt = try LogExcerpt(checkpoint, note: answer.body, in: directory, from: client)
        let key = try Self.write(answer.body, signedBy: trust.log, to: directory)
        try await Self.writeEvents(of: period, from: excerpt, to: directory)
        let documents = try await Self.writeDocuments(at: upper, from: client, to: directory)
        let proofs = try await Self.proofs(period, earlier?.checkpoint, excerpt)
        if let earlier { try directory.write(earlier.note, to: "previous-checkpoint") }
        try directory.write(
            JSON.members([
                "since": .string(period.since.rfc3339), "until": .string(period.until.rfc3339),
                "origin": .string(checkpoint.origin.text), "keys": .array(trust.log.map { .string($0.text) }),
                "cosignatures": .array(verified.cosignatures.map { .string($0.key.text) }),
                "first_position": .integer(lower), "end_position": .integer(upper),
                "size": .integer(Int64(clamping: checkpoint.size)),
                "root": .string(Hex.encode(checkpoint.root.bytes)),
                "consistency": .array(proofs), "documents": .object(documents),
            ]).canonicalText + "\n", to: "report.json")
        try directory.write(
            AuditReportGuide(
                since: period.since, until: period.until, positions: period.positions, key: key,
                hasPrevious: earlier != nil, checkpoint: checkpoint
            ).text, to: "README.md")
        try directory.finish()
        return
            "\(upper - lower) event\(upper - lower == 1 ? "" : "s"), verified against the checkpoint of \(checkpoint.size) entries; documents as the server states them: \(documents.count)."
    }

    /// A signed checkpoint from a file.
    private static func checkpoint(_ file: String, _ trust: LogTrust) throws -> (note: [UInt8], checkpoint: Checkpoint)
    {
        let data = try GivenFile.data(file)
        do { return (Array(data), try trust.verify(checkpoint: Array(data)).checkpoint) } catch {
            throw CommandFailure("\(file) is not a checkpoint that verifies: \(error)", status: .usage)
        }
    }

    /// How many events there are before a time.
    private static func count(before time: String, _ client: APIClient) async throws -> Int64 {
        let page = try await client.get("/v1/history?until=\(APIClient.escaped(time))&limit=1")
        guard let last = page["events"]?.arrayValue?.first else { return 0 }
        guard let position = last["position"]?.integerValue, (0..<JSON.largestInteger).contains(position) else {
            throw CommandFailure("the server's history has no positions")
        }
        return position + 1
    }

    /// Writes the checkpoint's parts, for tools that know signatures and no notes.
    ///
    /// - Returns: The key whose signature that is.
    private static func write(
        _ note: [UInt8], signedBy keys: [NoteKey], to directory: ReportDirectory
    ) throws -> NoteKey {
        let signed = try SignedNote(note)
        for key in keys {
            guard let signature = signed.signature(of: key) else { continue }
            try directory.write(signed.text, to: "checkpoint.text")
            try directory.write(signature.bytes, to: "checkpoint.signature")
            let der = Base64.encode(key.publicKey.subjectPublicKeyInfo)
            try directory.write("-----BEGIN PUBLIC KEY-----\n\(der)\n-----END PUBLIC KEY-----\n", to: "log-key.pem")
            return key
        }
        throw CommandFailure("no known key signed the checkpoint", status: .notVerified)
    }

    /// Writes the period's events, and reads their neighbours: their times show that the server left none out.
    private static func writeEvents(
        of period: Period, from excerpt: LogExcerpt, to directory: ReportDirectory
    ) async throws {
        let positions = period.positions
        let size = excerpt.checkpoint.size
        try await directory.write(to: "events.ndjson") { append in
            guard size > 0 else { return }
            let width = Int64(Tile.fullWidth)
            let last = min(positions.upperBound, Int64(clamping: size) - 1)
            for index in UInt64(max(0, positions.lowerBound - 1) / width)...UInt64(last / width) {
                guard let bundle = Tile(.entries, index: index, of: size) else {
                    throw LogError.treeTooLarge(size: size)
                }
                let first = Int64(bundle.hashes.indices.lowerBound)
                for (place, bytes) in try await excerpt.entries(of: bundle).enumerated() {
                    let position = first + Int64(place)
                    guard (positions.lowerBound - 1...positions.upperBound).contains(position) else { continue }
                    try Self.check(bytes, at: position, of: period)
                    if positions.contains(position) { try append(bytes + [UInt8(ascii: "\n")]) }
                }
            }
        }
    }

    /// Checks that an event of the period lies in it, and one beside it does not.
    private static func check(_ bytes: [UInt8], at position: Int64, of period: Period) throws {
        let entry: Entry
        do { entry = try Entry(canonical: bytes) } catch {
            throw CommandFailure("the event at position \(position) cannot be read: \(error)", status: .notVerified)
        }
        let fits =
            position < period.positions.lowerBound
            ? entry.time < period.since
            : period.positions.contains(position)
                ? period.since <= entry.time && entry.time < period.until : period.until <= entry.time
        guard fits, entry.position == position else {
            throw CommandFailure(
                "the server says that the period has the events from position \(period.positions.lowerBound) up to \(period.positions.upperBound), and the event at position \(position) of \(LocalTime.text(entry.time)) does not fit that",
                advice: "Keep what the server answers: it leaves out events, or shows others.", status: .notVerified)
        }
    }

    /// Writes each app's document as it was then; the keys are the apps.
    private static func writeDocuments(
        at position: Int64, from client: APIClient, to directory: ReportDirectory
    ) async throws -> [String: JSON] {
        var documents: [String: JSON] = [:]
        var listed: Set<AppID> = []
        var path: String? = "/v1/apps?limit=1000"
        while let next = path {
            let page = try await client.get(next)
            for app in page["apps"]?.arrayValue ?? [] {
                guard let text = app["app"]?.stringValue, let id = try? AppID(text), listed.insert(id).inserted else {
                    throw CommandFailure("the server's list of apps has one without an id, or one twice")
                }
                let answer = try await client.send(
                    "GET", "/v1/apps/\(APIClient.escaped(id.text))/document/content?position=\(position)")
                // The app was made later.
                if answer.status == 404 { continue }
                try answer.check()
                try directory.write(answer.body, to: "documents/\(id).json")
                documents[id.text] = .members([
                    "version": try answer.json["version"], "content_sha256": .string(Hex.encode(sha256(answer.body))),
                ])
            }
            guard page["apps"]?.arrayValue?.isEmpty == false else { break }
            path = page["next_cursor"]?.stringValue.map { "/v1/apps?limit=1000&cursor=\(APIClient.escaped($0))" }
        }
        return documents
    }

    /// The roots at the period's ends and at an earlier checkpoint, each with the proof that the log goes on from there.
    private static func proofs(_ period: Period, _ earlier: Checkpoint?, _ excerpt: LogExcerpt) async throws -> [JSON] {
        if let earlier {
            guard earlier.size <= excerpt.checkpoint.size,
                try await excerpt.beginning(earlier.size)?.root ?? MerkleTree.emptyRoot == earlier.root
            else {
                throw CommandFailure(
                    "the log does not continue the earlier checkpoint of \(earlier.size) entries: history was rewritten or cut off",
                    advice: "Keep both checkpoints: they prove it.", status: .notVerified)
            }
        }
        let sizes = Set(
            [period.positions.lowerBound, period.positions.upperBound].map(UInt64.init)
                + (earlier.map { [$0.size] } ?? []))
        var proofs: [JSON] = []
        for size in sizes.sorted() {
            guard let (root, proof) = try await excerpt.beginning(size) else { continue }
            proofs.append([
                "old_size": .integer(Int64(clamping: size)), "old_root": .string(Hex.encode(root.bytes)),
                "hashes": .array(proof.hashes.map { .string(Base64.encode($0.bytes)) }),
            ])
        }
        return proofs
    }
}
