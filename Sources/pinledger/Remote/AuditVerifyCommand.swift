import ArgumentParser
import EventStore
import Foundation
import Keys
import PinWire
import Pinning
import TransparencyLog

/// Recomputes a log from a server or from a directory.
struct AuditVerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Verify every entry of the log, and list all damage.",
        discussion: """
            pinledger audit verify --key pins.example.com/log+f9b01114+AUKu9fG+jjWncmGh7nJ1lhs2uOn3zClkMeczf/z0Y/Xg
            pinledger audit verify /srv/log --key VKEY --previous checkpoint-2025

            Without a directory it reads the server's log; with one, a copy that `pinledger log export DIRECTORY` made or that was \
            fetched from a web server. It verifies the checkpoint, recomputes each hash and each tile up to the root, and \
            replays the events: whether each is canonical, stands at its position, is not older than the one before it, \
            has the next version of its stream, and belongs to a stream that exists. Approvals of people who have an approval key must be \
            signed with it.

            Keep each checkpoint, or each report (--output json), and give it to the next run (--previous): then history \
            that was rewritten or cut off since is found too.

            A long log is best exported first: an export that was interrupted goes on where it stopped.

            Exit codes: 0 no damage, 10 damage found or the checkpoint does not verify, 8 the server is not reachable or \
            refuses to serve an entry that it finds damaged, 5 no checkpoint, 4 token refused, 2 wrong usage.
            """)
    @Argument(help: "Directory with a copy of the log. Default: the server's log.") var directory: String?
    @OptionGroup var trusted: LogTrustOptions
    @Option(
        help: ArgumentHelp(
            "Earlier checkpoint, or report of `audit verify` or `fsck`, that the log must continue. Repeat it for several.",
            valueName: "file"))
    var previous: [String] = []
    @OptionGroup var remote: RemoteOptions

    func run() async throws {
        let trust = try self.trusted.trust()
        let earlier = try self.previous.map { try Self.earlier($0, trust) }
        if let directory = self.directory {
            try await self.verify(trust, earlier) { path, limit in
                let file = URL(fileURLWithPath: "\(directory)/\(path)").resolvingSymlinksInPath().path
                let size = try? FileManager.default.attributesOfItem(atPath: file)[.size] as? Int
                // Nothing that is longer has its form.
                if let size, size > limit { return [] }
                return FileManager.default.contents(atPath: file).map(Array.init)
            }
        } else {
            try await self.remote.withClient { client in
                try await self.verify(trust, earlier) { path, limit in
                    let answer = try await client.send("GET", "/log/\(path)", limit: max(limit, 65_536))
                    if answer.status == 404 { return nil }
                    try answer.check()
                    return answer.body
                }
            }
        }
    }

    private func verify(
        _ trust: LogTrust, _ earlier: [AuditReport],
        read: @escaping @Sendable (_ path: String, _ limit: Int) async throws -> [UInt8]?
    ) async throws {
        let began = ContinuousClock.now
        guard let note = try await read("checkpoint", SignedNote.maximumSize) else {
            throw CommandFailure(
                "there is no checkpoint",
                advice: self.directory == nil
                    ? "`pinledger log open NAME` opens a log."
                    : "Name the directory that `pinledger log export DIRECTORY` wrote.",
                status: .notFound)
        }
        let verified: LogTrust.Verified
        do { verified = try trust.verify(checkpoint: note) } catch {
            throw CommandFailure("the checkpoint does not verify: \(error)", status: .notVerified)
        }
        let checkpoint = verified.checkpoint
        let outcome: LedgerAuditor.Outcome
        let progress = ProgressLine("verified", "entries")
        defer { progress.end() }
        do {
            outcome = try await LogAuditor(approvals: .signatures) { try await read($0.path, $0.maximumByteCount) }.run(
                checkpoint, earlier: earlier
            ) { done in
                progress.note(Int64(clamping: done), of: Int64(clamping: checkpoint.size))
            }
            progress.end()
        } catch let error as LogError {
            throw CommandFailure("\(error)", status: .notVerified)
        }
        let seconds = Double((ContinuousClock.now - began) / .milliseconds(1)).rounded() / 1000
        self.show(verified, outcome, seconds: seconds)
        let findings = outcome.findings
        try outcome.checkLevel(findings)
        guard findings.isEmpty else {
            throw CommandFailure(
                "the log is damaged: \(findings.count) finding\(findings.count == 1 ? "" : "s")",
                advice: self.directory == nil
                    ? "Keep the checkpoint and what the log serves: they prove it. Operators find the cause with `pinledger fsck`."
                    : "Export the log into an empty directory and verify that: if it is sound, only this copy was altered.",
                status: .notVerified)
        }
    }

    private func show(_ verified: LogTrust.Verified, _ outcome: LedgerAuditor.Outcome, seconds: Double) {
        let checkpoint = verified.checkpoint
        guard self.remote.output.isTable else {
            let report: JSON = .members([
                "status": outcome.findings.isEmpty ? "clean" : "damaged",
                "origin": .string(checkpoint.origin.text),
                "position": .integer(outcome.position),
                "epoch": .integer(outcome.state.fleet.epoch),
                "events": .integer(outcome.events),
                "root": .string(Hex.encode(checkpoint.root.bytes)),
                "cosignatures": .array(verified.cosignatures.map { .string($0.key.name.text) }),
                "finding_count": .integer(Int64(outcome.findings.count)),
                "findings": .array(outcome.findings.kept.map(\.json)),
                "seconds": .number(seconds),
            ])
            return Console.print(report, self.remote.output)
        }
        outcome.findings.printTable()
        Console.print(
            """
            origin        \(checkpoint.origin)
            events        \(outcome.events)
            root          \(Hex.encode(checkpoint.root.bytes))
            epoch         \(outcome.state.fleet.epoch)
            cosigned by   \(verified.cosignatures.isEmpty ? "no known witness" : verified.cosignatures.map(\.key.name.text).joined(separator: ", "))
            findings      \(outcome.findings.count == 0 ? "none" : "\(outcome.findings.count)")
            seconds       \(seconds)
            """)
    }

    /// An earlier state from a file: a signed checkpoint or a report.
    private static func earlier(_ file: String, _ trust: LogTrust) throws -> AuditReport {
        let data = try GivenFile.data(file)
        do {
            if data.first == UInt8(ascii: "{") {
                return try AuditReport(try JSON(parsing: Array(data), limits: .report))
            }
            let checkpoint = try trust.verify(checkpoint: Array(data)).checkpoint
            guard let position = Int64(exactly: checkpoint.size) else {
                throw LogError.treeTooLarge(size: checkpoint.size)
            }
            return AuditReport(position: position, root: checkpoint.root, documents: [:])
        } catch {
            throw CommandFailure(
                "\(file) is neither a checkpoint that verifies nor a report: \(error)", status: .usage)
        }
    }
}

extension ApprovalVerifier {
    /// Verifies signatures in OpenSSH's format.
    static let signatures = ApprovalVerifier {
        Ed25519PublicKey($0)?.keyID
    } _: { signature, statement, publicKey in
        guard let parsed = try? SSHSignature(signature.bytes) else { return false }
        return parsed.publicKey.bytes == publicKey && parsed.verifies(statement, namespace: ApprovalSignature.namespace)
    }
}
