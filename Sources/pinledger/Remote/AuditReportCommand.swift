import ArgumentParser
import EventStore
import Foundation
import Keys
import PinWire
import TransparencyLog

/// Writes what a reviewer needs of a period into one directory.
struct AuditReportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Export a period's events, their proofs and the documents for reviewers.",
        discussion: """
            pinledger audit report 2026-q3 --since 2026-07-01 --until 2026-10-01 --key VKEY --previous checkpoint-2026-q2

            The directory holds the events, each as it was recorded, the part of the log that proves them against its \
            checkpoint, each app's document at the end of the period, and README.md with the commands by which a reviewer \
            verifies all of it with other programs than this one. This command verifies it too, and stops at any mismatch.

            Keep the report's log/checkpoint for --previous of the next one: then each report proves that the periods before it \
            were not altered.
            """)
    @Argument(help: "The directory, which is made. It may be there if it is empty.") var directory: String
    @Option(help: "Beginning of the period: 2026-07-01, 2026-07-01T00:00:00Z or 90d (ago).") var since: String
    @Option(help: "End of the period, which is not part of it, written like --since. Default: now.") var until: String?
    @OptionGroup var trusted: LogCommands.TrustOptions
    @Option(help: ArgumentHelp("Checkpoint that the log must continue.", valueName: "file")) var previous: String?
    @OptionGroup var remote: RemoteOptions

    /// The period: its times, and the positions of its events.
    private struct Period {
        var since: String
        var until: String
        var positions: Range<Int64>
    }

    func run() async throws {
        let trust = try self.trusted.trust()
        let since = try TimeInput.rfc3339(self.since, .back)
        let until = try TimeInput.rfc3339(self.until ?? "now", .back)
        guard let begin = Timestamp(rfc3339: since), let end = Timestamp(rfc3339: until), begin < end else {
            throw CommandFailure("--until must be later than --since", status: .usage)
        }
        let earlier = try self.previous.map { try Self.checkpoint($0, trust) }
        let directory = try ReportDirectory(self.directory)
        try await self.remote.withClient { client in
            let positions =
                try await Self.count(
                    before: since, client)..<max(
                    Self.count(before: since, client), Self.count(before: until, client))
            let period = Period(since: since, until: until, positions: positions)
            let answer = try await client.send("GET", "/log/checkpoint")
            try answer.check()
            let verified: LogTrust.Verified
            do { verified = try trust.verify(checkpoint: answer.body) } catch {
                throw CommandFailure("the checkpoint does not verify: \(error)", status: .notVerified)
            }
            guard positions.upperBound <= Int64(clamping: verified.checkpoint.size) else {
                throw CommandFailure(
                    "the newest checkpoint covers \(verified.checkpoint.size) events, and the period ends behind \(positions.upperBound)",
                    advice: "Repeat the command once witnesses have cosigned: `pinledger log witness list`.",
                    status: .conflict)
            }
            let excerpt = try LogExcerpt(
                verified.checkpoint, note: answer.body, in: directory, from: client)
            try Self.write(answer.body, signedBy: trust.log, to: directory)
            try await Self.writeEvents(of: period, from: excerpt, to: directory)
            let documents = try await Self.writeDocuments(at: positions.upperBound, from: client, to: directory)
            let sizes = try await Self.proofs(period, earlier?.checkpoint, excerpt)
            if let earlier { try directory.write(earlier.note, to: "previous-checkpoint") }
            try directory.write(
                JSON.members([
                    "since": .string(since), "until": .string(until),
                    "origin": .string(verified.checkpoint.origin.text),
                    "keys": .array(trust.log.map { .string($0.text) }),
                    "cosignatures": .array(verified.cosignatures.map { .string($0.key.text) }),
                    "first_position": .integer(positions.lowerBound), "end_position": .integer(positions.upperBound),
                    "size": .integer(Int64(verified.checkpoint.size)),
                    "root": .string(Hex.encode(verified.checkpoint.root.bytes)),
                    "consistency": .array(sizes), "documents": .object(documents),
                ]).canonicalText + "\n", to: "report.json")
            try directory.write(
                AuditReportGuide(
                    since: since, until: until, positions: positions, key: trust.log[0],
                    hasPrevious: earlier != nil, checkpoint: verified.checkpoint
                ).text, to: "README.md")
            try directory.finish()
            Console.print(
                "Wrote \(positions.count) events and \(documents.count) documents to \(self.directory), verified against the checkpoint of \(verified.checkpoint.size) entries. README.md says how to verify them without this program."
            )
        }
    }

    /// A signed checkpoint from a file.
    private static func checkpoint(_ file: String, _ trust: LogTrust) throws -> (note: [UInt8], checkpoint: Checkpoint)
    {
        guard let data = FileManager.default.contents(atPath: file) else {
            throw CommandFailure("\(file) cannot be read", status: .usage)
        }
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

    /// The checkpoint's parts, for tools that know signatures and no notes.
    private static func write(
        _ note: [UInt8], signedBy keys: [NoteKey], to directory: ReportDirectory
    ) throws {
        guard let signed = try? SignedNote(note), let key = keys.first(where: { signed.signature(of: $0) != nil }),
            let signature = signed.signature(of: key)
        else { return }
        try directory.write(signed.text, to: "checkpoint.text")
        try directory.write(signature.bytes, to: "checkpoint.signature")
        let der = Base64.encode(key.publicKey.subjectPublicKeyInfo)
        try directory.write("-----BEGIN PUBLIC KEY-----\n\(der)\n-----END PUBLIC KEY-----\n", to: "log-key.pem")
    }

    private static func writeEvents(
        of period: Period, from excerpt: LogExcerpt, to directory: ReportDirectory
    ) async throws {
        let positions = period.positions
        try await directory.write(to: "events.ndjson") { append in
            guard !positions.isEmpty else { return }
            let width = Int64(Tile.fullWidth)
            let size = excerpt.checkpoint.size
            let full = Tile.fullCount(level: 0, treeSize: size)
            for index in UInt64(positions.lowerBound / width)...UInt64((positions.upperBound - 1) / width) {
                let partial = Tile.partialWidth(level: 0, treeSize: size)
                guard let bundle = Tile(.entries, index: index, width: index < full ? Tile.fullWidth : partial) else {
                    throw LogError.treeTooLarge(size: size)
                }
                let first = Int64(bundle.hashes.indices.lowerBound)
                for (place, entry) in try await excerpt.entries(of: bundle).enumerated()
                where positions.contains(first + Int64(place)) {
                    try append(entry + [UInt8(ascii: "\n")])
                }
            }
        }
    }

    /// Writes each app's document as it was then; the keys are the apps.
    private static func writeDocuments(
        at position: Int64, from client: APIClient, to directory: ReportDirectory
    ) async throws -> [String: JSON] {
        var documents: [String: JSON] = [:]
        var path: String? = "/v1/apps?limit=1000"
        while let next = path {
            let page = try await client.get(next)
            for app in page["apps"]?.arrayValue ?? [] {
                guard let text = app["app"]?.stringValue, let id = try? AppID(text) else {
                    throw CommandFailure("the server's list of apps has one without an id")
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
            path = page["next_cursor"]?.stringValue.map { "/v1/apps?limit=1000&cursor=\($0)" }
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
                "old_size": .integer(Int64(size)), "old_root": .string(Hex.encode(root.bytes)),
                "hashes": .array(proof.hashes.map { .string(Base64.encode($0.bytes)) }),
            ])
        }
        return proofs
    }
}
