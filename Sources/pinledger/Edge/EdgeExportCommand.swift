import ArgumentParser
import Edge
import Foundation
import NIOCore
import PinWire
import Publishing

/// Writes an upstream's documents to a directory that any web server can serve.
struct EdgeExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Export all documents, verified, and the key set to a directory that any web server can serve.",
        discussion: """
            pinledger edge export /srv/pins --upstream https://pins.example.com --upstream-token-file token \
            --trusted-keys keys.json

            The files have the paths at which clients ask. Repeat the command to bring them up to date: a file is \
            replaced as a whole, and never by an older document. `pinledger log export DIRECTORY` writes the log.
            """)

    @Argument(help: "The directory. It is made if it is missing.") var directory: String
    @OptionGroup var file: SettingsFileOption
    @OptionGroup var options: UpstreamOptions

    func run() async throws {
        let settings = try self.file.settings(of: .edge)
        let keys = try self.options.keys(settings)
        let upstream = try self.options.address(settings).open()
        let outcome = await self.export(from: upstream, keys)
        await upstream.close()
        try outcome.get()
    }

    /// Documents that are fetched at a time.
    private static let parallel = 8

    private func export(from upstream: Upstream, _ keys: TrustedKeys) async -> Result<Void, any Error> {
        do {
            guard let list = try await upstream.list(ifNoneMatch: nil) else { return .success(()) }
            // Before the documents: a client that gets a new one finds its key.
            try self.write(Array(keys.body.identity.bytes.readableBytesView), to: "client/v1/jwks.json")
            var (written, failures) = (0, [String]())
            try await withThrowingTaskGroup(of: (AppID, Outcome).self) { group in
                var rest = list.entries[...]
                func begin() {
                    guard let entry = rest.popFirst() else { return }
                    group.addTask { (entry.app, try await self.export(entry, from: upstream, keys)) }
                }
                for _ in 0..<Self.parallel { begin() }
                while let (app, outcome) = try await group.next() {
                    switch outcome {
                    case .written: written += 1
                    case .present: break
                    case .failed(let reason): failures.append("\(app): \(reason)")
                    }
                    begin()
                }
            }
            guard failures.isEmpty else {
                let reasons = failures.sorted().joined(separator: "\n  ")
                throw CommandFailure(
                    "\(failures.count) of \(list.entries.count) documents were not written:\n  \(reasons)",
                    advice: "The files of these apps are as they were. Check --trusted-keys and the upstream.",
                    status: .notVerified)
            }
            Console.print("\(list.entries.count) documents are in \(self.directory); \(written) of them are new.")
            return .success(())
        } catch let failure as UpstreamFailure {
            return .failure(
                CommandFailure(
                    "the upstream cannot be used: \(failure)", advice: "Check --upstream and --upstream-token-file.",
                    status: .unreachable))
        } catch {
            return .failure(error)
        }
    }

    private enum Outcome {
        case written
        case present
        case failed(String)
    }

    private func export(
        _ entry: DocumentList.Entry, from upstream: Upstream, _ keys: TrustedKeys
    ) async throws -> Outcome {
        let path = "client/v1/apps/\(entry.app)/document"
        let present = self.present(path).flatMap { try? keys.verify($0, of: entry.app) }
        guard present?.body.identity.tag != entry.tag else { return .present }
        let bytes: [UInt8]
        do throws(UpstreamFailure) { bytes = try await upstream.document(of: entry.app) } catch {
            // Withdrawn since it was listed.
            if case .status(404, _) = error { return .present }
            return .failed("\(error)")
        }
        let document: PublishedDocument
        do throws(TrustedKeys.Unverified) { document = try keys.verify(bytes, of: entry.app) } catch {
            return .failed("\(error)")
        }
        if let present, !document.supersedes(present) {
            guard document.version < present.version || document.contradicts(present) else { return .present }
            return .failed("version \(present.version) is there already")
        }
        try self.write(bytes, to: path)
        return .written
    }

    private func present(_ path: String) -> [UInt8]? {
        FileManager.default.contents(atPath: "\(self.directory)/\(path)").map(Array.init)
    }

    private func write(_ bytes: [UInt8], to name: String) throws {
        let file = URL(fileURLWithPath: "\(self.directory)/\(name)")
        do {
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(bytes).write(to: file, options: .atomic)
        } catch {
            throw CommandFailure("\(file.path) cannot be written: \(error.localizedDescription)")
        }
    }
}
