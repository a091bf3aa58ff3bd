import ArgumentParser
import Foundation
import Keys
import PinWire
import Publishing

struct DocumentCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "document", abstract: "Show and verify the signed documents that clients get.",
        subcommands: [Show.self, Versions.self, Prove.self, Verify.self]
    )

    /// The source of a document.
    struct Source: ParsableArguments {
        @Argument(help: "The app whose document to fetch.", completion: .apps) var app: String?
        @Option(help: "Read the document from this file; - for standard input.") var file: String?

        func read(_ remote: RemoteOptions) async throws -> String {
            guard self.app != nil || self.file != nil else {
                throw CommandFailure("name an app, or give --file", status: .usage)
            }
            return try await Self.read(app: self.app ?? "", file: self.file, remote)
        }

        /// The text of a file, or else of the document that a server has for an app.
        static func read(app: String, file: String?, _ remote: RemoteOptions) async throws -> String {
            if let file {
                let data = try GivenFile.data(file, takesInput: true)
                return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            }
            return try await remote.withClient { client in
                let answer = try await client.send("GET", "/client/v1/apps/\(APIClient.escaped(app))/document")
                try answer.check()
                return String(decoding: answer.body, as: UTF8.self)
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show what a document says, without verifying it.",
            discussion: """
                pinledger document show com.example.app
                pinledger document show --file document.jws
                pinledger document show com.example.app --at 2026-03-03T12:00:00Z

                With --at, --position or --event it shows the content that the ledger made of the document then: \
                everything but the signature and the times of issue. Its SHA-256 is the `content_sha256` of the \
                documents that clients were served.
                """
        )
        @OptionGroup var source: Source
        @OptionGroup var moment: MomentOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            if let query = try self.moment.query {
                guard let app = self.source.app, self.source.file == nil else {
                    throw CommandFailure("--at, --position and --event need an app, and no --file", status: .usage)
                }
                let path = "/v1/apps/\(APIClient.escaped(app))/document/content?\(query)"
                return try await self.remote.withClient { client in
                    let content = try await client.get(path)
                    Console.print(content, self.remote.output)
                }
            }
            let text = try await self.source.read(self.remote)
            let parts = text.split(separator: ".")
            guard parts.count == 3, let payload = Base64URL.decode(String(parts[1])) else {
                throw CommandFailure("this is not a compact JWS", status: .notVerified)
            }
            guard self.remote.output.isTable || self.remote.output == .json else {
                return Console.print(try JSON(parsing: payload), self.remote.output)
            }
            Console.write(payload + [UInt8(ascii: "\n")])
        }
    }

    struct Prove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "prove", abstract: "Prove that an app's present document is in the log: print a proof file.",
            discussion: """
                pinledger document prove com.example.app
                pinledger audit verify-proof document.tlog-proof --document document.jws --key VKEY

                The file (C2SP tlog-proof) needs no token, and shows nothing of other events.
                """)
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let path = "/client/v1/apps/\(APIClient.escaped(self.app))/document.tlog-proof"
                let answer = try await client.send("GET", path)
                try answer.check()
                Console.write(answer.body)
            }
        }
    }

    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify",
            abstract: "Verify a document: signature, form, content digest, app, freshness and version.",
            discussion: """
                pinledger document verify com.example.app --jwks trusted.json

                Without --jwks the keys come from the server, which proves less than keys you already have.

                The command remembers what it verified. Later it refuses an older version, and the same version with \
                other content. It also refuses a document issued more than \(IssuedDocument.clockSkew) s in the \
                future.
                """
        )
        @Argument(help: "The app whose document it is. It is fetched unless --file is given.") var app: String
        @Option(help: "Read the document from this file; - for standard input.") var file: String?
        @Option(help: "File with the trusted keys (JWKS).") var jwks: String?
        @Option(help: ArgumentHelp("The lowest version to accept.", valueName: "version")) var atLeast: Int64 = 0
        @Option(
            help: ArgumentHelp(
                "File that remembers what was verified. Default: pinledger/verified.json in XDG_STATE_HOME, or in ~/.local/state.",
                valueName: "file"))
        var state: String?
        @Flag(help: "Do not compare with what was verified before, and do not remember this document.") var noState =
            false
        @OptionGroup var remote: RemoteOptions

        func validate() throws {
            guard !self.noState || self.state == nil else {
                throw ValidationError("give --state or --no-state, not both")
            }
        }

        func run() async throws {
            let app: AppID
            do { app = try AppID(self.app) } catch { throw CommandFailure("\(error)", status: .usage) }
            let text = try await Source.read(app: self.app, file: self.file, self.remote)
            let keys = try await self.trustedKeys()
            let (issued, keyID) = try Self.read(text, trusting: keys)
            do throws(IssuedDocument.Refusal) {
                try issued.check(for: app, at: Node.clock(), atLeast: self.atLeast)
            } catch {
                throw CommandFailure(error.description, status: .notVerified)
            }
            if !self.noState { try await self.remember(issued, keyID, trusting: Set(keys.map(\.keyID))) }
            let payload = issued.document.payload(issuedAt: issued.issuedAt, expiresAt: issued.expiresAt)
            guard self.remote.output != .json else { return Console.write(payload + [UInt8(ascii: "\n")]) }
            guard self.remote.output.isTable else {
                return Console.print(try JSON(parsing: payload), self.remote.output)
            }
            Console.print(
                "The document verifies: \(app), version \(issued.document.version), signed by \(issued.document.issuer)."
            )
            Console.print("Issued \(issued.issuedAt), fresh until \(issued.expiresAt).")
        }

        private func trustedKeys() async throws -> [JWK] {
            let set: JSON
            if let file = self.jwks {
                let data = try GivenFile.data(file)
                do { set = try JSON(parsing: data) } catch {
                    throw CommandFailure("\(file) is not a key set (JWKS): \(error)")
                }
            } else {
                set = try await self.remote.withClient { try await $0.get("/client/v1/jwks.json") }
            }
            do { return try JWK.keys(ofSet: set) } catch {
                throw CommandFailure("the keys cannot be used: \(error)", status: .notVerified)
            }
        }

        private static func read(
            _ text: String, trusting keys: [JWK]
        ) throws -> (document: IssuedDocument, keyID: String) {
            do {
                let payload = try CompactJWS.verify(text, type: Publisher.documentType, trusting: keys)
                let keyID = try CompactJWS(parsing: text, type: Publisher.documentType).keyID
                return (try IssuedDocument(payload: payload), keyID)
            } catch {
                throw CommandFailure("the document does not verify: \(error)", status: .notVerified)
            }
        }

        /// Compares the document with earlier verified ones, and remembers it.
        private func remember(_ issued: IssuedDocument, _ keyID: String, trusting keys: Set<String>) async throws {
            guard let path = self.state ?? VerifiedDocuments.defaultPath else {
                throw CommandFailure(
                    "there is no home directory to store what was verified",
                    advice: "Name a file with --state, or give --no-state.")
            }
            let document = issued.document
            let digest = Hex.encode(document.evaluatedFrom ?? issued.contentDigest)
            var verified = try await VerifiedDocuments(path: path)
            if let newest = verified.newest(document.app, trusting: keys) {
                guard document.version >= newest.version else {
                    throw CommandFailure(
                        "the document has version \(document.version), and version \(newest.version) was verified before",
                        advice:
                            "The server or a cache serves an outdated document, or the ledger was restored from an older backup.",
                        status: .notVerified)
                }
                guard document.version > newest.version || digest == newest.contentDigest else {
                    throw CommandFailure(
                        "version \(document.version) was verified before with other content: \(newest.contentDigest), now \(digest)",
                        advice:
                            "Keep both documents: they prove that a key was misused or that the ledger was changed.",
                        status: .notVerified)
                }
            }
            try verified.remember(
                .init(app: document.app.text, keyID: keyID, version: document.version, contentDigest: digest))
        }
    }
}
