import Concurrency
package import Keys
import PinWire

/// The file in a node's state directory that holds its ``NodeMemory``.
///
/// The first line is the memory; the second one has the id of the key-encryption key and HMAC-SHA-256 of the first line
/// under a key derived from it, or `-` where the node has no key. The file is replaced as a whole: if the process dies
/// meanwhile, the earlier memory stays.
///
/// Beside it, a file `additions` has what came after the whole memory: a line with SHA-256 of the memory's first line, then two lines
/// for each addition, of the same form. An addition is a memory with the documents that are new; its MAC covers the hash too. If the
/// process dies while one is appended, that one is left out.
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
        /// True where a key-encryption key of this node authenticates it. A memory that was written with another key, or
        /// without one, proves nothing, and is compared with the ledger all the same.
        package var isAuthentic: Bool
    }

    /// The path of the file.
    package let path: String
    package let directory: String
    let keyEncryptionKeys: KeyEncryptionKeys?

    /// A memory that was written as a whole, which additions go on from.
    struct Base: Sendable {
        /// SHA-256 of its first line, in hexadecimal digits.
        var digest: [UInt8]
        /// The name of the key-encryption key that authenticates it; nil for none.
        var keyID: String?
    }

    /// The largest file that is read: more than ten times the memory of 100,000 apps.
    private static let byteLimit = 256 << 20
    private static let purpose = "node-memory"
    private static let additionPurpose = "node-memory-addition"

    /// The name of the file in its directory.
    static let name = "memory"
    private let additionsPath: String

    /// - Parameters:
    ///   - directory: The state directory, of this node alone.
    ///   - epoch: The number of the epoch whose lost end was set aside; nil for the file that the node goes on with.
    package init(directory: String, keyEncryptionKeys: KeyEncryptionKeys?, lostIn epoch: Int64? = nil) {
        self.path = SetAside.path("\(directory)/\(Self.name)", epoch: epoch)
        self.additionsPath = SetAside.path("\(directory)/additions", epoch: epoch)
        self.directory = directory
        self.keyEncryptionKeys = keyEncryptionKeys
    }

    /// Reads the memory with its additions, on a thread of its own; nil where there is none.
    package func read() async throws(Failure) -> Content? {
        let result = await DetachedThread.run { () -> Result<Content?, Failure> in
            do throws(Failure) { return .success(try self.readHere()) } catch { return .failure(error) }
        }
        guard let result else { throw .file(.unreadable(reason: "the system has no thread to give")) }
        return try result.get()
    }

    private func readHere() throws(Failure) -> Content? {
        guard PrivateFile.exists(self.path) else { return nil }
        let (bytes, additions): ([UInt8], [UInt8])
        do throws(PrivateFile.Failure) {
            // In this order: a memory that is replaced meanwhile has all that was added to the one before.
            additions =
                PrivateFile.exists(self.additionsPath)
                ? try PrivateFile.read(self.additionsPath, atMost: Self.byteLimit) : []
            bytes = try PrivateFile.read(self.path, atMost: Self.byteLimit)
        } catch { throw .file(error) }
        return try self.content(bytes, additions: additions)
    }

    /// Puts a memory in place of the earlier one and its additions, on a thread of its own.
    ///
    /// - Returns: The memory that additions go on from.
    @discardableResult
    func write(_ memory: NodeMemory) async throws(Failure) -> Base {
        try await self.onThread { () throws(PrivateFile.Failure) in
            let (json, key) = (memory.json, self.keyEncryptionKeys?.current)
            try PrivateFile.write(Self.sealed(json, with: key), to: self.path)
            return Base(digest: Self.digest(json[...]), keyID: key?.id)
        }
    }

    /// Adds to a memory what came after it, on a thread of its own.
    ///
    /// - Parameters:
    ///   - addition: A memory with the documents that are new.
    ///   - isFirst: Whether the memory has no additions yet.
    func append(_ addition: NodeMemory, to base: Base, isFirst: Bool) async throws(Failure) {
        try await self.onThread { () throws(PrivateFile.Failure) in
            let bytes = Self.sealed(addition.json, behind: base, with: self.keyEncryptionKeys?.current)
            guard isFirst else { return try PrivateFile.append(bytes, to: self.additionsPath) }
            try PrivateFile.write(base.digest + [UInt8(ascii: "\n")] + bytes, to: self.additionsPath)
        }
    }

    private func onThread<Result: Sendable>(
        _ body: @escaping @Sendable () throws(PrivateFile.Failure) -> Result
    ) async throws(Failure) -> Result {
        let result = await DetachedThread.run { () -> Swift.Result<Result, PrivateFile.Failure> in
            do throws(PrivateFile.Failure) { return .success(try body()) } catch { return .failure(error) }
        }
        switch result {
        case nil: throw .file(.unwritable(reason: "the system has no thread to give"))
        case .failure(let failure): throw .file(failure)
        case .success(let value): return value
        }
    }

    /// Gives a memory, and the events and documents beside it, second names, under which they stay: the ledger that they
    /// are of is lost, `recover` repeats what they tell of, and an auditor may want to see them. The memory is in force until the
    /// next one replaces it.
    package func setAside(epoch: Int64) async throws(Failure) {
        // Documents of the next epoch are added to the present file.
        let documents = KeptDocumentsFile(directory: self.directory).path
        // The memory last: where it has its second name, the others have theirs.
        let linked = [self.additionsPath, EventJournalFile(directory: self.directory).path, self.path]
        let failure = await DetachedThread.run { () -> PrivateFile.Failure? in
            do throws(PrivateFile.Failure) {
                if PrivateFile.exists(documents) {
                    try PrivateFile.copy(documents, as: SetAside.path(documents, epoch: epoch))
                }
                for path in linked where PrivateFile.exists(path) {
                    try PrivateFile.link(path, as: SetAside.path(path, epoch: epoch))
                }
            } catch { return error }
            return nil
        }
        guard let failure else { throw .file(.unwritable(reason: "the system has no thread to give")) }
        if let failure { throw .file(failure) }
    }

    func bytes(_ memory: NodeMemory) -> [UInt8] { Self.sealed(memory.json, with: self.keyEncryptionKeys?.current) }

    private static func digest(_ json: ArraySlice<UInt8>) -> [UInt8] { Array(Hex.encode(sha256(Array(json))).utf8) }

    /// A memory's JSON, or that of an addition to `base`, with the line that authenticates it.
    static func sealed(_ json: [UInt8], behind base: Base? = nil, with key: KeyEncryptionKey?) -> [UInt8] {
        let tag = key.map { "\($0.id) \(Hex.encode(Self.code(of: json, behind: base, $0)))" } ?? "-"
        return json + Array("\n\(tag)\n".utf8)
    }

    private static func code(of json: [UInt8], behind base: Base?, _ key: KeyEncryptionKey) -> [UInt8] {
        base.map { key.authenticate($0.digest + json, for: Self.additionPurpose) }
            ?? key.authenticate(json, for: Self.purpose)
    }

    /// Reads a memory, or an addition to `base`, from its two lines.
    private func read(
        _ json: ArraySlice<UInt8>, tag: ArraySlice<UInt8>, behind base: Base? = nil
    ) throws(Failure) -> Content {
        guard let tag = String(ascii: tag) else { throw .damaged(reason: "its second line is not text") }
        let memory: NodeMemory
        do throws(JSONDefect) { memory = try NodeMemory(json: json) } catch {
            throw .damaged(reason: error.description)
        }
        guard let key = self.keyEncryptionKeys?.keys.first(where: { tag.hasPrefix("\($0.id) ") }) else {
            return Content(memory: memory, isAuthentic: false)
        }
        guard tag == "\(key.id) \(Hex.encode(Self.code(of: Array(json), behind: base, key)))" else {
            throw .damaged(reason: "its second line does not authenticate the first")
        }
        return Content(memory: memory, isAuthentic: true)
    }

    /// - Parameter additions: The bytes of the other file. Those of an earlier memory do not count.
    func content(_ bytes: [UInt8], additions: [UInt8] = []) throws(Failure) -> Content {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard lines.count == 3, lines[2].isEmpty else { throw .damaged(reason: "it does not have two lines") }
        var content = try self.read(lines[0], tag: lines[1])
        let base = Base(digest: Self.digest(lines[0]), keyID: nil)
        // The last one has no line feed: it is empty, or was cut off.
        let added = additions.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
        guard let first = added.first, Array(first) == base.digest else { return content }
        for start in stride(from: 1, to: added.count - 1, by: 2) {
            let addition = try self.read(added[start], tag: added[start + 1], behind: base)
            content.memory.take(addition.memory)
            content.isAuthentic = content.isAuthentic && addition.isAuthentic
        }
        return content
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
