import ArgumentParser
import EventStore
import Foundation
import Keys
import PinWire
import Pinning
import Postgres
import PublicSuffixes
import Publishing
import Secrets

struct DoctorCommand: AsyncParsableCommand, JoinedArguments, HoldsKeys {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Check everything a server needs, and show how to fix what is wrong.",
        discussion: "pinledger doctor --database \"$DATABASE\" --kek-file kek"
    )
    /// How findings are shown.
    struct Report: ParsableArguments {
        @Option(name: [.short, .long], help: "Form of the output.") var output: OutputForm = .table
    }

    private(set) var options = NodeOptions()
    private(set) var directory = DataDirectory()
    private var report = Report()

    init() {}

    init(joining decoder: any Decoder) throws {
        self.options = try NodeOptions(from: decoder)
        self.directory = try DataDirectory(from: decoder)
        self.report = try Report(from: decoder)
    }

    var groups: [any ParsableArguments] { [self.options, self.directory, self.report] }

    /// The result of one check.
    struct Finding {
        enum Verdict: String {
            case ok
            case warn
            case fail
        }

        var subject: String
        var verdict: Verdict
        var detail: String
        var advice: String?
    }

    func run() async throws {
        let settings = try self.options.settings()
        try settings.check()
        let publicKeys = try NodeConfiguration.readBatchPublicKeys(settings.list(.batchPublicKey))
        var findings: [Finding] = []
        findings.append(self.publicSuffixes())
        let (key, keyFinding) = self.keyFile()
        findings.append(keyFinding)
        let (connection, finding) = await self.database()
        findings.append(finding)
        if let connection {
            let schema = await self.schema(connection)
            findings += schema
            if let key, !schema.contains(where: { $0.subject == "migrations" && $0.verdict == .fail }) {
                findings.append(await self.secrets(connection, key))
                findings.append(await self.ledgerEnd(connection, key))
            } else if key == nil, !publicKeys.isEmpty,
                !schema.contains(where: { $0.subject == "migrations" && $0.verdict == .fail })
            {
                findings.append(await self.signedEnd(connection, publicKeys.map(BatchVerifier.init)))
            }
            if !schema.contains(where: { $0.subject == "migrations" && $0.verdict == .fail }) {
                findings.append(await self.ledgerTime(connection))
                findings.append(await self.nodes(connection))
                findings.append(await self.access(connection))
                let verifiers =
                    try key?.keys.map { BatchVerifier(try $0.batchSigningKey().publicKey) }
                    ?? publicKeys.map(BatchVerifier.init)
                if let kept = await self.keptSnapshot(connection, key, verifiers) { findings.append(kept) }
            }
            findings.append(await self.clock(connection))
            findings.append(await self.durability(connection))
            if let collation = await self.collation(connection) { findings.append(collation) }
            if let witnesses = await self.witnesses(connection) { findings.append(witnesses) }
            await connection.close()
            if let memory = await self.memory(key) { findings.append(memory) }
        }
        findings += await self.server()
        self.show(findings)
        let failed = findings.filter { $0.verdict == .fail }.map(\.subject)
        if !failed.isEmpty {
            throw CommandFailure(
                "\(failed.count) check\(failed.count == 1 ? "" : "s") failed: \(failed.joined(separator: ", "))",
                advice: "See the lines marked fail.")
        }
    }

    /// The settings; nil where ``run()`` has refused them.
    var settings: Settings? { try? self.options.settings() }
    var isDevelopment: Bool { self.settings?.text(.database) == nil }
    var isReadOnly: Bool { (try? self.settings?.isOn(.readOnly)) ?? false }

    private func publicSuffixes() -> Finding {
        do {
            let list = try PublicSuffixList.load()
            return Finding(subject: "public suffix list", verdict: .ok, detail: list.provenance)
        } catch {
            return Finding(
                subject: "public suffix list", verdict: .fail, detail: ErrorText.sentence(for: error),
                advice: "apt-get install libpsl5 publicsuffix")
        }
    }

    private func keyFile() -> (KeyEncryptionKeys?, Finding) {
        let file =
            self.options.flags.values[.kekFile]?.first
            ?? (self.isDevelopment ? "\(self.directory.path)/key-encryption-key" : nil)
            ?? self.settings?.text(.kekFile)
        guard let file else {
            return (
                nil,
                Finding(
                    subject: "key-encryption key", verdict: self.isReadOnly ? .ok : .warn,
                    detail: "none is given: this node can serve, but not sign",
                    advice: self.isReadOnly
                        ? nil : "Give --kek-file or set PINLEDGER_KEK_FILE, unless the node is meant to be read-only."
                )
            )
        }
        do {
            let key = try NodeConfiguration.readKey(file)
            var detail = "\(file), id \(key.id)"
            let next = try self.settings?.text(.nextKekFile).map { file in
                let next = try NodeConfiguration.readKey(file)
                detail += "; next: \(file), id \(next.id)"
                return next
            }
            return (
                KeyEncryptionKeys(key, beside: next),
                Finding(subject: "key-encryption key", verdict: .ok, detail: detail)
            )
        } catch {
            let failure = error as? CommandFailure
            return (
                nil,
                Finding(
                    subject: "key-encryption key", verdict: .fail,
                    detail: failure?.message ?? ErrorText.sentence(for: error), advice: failure?.advice)
            )
        }
    }

    /// Whether the key-encryption key opens the sealed secrets: a node does not start with one that does not open the
    /// active signing key.
    private func secrets(_ connection: PostgresConnection, _ keyEncryptionKeys: KeyEncryptionKeys) async -> Finding {
        let subject = "sealed secrets"
        do {
            let (state, secrets) = try await connection.perform { @Sendable connection in
                (
                    try LedgerReader.signers(on: connection),
                    try StoredSecret.all(on: connection)
                )
            }
            let signers = state.signers
            let active = state.keys.activeKeyID
            if let active, !secrets.contains(where: { $0.kind == .signing && $0.id == active }) {
                return Finding(
                    subject: subject, verdict: .fail,
                    detail: "the private half of the signing key \(active) is not stored",
                    advice:
                        "Take the row of pinledger.signing_secret from a backup. See `pinledger handbook backup`, \"Lost keys\"."
                )
            }
            var unopened: [String] = []
            for secret in secrets {
                // A signing key that the ledger does not name was never used.
                if secret.kind == .signing, signers[secret.id] == nil { continue }
                do { try secret.check(with: keyEncryptionKeys[secret.keyEncryptionKeyID], signers: signers) } catch {
                    let text = "the \(secret.kind.noun) \(secret.id) cannot be opened: \(error)"
                    unopened.insert(text, at: secret.id == active ? 0 : unopened.count)
                }
            }
            guard let first = unopened.first else {
                return Finding(
                    subject: subject, verdict: .ok, detail: "\(secrets.count), and the key-encryption key opens them")
            }
            let more = unopened.count > 1 ? ", and \(unopened.count - 1) more" : ""
            return Finding(
                subject: subject, verdict: .fail, detail: first + more,
                advice:
                    "Give the key-encryption key that the secrets are sealed with. `pinledger key rewrap --next-kek-file FILE` changes it."
            )
        } catch let error as PostgresError where error.sqlState == "42501" {
            return Finding(
                subject: subject, verdict: .warn, detail: "this account may not read them",
                advice: "Grant the account the role pinledger_app, unless the node is read-only.")
        } catch {
            return Finding(
                subject: subject, verdict: .fail, detail: "\(error)",
                advice: "Run `pinledger fsck`: it lists all damage.")
        }
    }

    private func schema(_ connection: PostgresConnection) async -> [Finding] {
        var findings: [Finding] = []
        do {
            switch try await Migrator().status(on: connection) {
            case .pending(let migrations):
                return [
                    Finding(
                        subject: "migrations", verdict: .fail, detail: "\(migrations.count) pending",
                        advice: "Run `pinledger migrate`.")
                ]
            case .upToDate(let later):
                let more = later > 0 ? ", and \(later) of a later program that this one can work with" : ""
                findings.append(
                    Finding(
                        subject: "migrations", verdict: .ok, detail: "up to date (\(Migration.all.count))\(more)"))
            }
            let row = try await connection.query(
                """
                SELECT h.next_position, has_function_privilege('pinledger.lock_head()', 'EXECUTE'),
                       (SELECT count(*) FROM pg_inherits WHERE inhparent = 'pinledger.event'::regclass),
                       (SELECT count(*) FROM pinledger.pruned_partition),
                       (SELECT sum(end_position - first_position) FROM pinledger.pruned_partition)::bigint
                FROM pinledger.head h
                """
            ).only
            let position = try row.int64(0)
            let mayWrite = try row.bool(1)
            findings.append(
                Finding(
                    subject: "account", verdict: mayWrite || self.isReadOnly ? .ok : .warn,
                    detail: mayWrite ? "may write" : "may only read",
                    advice: mayWrite ? nil : "Grant the account the role pinledger_app, unless the node is read-only."
                )
            )
            let ahead = try row.int64(2) * 10_000_000 - position
            findings.append(
                Finding(
                    subject: "ledger", verdict: ahead > 1_000_000 ? .ok : .fail,
                    detail: "\(position) events, room for \(ahead) more in the existing partitions",
                    advice: ahead > 1_000_000
                        ? nil : "A running server creates partitions. By hand: SELECT pinledger.ensure_partitions()"
                )
            )
            if let pruned = try row.optionalInt64(4) {
                let partitions = try row.int64(3)
                findings.append(
                    Finding(
                        subject: "entries", verdict: .ok,
                        detail:
                            "\(partitions) partition\(partitions == 1 ? "" : "s") with \(pruned) events \(partitions == 1 ? "is" : "are") pruned: their entries are in entry bundles"
                    ))
            }
            return findings
        } catch {
            return [
                Finding(
                    subject: "migrations", verdict: .fail, detail: ErrorText.sentence(for: error),
                    advice: (error as? MigrationFailure)?.advice ?? "Run `pinledger migrate`.")
            ]
        }
    }

    /// The judgement on the ledger's last time, which is not to be in the future by the database's clock, the nodes' own.
    private func ledgerTime(_ connection: PostgresConnection) async -> Finding {
        let subject = "ledger's time"
        do {
            let row = try await connection.query(
                "SELECT last_time, clock_timestamp() FROM pinledger.head ORDER BY position_block DESC LIMIT 1"
            ).only
            var head = Head()
            head.lastTime = Timestamp(microseconds: try row.timestamp(0))
            guard head.isAhead(of: Timestamp(microseconds: try row.timestamp(1))) else {
                return Finding(subject: subject, verdict: .ok, detail: "the last event lies in the past")
            }
            return Finding(
                subject: subject, verdict: .warn,
                detail:
                    "the last event lies in the future, at \(head.lastTime): a clock was ahead when it was recorded",
                advice:
                    "Nodes decide with the present, and go on. Follow `pinledger handbook recovery`, \"After a clock that was ahead\"."
            )
        } catch {
            return Finding(subject: subject, verdict: .fail, detail: ErrorText.sentence(for: error))
        }
    }

    private func clock(_ connection: PostgresConnection) async -> Finding {
        do {
            let before = Node.clock()
            let server = try await connection.query("SELECT clock_timestamp()").only.timestamp(0)
            let middle = (before.microseconds + Node.clock().microseconds) / 2
            let offset = Double(abs(server - middle)) / 1_000_000
            let text = "\(Int((offset * 1000).rounded())) ms from the database's"
            switch offset {
            case ..<5: return Finding(subject: "clock", verdict: .ok, detail: text)
            case ..<60:
                return Finding(
                    subject: "clock", verdict: .warn, detail: text, advice: "Synchronize both clocks with NTP.")
            default:
                return Finding(
                    subject: "clock", verdict: .fail, detail: text,
                    advice:
                        "Synchronize both clocks with NTP. Otherwise documents are dated in the future or in the past.")
            }
        } catch {
            return Finding(subject: "clock", verdict: .fail, detail: ErrorText.sentence(for: error))
        }
    }

    /// Whether the ports are free, or taken by a healthy server of ours.
    private func server() async -> [Finding] {
        let settings = self.settings
        let isTLS = settings?.text(.tlsCertificate) != nil
        let scheme = isTLS ? "https" : "http"
        let context = try? ServerContext(path: "\(self.directory.path)/context.json")
        // Without an address in the settings, what `pinledger dev` serves is looked at.
        let isOfDirectory = settings?.isGiven(.listen) != true && !isTLS && context != nil
        let address = isOfDirectory ? nil : settings?.text(.listen)
        let url = address.map { Self.url(scheme, $0) } ?? context?.server ?? ""
        var findings = [await self.look(at: url, "server")]
        if let admin = settings?.text(.adminListen) {
            findings.append(await self.look(at: Self.url(scheme, admin), "operators' address"))
        }
        return findings
    }

    /// The address at which a server that listens is reached from this machine.
    private static func url(_ scheme: String, _ address: String) -> String {
        guard let listen = try? ListenAddress(address) else { return "\(scheme)://\(address)" }
        let host = ["0.0.0.0": "127.0.0.1", "::": "::1"][listen.host] ?? listen.host
        return "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(listen.port)"
    }

    private func look(at url: String, _ subject: String) async -> Finding {
        // The request holds no secret: any certificate is accepted, and no token is sent.
        var context = ServerContext(server: url, token: nil, trust: .anything)
        context.identity = try? ClientIdentity(certificateFile: nil, keyFile: nil)
        guard let result = try? await APIClient.with(context, { await $0.look("/readyz") }) else {
            return Finding(subject: subject, verdict: .fail, detail: "\(url) cannot be reached")
        }
        switch result {
        case .success(let answer):
            let json = try? answer.json
            guard let status = json?["status"]?.stringValue else {
                return Finding(
                    subject: subject, verdict: .fail, detail: "\(url) is another program",
                    advice: "Choose another port with --listen.")
            }
            let facts = ["serves", "serves_documents", "writes", "signs", "position", "apps", "documents"].compactMap {
                name in
                json?[name].map { _ in "\(name) \(json?.text(name) ?? "-")" }
            }
            return Finding(
                subject: subject, verdict: status == "ready" ? .ok : .fail,
                detail: "\(url) is \(status)" + (facts.isEmpty ? "" : ": \(facts.joined(separator: ", "))"),
                advice: status == "ready" ? nil : json?["fault"]?.stringValue
            )
        case .failure(let broken):
            switch broken.trouble {
            case .refused:
                return Finding(
                    subject: subject, verdict: .warn, detail: "no server runs at \(url); the port is free",
                    advice: "Start a server: `pinledger serve` or `pinledger dev`.")
            case .needsTLS:
                return Finding(
                    subject: subject, verdict: .fail, detail: "\(url) is taken by a program that speaks TLS",
                    advice: "If that is the server, give --tls-certificate here too; if not, choose another port.")
            case .noTLS:
                return Finding(
                    subject: subject, verdict: .fail, detail: "\(url) is taken by a program that does not speak TLS",
                    advice: "If that is the server, restart it with --tls-certificate; if not, choose another port.")
            default:
                return Finding(
                    subject: subject, verdict: .fail, detail: "\(url) is taken: \(broken.failure.message)",
                    advice: broken.failure.advice)
            }
        }
    }

    private func show(_ findings: [Finding]) {
        if !self.report.output.isTable {
            let json = JSON.array(
                findings.map { finding in
                    .members([
                        "subject": .string(finding.subject), "verdict": .string(finding.verdict.rawValue),
                        "detail": .string(finding.detail), "advice": finding.advice.map { .string($0) },
                    ])
                }
            )
            return Console.print(json, self.report.output)
        }
        var table = Table(["VERDICT", "WHAT", "FOUND"])
        for finding in findings { table.add([finding.verdict.rawValue, finding.subject, finding.detail]) }
        Console.print(table)
        for finding in findings { if let advice = finding.advice { Console.print("\(finding.subject): \(advice)") } }
    }
}
