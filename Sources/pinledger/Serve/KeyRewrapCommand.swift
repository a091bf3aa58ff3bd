import ArgumentParser
import EventStore
import Keys
import Pinning
import Postgres
import Publishing
import Secrets

struct KeyRewrapCommand: AsyncParsableCommand, HoldsKeys {
    static let configuration = CommandConfiguration(
        commandName: "rewrap", abstract: "Change the key-encryption key that seals secrets in the database.",
        discussion: """
            pinledger key rewrap --kek-file kek --next-kek-file next-kek --dry-run

            Opens every sealed secret with the current key-encryption key, seals it with the next one, and checks that \
            the next one opens it: signing keys, deployed clients' keys, telemetry keys and webhook secrets. It also \
            changes what authenticates snapshots and the ledger's end. All of it is one transaction: everything \
            changes or nothing.

            Give the nodes both keys before (--next-kek-file), and those without a key the next one's public half \
            (`pinledger key batch-public-key`): then no change is refused. A node that has the former key alone serves, \
            and records nothing from then on. Run this command again afterwards: it finds what a node sealed with the \
            former key meanwhile. The keys themselves stay, so nothing changes for clients. Older backups need the former \
            key: keep it as long as you keep them. `pinledger handbook deployment` has all steps.

            Needs an account with the role pinledger_app. Where events are pruned, use one that may migrate, or run \
            `pinledger bundles prune DIRECTORY` with the new key afterwards: it keeps the snapshot that nodes need.
            """
    )

    @Option(help: ArgumentHelp("Connection string of the database. [env: PINLEDGER_DATABASE]", valueName: "conninfo"))
    var database: String?
    @Option(
        help: ArgumentHelp("File with the current key-encryption key. [env: PINLEDGER_KEK_FILE]", valueName: "file"))
    var kekFile: String?
    @Option(
        help: ArgumentHelp(
            "File with the next key (`openssl rand -base64 32`), mode 0600. [env: PINLEDGER_NEXT_KEK_FILE]",
            valueName: "file"))
    var nextKekFile: String?
    @OptionGroup var file: SettingsFileOption
    @Flag(help: "Do everything, then roll it back.") var dryRun = false

    /// Ends the transaction of a dry run.
    private struct Rehearsed: Error, CustomStringConvertible {
        let done: Done
        var description: String { "nothing was changed, since this was a dry run" }
    }

    private struct Done: Sendable {
        var secrets: SecretRewrap.Outcome
        var snapshots: SnapshotStore.Retagged
        var end: EndRewrap.Outcome
    }

    func run() async throws {
        let (database, file) = (try self.file.database(self.database), try self.file.kekFile(self.kekFile))
        guard let nextFile = try self.file.text(.nextKekFile, self.nextKekFile) else {
            throw CommandFailure(
                "no next key-encryption key is given",
                advice: "Give --next-kek-file, set PINLEDGER_NEXT_KEK_FILE or name it in --config.", status: .usage)
        }
        let (old, new) = (try NodeConfiguration.readKey(file), try NodeConfiguration.readKey(nextFile))
        let done: Done
        do {
            done = try await self.rewrap(database, from: old, to: new)
        } catch let rehearsed as Rehearsed {
            done = rehearsed.done
        } catch let failure as SecretRewrap.Failure {
            throw CommandFailure(
                "nothing was changed: \(failure)", advice: "Run `pinledger doctor`: it shows which secrets a key opens."
            )
        } catch let fault as LedgerFault where fault.meansUpgrade {
            throw CommandFailure("nothing was changed: \(fault)", advice: "Use the program that the nodes run.")
        } catch let fault as LedgerFault {
            throw CommandFailure(
                "nothing was changed: \(fault)", advice: "Run `pinledger fsck`: it lists all damage.",
                status: .notVerified)
        } catch let error as PostgresError where error.sqlState == "42883" || error.sqlState == "42P01" {
            throw CommandFailure(
                "nothing was changed: the database is not migrated", advice: "Run `pinledger migrate`.")
        } catch let error as PostgresError {
            let unreachable = error.code == .connectionFailed
            let unknown = error.code == .outcomeUnknown
            throw CommandFailure(
                unknown ? "it is not known whether the key was changed: \(error)" : "nothing was changed: \(error)",
                advice: unknown ? "Run the command again: it leaves what the new key already seals." : nil,
                status: unreachable ? .unreachable : .failure)
        }
        self.show(done, from: old, to: new)
    }

