import ArgumentParser
import Foundation
import Keys
import PinWire
import Publishing

struct DocumentCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "document", abstract: "The signed documents that clients get.",
        subcommands: [Show.self, Verify.self]
    )

    /// Where a document comes from.
    struct Source: ParsableArguments {
        @Argument(help: "The app whose document is fetched.") var app: String?
        @Option(help: "A file with the document instead, - for standard input.") var file: String?

        func read(_ remote: RemoteOptions) async throws -> String {
            if let file = self.file {
                let data =
                    file == "-"
                    ? FileHandle.standardInput.readDataToEndOfFile() : FileManager.default.contents(atPath: file)
                guard let data else { throw CommandFailure("\(file) cannot be read") }
                return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            }
            guard let app = self.app else { throw CommandFailure("name an app, or give --file", status: .usage) }
            return try await remote.withClient { client in
                let answer = try await client.send("GET", "/client/v1/apps/\(APIClient.escaped(app))/document")
                try answer.check()
                return String(decoding: answer.body, as: UTF8.self)
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Shows what a document says, without verifying it.")
        @OptionGroup var source: Source
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let text = try await self.source.read(self.remote)
            let parts = text.split(separator: ".")
            guard parts.count == 3, let payload = Base64URL.decode(String(parts[1])) else {
                throw CommandFailure("this is not a compact JWS", status: .notVerified)
            }
            Console.print(String(decoding: payload, as: UTF8.self))
        }
    }

    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Verifies a document: signature, content digest, app and freshness.",
            discussion:
                "Without --jwks the keys are fetched from the server, which proves less than keys you already have."
        )
        @OptionGroup var source: Source
        @Option(help: "File with the trusted keys (JWKS).") var jwks: String?
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let text = try await self.source.read(self.remote)
            let set: JSON
            if let file = self.jwks {
                guard let data = FileManager.default.contents(atPath: file) else {
                    throw CommandFailure("\(file) cannot be read")
                }
                set = try JSON(parsing: data)
            } else {
                set = try await self.remote.withClient { try await $0.get("/client/v1/jwks.json") }
            }
            let payload: JSON
            do {
                let keys = try JWK.keys(ofSet: set)
                payload = try JSON(parsing: try CompactJWS.verify(text, type: Publisher.documentType, trusting: keys))
            } catch {
                throw CommandFailure("the document does not verify: \(error)", status: .notVerified)
            }
            try self.check(payload)
            if self.remote.output == .json { return Console.print(payload.canonicalText) }
            Console.print(
                "The document verifies: \(payload.text("aud")), version \(payload.text("version")), signed by \(payload.text("iss"))."
            )
            let expiry = Timestamp(seconds: payload["exp"]?.integerValue ?? 0)
            Console.print("Issued \(Timestamp(seconds: payload["iat"]?.integerValue ?? 0)), fresh until \(expiry).")
        }

        private func check(_ payload: JSON) throws {
            guard var members = payload.objectValue else {
                throw CommandFailure("the payload is no object", status: .notVerified)
            }
            let stated = members.removeValue(forKey: "content_sha256")?.stringValue
            members["iat"] = nil
            members["exp"] = nil
            guard stated == Hex.encode(sha256(JSON.object(members).canonicalBytes)) else {
                throw CommandFailure("content_sha256 is not the digest of the content", status: .notVerified)
            }
            if let app = self.source.app, payload["aud"]?.stringValue != app {
                throw CommandFailure("the document is for \(payload.text("aud")), not for \(app)", status: .notVerified)
            }
            guard let expiry = payload["exp"]?.integerValue, Node.clock().seconds < expiry else {
                throw CommandFailure("the document is no longer fresh", status: .notVerified)
            }
        }
    }
}
