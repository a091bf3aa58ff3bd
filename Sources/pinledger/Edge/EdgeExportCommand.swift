import ArgumentParser
import Edge
import Foundation
import Keys
import Logging
import NIOCore
import PinWire
import PinledgerServer
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

            --objects writes a list for object stores, a line of JSON for each file, in the order in which to upload them: key, \
            file, content_type, cache_control and sha256. A line changes only if its object does.
            """)

    @Argument(help: "The directory. It is made if it is missing.") var directory: String
    @Option(
        help: ArgumentHelp(
            "File for a list of all files, with the header fields with which an object store has to serve each.",
            valueName: "file"))
    var objects: String?
    @OptionGroup var file: SettingsFileOption
    @OptionGroup var flags: SettingFlags<ExportProgram>

    func run() async throws {
        let settings = try self.file.settings(of: .edge, self.flags.values)
        let maxAge = try settings.integer(.documentMaxAge)
        let keys = try settings.trustedKeys
        let upstream = try UpstreamAddress(settings).open { _, _ in }
        let outcome = await self.export(from: upstream, keys, maxAge: maxAge)
        await upstream.close()
        try outcome.get()
    }

    /// Documents that are fetched at a time.
    private static let parallel = 8

    private func export(
        from upstream: Upstream, _ keys: TrustedKeys, maxAge: Int
    ) async -> Result<Void, any Error> {
        do {
            guard let list = try await upstream.list(ifNoneMatch: nil) else { return .success(()) }
            // Before the documents: a client that gets a new one finds its key.
            let roots = try await self.exportRoots(from: upstream, keys)
            let keySet = Array(keys.body.identity.bytes.readableBytesView)
            try self.write(keySet, to: Self.keySetPath)
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
            // Also where some failed: the list tells what is there.
            try self.list(keySet, roots, list.entries.map(\.app), maxAge: maxAge)
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
        let path = Self.path(of: entry.app)
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
        if let present, !document.supersedes(present, at: Node.clock()) {
            guard document.version < present.version || document.contradicts(present) else { return .present }
            return .failed("version \(present.version) is there already")
        }
        try self.write(bytes, to: path)
        return .written
    }

    /// Writes the upstream's roots of trust. Before documents: a client that gets one of a new key finds the root that has the key.
    private func exportRoots(from upstream: Upstream, _ keys: TrustedKeys) async throws -> [RootOfTrust] {
        let roots = EdgeRoots(
            directory: nil, keys: keys, logger: Logger(label: "pinledger") { _ in SwiftLogNoOpLogHandler() })
        // What was exported before counts: an upstream that hides a root does not take it back.
        var kept: [[UInt8]] = []
        while let bytes = self.present("client/v1/roots/\(kept.count + 1)") { kept.append(bytes) }
        roots.load(kept)
        if let reason = try await roots.refresh(from: upstream).refusal {
            throw CommandFailure(
                "the upstream's roots of trust are not taken: \(reason)",
                advice: "Check --trusted-keys and who runs the upstream.", status: .notVerified)
        }
        for (path, bytes) in Self.files(of: roots.all) { try self.write(bytes, to: path) }
        return roots.all
    }

    private static func files(of roots: [RootOfTrust]) -> [(path: String, bytes: [UInt8])] {
        var files: [(path: String, bytes: [UInt8])] = []
        for root in roots {
            // Each stands under two names, of which the second one is that of TUF's clients.
            files.append(("client/v1/roots/\(root.version)", root.bytes))
            files.append(("client/v1/roots/\(root.version)\(RootOfTrust.fileSuffix)", root.bytes))
        }
        if let newest = roots.last { files.append(("client/v1/root.json", newest.bytes)) }
        return files
    }

    private static let keySetPath = "client/v1/jwks.json"

    private static func path(of app: AppID) -> String { "client/v1/apps/\(app)/document" }

    /// Writes the list of objects, where one is asked for: the key set first, because documents are verified with it.
    private func list(_ keySet: [UInt8], _ roots: [RootOfTrust], _ apps: [AppID], maxAge: Int) throws {
        guard let objects else { return }
        var lines = [
            Self.object(
                Self.keySetPath, keySet, type: ClientHeaders.keySetType,
                caching: ClientHeaders.caching(maxAge: ClientHeaders.keyMaxAge))
        ]
        for (path, bytes) in Self.files(of: roots) {
            lines.append(
                Self.object(
                    path, bytes, type: ClientHeaders.rootType,
                    caching: ClientHeaders.caching(maxAge: ClientHeaders.keyMaxAge)))
        }
        for app in apps.sorted() {
            let path = Self.path(of: app)
            guard let bytes = self.present(path) else { continue }
            lines.append(
                Self.object(
                    path, bytes, type: ClientHeaders.documentType,
                    caching: ClientHeaders.caching(maxAge: maxAge)))
        }
        let text = lines.map { $0.canonicalText + "\n" }.joined()
        do { try Data(text.utf8).write(to: URL(fileURLWithPath: objects), options: .atomic) } catch {
            throw CommandFailure("\(objects) cannot be written: \(error.localizedDescription)")
        }
    }

    private static func object(_ path: String, _ bytes: [UInt8], type: String, caching: String) -> JSON {
        [
            "key": .string(path), "file": .string(path), "content_type": .string(type),
            "cache_control": .string(caching), "sha256": .string(Hex.encode(sha256(bytes))),
        ]
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