    private func rewrap(
        _ database: String, from old: KeyEncryptionKey, to new: KeyEncryptionKey
    ) async throws -> Done {
        let connection = try await PostgresConnection.connect(
            PostgresConfiguration(
                connectionString: database, applicationName: "pinledger key rewrap", statementTimeout: .seconds(60),
                lockTimeout: .seconds(10), preferredServer: .readWrite))
        let isRehearsal = self.dryRun
        let (oldBatch, newBatch) = (try BatchKey(old), try BatchKey(new))
        let (oldSnapshot, newSnapshot) = (try SnapshotKey(old), try SnapshotKey(new))
        do {
            // A later program may seal what this one does not know, and would not rewrap.
            if case .upToDate(let later) = try await Migrator().status(on: connection), later > 0 {
                throw CommandFailure(
                    "nothing was changed: the database has migrations of a later program",
                    advice: "Use the program that the nodes run.")
            }
            let done = try await connection.transaction { @Sendable connection in
                let level = try LedgerReader.featureLevel(on: connection)
                guard level <= FeatureLevel.known else {
                    throw CommandFailure(
                        "nothing was changed: the ledger is at the feature level \(level), which this program does not know",
                        advice: "Use the program that the nodes run.")
                }
                let rewrap = try SecretRewrap(
                    from: old, to: new, signers: try LedgerReader.signers(on: connection).signers)
                let done = Done(
                    secrets: try rewrap.run(on: connection),
                    snapshots: try SnapshotStore.retag(
                        from: oldSnapshot, to: newSnapshot, on: connection),
                    // Last, because no node appends from here to the commit.
                    end: try EndRewrap.run(from: oldBatch, to: newBatch, on: connection))
                if isRehearsal { throw Rehearsed(done: done) }
                return done
            }
            await connection.close()
            return done
        } catch {
            await connection.close()
            throw error
        }
    }

    private func show(_ done: Done, from old: KeyEncryptionKey, to new: KeyEncryptionKey) {
        var table = Table(["SEALED", "REWRAPPED", "ALREADY WITH THE NEW KEY"])
        for kind in StoredSecret.Kind.allCases {
            table.add([
                "\(kind.noun)s", "\(done.secrets.rewrapped[kind] ?? 0)", "\(done.secrets.left[kind] ?? 0)",
            ])
        }
        table.add(["snapshots", "\(done.snapshots.count)", "-"])
        table.add([
            "the ledger's end", done.end == .rewrapped ? "1" : "0", done.end == .left ? "1" : "0",
        ])
        Console.print(table)
        for id in done.secrets.unnamed {
            Console.print("left: the signing key \(id), which the ledger does not name; nothing is signed with it")
        }
        if done.snapshots.left > 0 {
            Console.print(
                "left: what is kept of the snapshot that nodes need where events are pruned; run `pinledger bundles prune DIRECTORY` with the new key, as an account that may migrate"
            )
        }
        let count =
            done.secrets.rewrapped.values.reduce(0, +) + done.snapshots.count + (done.end == .rewrapped ? 1 : 0)
        if self.dryRun {
            Console.print("dry run: nothing was changed; everything opens with \(old.id) and would open with \(new.id)")
        } else if count == 0 {
            Console.print("nothing to do: everything is sealed with \(new.id)")
        } else {
            Console.print(
                """
                the key-encryption key is \(new.id) instead of \(old.id)
                Nodes that have both keys record on. One that has the former key alone serves, and records nothing until it is started \
                with the new one. Run this command again, and record any change: that signs the ledger's end for nodes without the key. \
                Then give each node the new key as its kek_file. Keep the former key as long as you keep backups sealed with it.
                """)
        }
    }
}
