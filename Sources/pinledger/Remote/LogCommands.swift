import ArgumentParser
import Foundation
import Keys
import PinWire
import Pinning
import TransparencyLog

struct LogCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log", abstract: "Manage the transparency log, which proves to outsiders what the ledger holds.",
        discussion: """
            The ledger is a transparency log (C2SP tlog-tiles): each event is a leaf of a Merkle tree, and a signed \
            checkpoint states the tree's size and root. An event that is altered or left out later fits no earlier \
            checkpoint. `pinledger handbook transparency-log` says how auditors use it.
            """,
        subcommands: [
            Show.self, Open.self, Update.self, Checkpoint.self, Prove.self, Verify.self, LogExportCommand.self,
            Key.self,
            LogWitnessCommands.self, LogPolicyCommand.self,
        ]
    )

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the log's name and the keys of its checkpoints.", discussion: "pinledger log show")
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let log = try await client.get("/v1/log")
                if self.remote.output == .table {
                    guard let origin = log["origin"]?.stringValue else {
                        return Console.print("The log is not open: `pinledger log open NAME` opens it.")
                    }
                    Console.print("Origin: \(origin)")
                    Console.print("Readers: \(log["public"] == true ? "everyone" : "who has a token")")
                    Console.print("Published documents are recorded: \(log["document_proofs"] == true ? "yes" : "no")")
                    for earlier in log["earlier"]?.arrayValue ?? [] {
                        Console.print(
                            "Earlier: \(earlier.text("origin")), known up to size \(earlier.text("size")) with root \(earlier.text("root"))"
                        )
                    }
                }
                ListReport.print(log, "keys", self.remote.output, ["VKEY", "KID", "CREATED", "RETIRED"]) {
                    [$0.text("vkey"), $0.text("kid"), $0.text("created_at"), $0.text("retired_at")]
                }
            }
        }
    }

    struct Open: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Open the log: name it, and make the key of its checkpoints.",
            discussion: """
                pinledger log open pins.example.com/log --reason "audit"

                The name changes only after a loss of events. Use the address under which auditors reach the log, without https:// and \
                without a slash at the end.
                """)
        @Argument(help: "The log's name (C2SP: origin).") var origin: String
        @OptionGroup var direct: DirectChangeOptions
        var change: ChangeOptions { self.direct.options }
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change("POST", "/v1/log", ["origin": .string(self.origin)], self.change)
        }
    }

    struct Update: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change who may read the log, and whether documents are recorded in it.",
            discussion: """
                pinledger log update --document-proofs
                pinledger log update --public --reason "published with our transparency report"

                With --public, everyone may read all events, with the names and reasons in them. Proofs of documents need no \
                public log: such a proof shows nothing but the app, the version and the digest of its document.
                """)
        @Flag(
            name: .customLong("public"), inversion: .prefixedNo,
            help: "Let everyone read the log, or only who has a token.")
        var isPublic: Bool?
        @Flag(inversion: .prefixedNo, help: "Record each published document, so that there is a proof of it.")
        var documentProofs: Bool?
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let members: JSON = .members([
                "public": self.isPublic.map { .bool($0) }, "document_proofs": self.documentProofs.map { .bool($0) },
            ])
            guard let members = members.objectValue, !members.isEmpty else {
                throw CommandFailure(
                    "no setting is given", advice: "Give --public or --document-proofs, or their opposites.",
                    status: .usage)
            }
            try await self.remote.change("PATCH", "/v1/log", members, self.change)
        }
    }

    struct Checkpoint: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the signed checkpoint of the ledger as it is now.",
            discussion: "pinledger log checkpoint")
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let answer = try await client.send("GET", "/log/checkpoint")
                try answer.check()
                Console.write(answer.body)
            }
        }
    }

    struct Prove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print a proof file (tlog-proof) of one event, with the event in it.",
            discussion: """
                pinledger log prove 4711

                With the file and the log's key, an auditor verifies the event without a server.
                """)
        @Argument(help: "The event's position in the ledger.") var position: Int64
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let answer = try await client.send("GET", "/log/entries/\(self.position)/proof")
                try answer.check()
                Console.write(answer.body)
            }
        }
    }

    /// What to believe of a log, for commands that verify.
    struct TrustOptions: ParsableArguments {
        @Option(help: ArgumentHelp("A key of the log (C2SP vkey). Repeat it for several.", valueName: "vkey"))
        var key: [String] = []
        @Option(help: ArgumentHelp("A key of a witness (C2SP vkey). Repeat it for several.", valueName: "vkey"))
        var witness: [String] = []
        @Option(help: ArgumentHelp("How many of the witnesses have to have cosigned.", valueName: "count"))
        var quorum = 0

        func trust() throws -> LogTrust {
            func parsed(_ text: String) throws -> NoteKey {
                guard let key = NoteKey(text: text) else {
                    throw CommandFailure(
                        "\(text) is not a vkey", advice: "`pinledger log show` prints the log's.", status: .usage)
                }
                return key
            }
            let (keys, witnesses) = (try self.key.map(parsed), try self.witness.map(parsed))
            guard let trust = LogTrust(log: keys, witnesses: witnesses, quorum: self.quorum) else {
                throw CommandFailure(
                    "these keys do not make a log and its witnesses",
                    advice:
                        "Give --key once or more, all of one log, and at least as many different witnesses as --quorum.",
                    status: .usage)
            }
            return trust
        }
    }

    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Verify a proof file without a server, and print the event in it.",
            discussion: """
                pinledger log verify 4711.tlog-proof --key pins.example.com/log+f9b01114+AUKu9fG+jjWncmGh7nJ1lhs2uOn3zClkMeczf/z0Y/Xg
                pinledger log verify document.tlog-proof --document document.jws --key pins.example.com/log+f9b01114+AUKu9fG+jjWncmGh7nJ1lhs2uOn3zClkMeczf/z0Y/Xg

                With --document, the event has to be the publication of this very document. `pinledger document verify APP` \
                verifies its signature.
                """
        )
        @Argument(help: "The proof file; - for standard input.") var file: String
        @Option(help: ArgumentHelp("The document whose publication is to be proved.", valueName: "file"))
        var document: String?
        @OptionGroup var trusted: TrustOptions

        func run() async throws {
            let trust = try self.trusted.trust()
            let data =
                self.file == "-"
                ? FileHandle.standardInput.readDataToEndOfFile() : FileManager.default.contents(atPath: self.file)
            guard let data else { throw CommandFailure("\(self.file) cannot be read") }
            let entry: [UInt8]
            let verified: LogTrust.Verified
            do {
                let proof = try LogProof(Array(data))
                guard let extra = proof.extra else {
                    throw CommandFailure("the proof file has no event in it", status: .notVerified)
                }
                entry = extra
                verified = try trust.verify(proof, leaf: MerkleTree.leafHash(entry))
            } catch let failure as CommandFailure {
                throw failure
            } catch {
                throw CommandFailure("the proof does not verify: \(error)", status: .notVerified)
            }
            let checkpoint = verified.checkpoint
            if let document { try Self.check(entry, publishes: document) }
            Console.error(
                "The event is in the log \(checkpoint.origin) of \(checkpoint.size) entries, cosigned by \(verified.cosignatures.count) of the known witnesses."
            )
            Console.print(String(decoding: entry, as: UTF8.self))
        }

        /// Checks that an event is the publication of the document in a file.
        private static func check(_ entry: [UInt8], publishes path: String) throws {
            guard let data = FileManager.default.contents(atPath: path) else {
                throw CommandFailure("\(path) cannot be read")
            }
            let parts = data.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            guard parts.count == 3, let text = String(ascii: Array(parts[1])), let payload = Base64URL.decode(text),
                let issued = try? IssuedDocument(payload: payload)
            else { throw CommandFailure("\(path) holds no document", status: .notVerified) }
            let publication = Publication(version: issued.document.version, contentDigest: issued.contentDigest)
            guard let event = try? Entry(bytes: entry), event.stream == .watch(issued.document.app),
                event.event == .watch(.documentPublished(publication))
            else {
                throw CommandFailure(
                    "the event in the proof is not the publication of version \(publication.version) of \(issued.document.app)'s document with this content",
                    advice: "Fetch the document and its proof again: a newer version may have come between the two.",
                    status: .notVerified)
            }
        }
    }

    struct Key: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "key", abstract: "Manage the keys of the log's checkpoints.",
            discussion: """
                To change the key: `log key add` makes a second one, and checkpoints have a signature of both. When all \
                auditors know the new one, `log key retire` removes the old one. The log keeps its name.
                """,
            subcommands: [Add.self, Retire.self])

        struct Add: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Add a key: checkpoints have its signature too from now on.",
                discussion: "pinledger log key add --reason \"yearly rotation\"")
            @OptionGroup var direct: DirectChangeOptions
            var change: ChangeOptions { self.direct.options }
            @OptionGroup var remote: RemoteOptions

            func run() async throws { try await self.remote.change("POST", "/v1/log/keys", self.change) }
        }

        struct Retire: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                abstract: "Retire a key: it signs no more checkpoints, and its private half is erased.",
                discussion: "pinledger log key retire 8Jx1V0mYwq3tQ5sE")
            @Argument(help: "The key's id (kid).") var kid: KeyIDArgument
            @OptionGroup var change: ChangeOptions
            @OptionGroup var remote: RemoteOptions

            func run() async throws {
                try await self.remote.change(
                    "POST", "/v1/log/keys/\(APIClient.escaped(self.kid.text))/retire", self.change)
            }
        }
    }
}
