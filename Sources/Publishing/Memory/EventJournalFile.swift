import Concurrency
import Keys

/// The file in a node's state directory that holds its ``EventJournal``.
///
/// Events are appended and brought to the disk before the memory states them. If the process dies in between, the file has
/// more events than the memory states, and they are left out.
package struct EventJournalFile: Sendable {
    package let path: String

    /// The size at which the older half of the events is dropped.
    private let sizeLimit: Int
    /// The largest file that is read.
    private static let readLimit = 256 << 20

    /// - Parameters:
    ///   - directory: The state directory, of one node alone.
    ///   - epoch: The number of the epoch whose lost end was set aside; nil for the file that the node goes on with.
    package init(directory: String, sizeLimit: Int = 16 << 20, lostIn epoch: Int64? = nil) {
        self.path = SetAside.path("\(directory)/events", epoch: epoch)
        self.sizeLimit = sizeLimit
    }

    /// The events that the file holds up to the end that `memory` states; nil where there is no file, or no such end.
    ///
    /// - Throws: ``PrivateFile/Failure`` or ``EventJournal/Defect``.
    package func read(_ memory: NodeMemory) async throws -> EventJournal? {
        guard let end = memory.journal else { return nil }
        let path = self.path
        let bytes = try await Self.onThread { () throws(PrivateFile.Failure) -> [UInt8]? in
            PrivateFile.exists(path) ? try PrivateFile.read(path, atMost: Self.readLimit) : nil
        }
        return try bytes.map { try EventJournal(bytes: $0).verified(upTo: end) }
    }

    /// Puts a journal in place of the file.
    ///
    /// - Returns: The number of bytes.
    func write(_ journal: EventJournal) async throws(PrivateFile.Failure) -> Int {
        let (path, bytes) = (self.path, journal.bytes)
        try await Self.onThread { () throws(PrivateFile.Failure) in try PrivateFile.write(bytes, to: path) }
        return bytes.count
    }

    /// Adds events at the end of the file, which then has `size` bytes or more; past the limit without the older half.
    ///
    /// - Returns: The number of bytes.
    func append(_ entries: [[UInt8]], to size: Int) async throws -> Int {
        var added: [UInt8] = []
        for entry in entries {
            added += entry
            added.append(UInt8(ascii: "\n"))
        }
        let (path, bytes) = (self.path, added)
        try await Self.onThread { () throws(PrivateFile.Failure) in try PrivateFile.append(bytes, to: path) }
        guard size + bytes.count > self.sizeLimit else { return size + bytes.count }
        let all = try await Self.onThread { () throws(PrivateFile.Failure) in
            try PrivateFile.read(path, atMost: Self.readLimit)
        }
        return try await self.write(try EventJournal(bytes: all).halved)
    }

    /// True where the file has so many bytes.
    func has(_ size: Int) async -> Bool {
        let path = self.path
        return await DetachedThread.run { PrivateFile.size(of: path) } == size
    }

    private static func onThread<Result: Sendable>(
        _ body: @escaping @Sendable () throws(PrivateFile.Failure) -> Result
    ) async throws(PrivateFile.Failure) -> Result {
        let result = await DetachedThread.run { () -> Swift.Result<Result, PrivateFile.Failure> in
            do throws(PrivateFile.Failure) { return .success(try body()) } catch { return .failure(error) }
        }
        guard let result else { throw .unwritable(reason: "the system has no thread to give") }
        return try result.get()
    }
}
