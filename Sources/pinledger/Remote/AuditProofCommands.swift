import ArgumentParser
import Foundation
import Keys
import PinWire
import Pinning
import TransparencyLog

struct AuditCheckpointCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "checkpoint", abstract: "Print the signed checkpoint of the ledger as it is now.",
        discussion: "pinledger audit checkpoint")
    @OptionGroup var place: ServerOptions

    func run() async throws { try await self.place.write("/log/checkpoint") }
}

struct AuditProveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prove", abstract: "Print a proof file (tlog-proof) of one event, with the event in it.",
        discussion: """
            pinledger audit prove 4711

            With the file and the log's key, an auditor verifies the event without a server.
            """)
    @Argument(help: "The event's position in the ledger.") var position: Int64
    @OptionGroup var place: ServerOptions

    func run() async throws { try await self.place.write("/log/entries/\(self.position)/proof") }
}

extension ServerOptions {
    /// Writes what a path answers to standard output, byte for byte.
    fileprivate func write(_ path: String) async throws {
        try await self.withClient { client in
            let answer = try await client.send("GET", path)
            try answer.check()
            Console.write(answer.body)
        }
    }
}

struct AuditVerifyProofCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify-proof", abstract: "Verify a proof file without a server, and print the event in it.",
        discussion: """
            pinledger audit verify-proof 4711.tlog-proof --key pins.example.com/log+f9b01114+AUKu9fG+jjWncmGh7nJ1lhs2uOn3zClkMeczf/z0Y/Xg
            pinledger audit verify-proof document.tlog-proof --document document.jws --key pins.example.com/log+f9b01114+AUKu9fG+jjWncmGh7nJ1lhs2uOn3zClkMeczf/z0Y/Xg

            With --document, the event has to be the publication of this very document. `pinledger document verify APP` \
            verifies its signature.
            """
    )
    @Argument(help: "The proof file; - for standard input.") var file: String
    @Option(help: ArgumentHelp("The document whose publication is to be proved.", valueName: "file"))
    var document: String?
    @OptionGroup var trusted: LogTrustOptions

    func run() async throws {
        let trust = try self.trusted.trust()
        let data = try GivenFile.data(self.file, takesInput: true)
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
        Console.write(entry + [UInt8(ascii: "\n")])
    }

    /// Checks that an event is the publication of the document in a file.
    private static func check(_ entry: [UInt8], publishes path: String) throws {
        let data = try GivenFile.data(path)
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
