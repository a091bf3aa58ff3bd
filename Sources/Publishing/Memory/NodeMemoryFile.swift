import Concurrency
package import Keys
import PinWire

/// The file in a node's state directory that holds its ``NodeMemory``.
///
/// The first line is the memory; the second one has the id of the key-encryption key and HMAC-SHA-256 of the first line
/// under a key derived from it, or `-` where the node has no key. The file is replaced as a whole: if the process dies
/// meanwhile, the earlier memory stays.
package struct NodeMemoryFile: Sendable {
    /// Why the file cannot be used.
    package enum Failure: Error, Sendable {
        case file(PrivateFile.Failure)
        /// It is not a memory, or was altered.
        case damaged(reason: String)
    }

    /// What a file holds.
    package struct Content: Sendable {
        package var memory: NodeMemory
        /// Whether this node's key-encryption key authenticates it. A memory that was written with another key, or
        /// without one, proves nothing, and is compared with the ledger all the same.
        package var isAuthentic: Bool
    }

    /// The path of the file.
    package let path: String
    package let directory: String
    private let key: KeyEncryptionKey?

    /// The largest file that is read: more than ten times the memory of 100,000 apps.
    private static let byteLimit = 256 << 20
    private static let purpose = "node-memory"

    /// - Parameter directory: The state directory, of this node alone.
    package init(directory: String, key: KeyEncryptionKey?) {
        self.path = "\(directory)/memory"
        self.directory = directory
        self.key = key
    }

    /// Reads the file, on a thread of its own; nil where there is none.
    package func read() async throws(Failure) -> Content? {
        let path = self.path
        let result = await DetachedThread.run { () -> Result<[UInt8]?, PrivateFile.Failure> in
            guard PrivateFile.exists(path) else { return .success(nil) }
            do throws(PrivateFile.Failure) {
                return .success(try PrivateFile.read(path, atMost: Self.byteLimit))
            } catch { return .failure(error) }
        }
        switch result {
        case nil: throw .file(.unreadable(reason: "the system has no thread to give"))
        case .failure(let failure): throw .file(failure)
        case .success(nil): return nil
        case .success(let bytes?): return try self.content(bytes)
        }
    }

    /// Puts a memory in place of the earlier one, on a thread of its own.
    package func write(_ memory: NodeMemory) async throws(Failure) {
        let (path, bytes) = (self.path, self.bytes(memory))
        let failure = await DetachedThread.run { () -> PrivateFile.Failure? in
            do throws(PrivateFile.Failure) { try PrivateFile.write(bytes, to: path) } catch { return error }
            return nil
        }
        guard let failure else { throw .file(.unwritable(reason: "the system has no thread to give")) }
        if let failure { throw .file(failure) }
    }

    /// Gives a memory, and the events and documents beside it, second names, under which they stay: the ledger that they
    /// are of is lost, and an auditor may want to see them. The memory is in force until the next one replaces it.
    package func setAside(epoch: Int64) async throws(Failure) {
        let paths = [
            self.path, EventJournalFile(directory: self.directory).path,
            KeptDocumentsFile(directory: self.directory).path,
        ]
        let failure = await DetachedThread.run { () -> PrivateFile.Failure? in
            for path in paths where PrivateFile.exists(path) {
                do throws(PrivateFile.Failure) {
                    try PrivateFile.link(path, as: "\(path).lost-in-epoch-\(epoch)")
                } catch { return error }
            }
            return nil
        }
        guard let failure else { throw .file(.unwritable(reason: "the system has no thread to give")) }
        if let failure { throw .file(failure) }
    }

    func bytes(_ memory: NodeMemory) -> [UInt8] {
        let json = memory.json
        let tag = self.key.map { "\($0.id) \(Hex.encode($0.authenticate(json, for: Self.purpose)))" } ?? "-"
        return json + Array("\n\(tag)\n".utf8)
    }

    func content(_ bytes: [UInt8]) throws(Failure) -> Content {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard lines.count == 3, lines[2].isEmpty, let tag = String(ascii: lines[1]) else {
            throw .damaged(reason: "it does not have two lines")
        }
        let memory: NodeMemory
        do throws(JSONDefect) { memory = try NodeMemory(json: lines[0]) } catch {
            throw .damaged(reason: error.description)
        }
        guard let key = self.key, tag.hasPrefix("\(key.id) ") else {
            return Content(memory: memory, isAuthentic: false)
        }
        guard tag == "\(key.id) \(Hex.encode(key.authenticate(Array(lines[0]), for: Self.purpose)))" else {
            throw .damaged(reason: "its second line does not authenticate the first")
        }
        return Content(memory: memory, isAuthentic: true)
    }
}

extension NodeMemoryFile.Failure {
    /// What is wrong, as a sentence without a full stop, and what to do.
    ///
    /// - Parameter path: The path of the file.
    package func text(_ path: String) -> (message: String, advice: String?) {
        switch self {
        case .file(let failure):
            let text = failure.text("the node's memory", path)
            return (text.message, text.advice ?? "Check --state-directory, its owner and its mode.")
        case .damaged(let reason):
            return (
                "\(path) is not a memory that a node wrote: \(reason)",
                "Find out who altered it. Compare the database with another node's memory or a checkpoint that you keep (--expect-checkpoint), then delete the file."
            )
        }
    }
}
