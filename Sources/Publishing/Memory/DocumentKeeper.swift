import Concurrency
package import Keys
import NIOCore
import PinWire

/// Keeps a ``KeptDocumentsFile`` in step with the documents that a node serves.
package struct DocumentKeeper: Sendable {
    package let file: KeptDocumentsFile
    private struct Key: Hashable {
        var app: AppID
        var keyID: String

        init(_ document: PublishedDocument) { (self.app, self.keyID) = (document.app, document.keyID) }
    }

    private struct Kept {
        var version: Int64
        var issuedAt: Timestamp
        /// With its line feed.
        var size: Int
    }

    /// The newest document of each app in the file. An edge keeps several of an app, of different keys.
    private var kept: [Key: Kept] = [:]
    /// The bytes of those documents.
    private var live = 0
    /// The size of the file; nil before this process has written it, and where writing has failed.
    private var size: Int?

    /// The most bytes of documents that are added at once.
    private static let part = 8 << 20

    package init(file: KeptDocumentsFile) { self.file = file }

    /// Adds documents that are new to the file, or writes it again as a whole.
    ///
    /// If the process dies meanwhile, the last document may be cut off, or the earlier file stays.
    ///
    /// - Parameter isComplete: False while stored documents are still verified.
    /// - Returns: False where the file of the process before was left as it is, because documents are still verified.
    package mutating func keep(
        _ documents: [PublishedDocument], isComplete: Bool
    ) async throws(PrivateFile.Failure) -> Bool {
        guard isComplete || self.size != nil else { return false }
        return try await self.keep(documents, isAll: true)
    }

    /// Adds the documents among `changed` that are new to the file, or writes it again as a whole where that is due.
    ///
    /// While stored documents are still verified, it adds to the file of the process before: what is served meanwhile is kept too.
    ///
    /// - Parameter onlyAdds: True where the file holds documents that the table may lack.
    /// - Returns: False where the file is still to be written as a whole.
    mutating func keep(
        _ changed: [PublishedDocument], of table: DocumentTable, onlyAdds: Bool
    ) async throws(PrivateFile.Failure) -> Bool {
        if let size = self.size, !self.file.isWasteful(size, live: self.live) {
            return try await self.keep(changed, isAll: false)
        }
        let onlyAdds = onlyAdds || table.leavesKept
        if !onlyAdds {
            let (all, isComplete) = table.current
            if isComplete { return try await self.keep(all, isComplete: true) }
        }
        let new = changed.filter(self.isNew)
        if !new.isEmpty { try await self.file.add(new) }
        self.note(new)
        return onlyAdds
    }

    private mutating func keep(
        _ documents: [PublishedDocument], isAll: Bool
    ) async throws(PrivateFile.Failure) -> Bool {
        do throws(PrivateFile.Failure) {
            try await self.write(documents, isAll: isAll)
            return true
        } catch {
            // A disk that takes nothing more has what was there, which need not be written again.
            let path = self.file.path
            if await DetachedThread.run({ PrivateFile.size(of: path) }) != .some(self.size) { self.size = nil }
            throw error
        }
    }

    private mutating func write(
        _ documents: [PublishedDocument], isAll: Bool
    ) async throws(PrivateFile.Failure) {
        let live = isAll ? documents.reduce(0) { $0 + Self.size(of: $1) } : self.live
        guard let size = self.size, !isAll || !self.file.isWasteful(size, live: live) else {
            (self.kept, self.live) = ([:], 0)
            self.size = try await self.file.append(documents, to: nil)
            return self.note(documents)
        }
        var new = documents.filter(self.isNew)[...]
        while !new.isEmpty {
            var bytes = 0
            let part = new.prefix { document in
                defer { bytes += Self.size(of: document) }
                return bytes < Self.part
            }
            self.size = try await self.file.append(Array(part), to: self.size)
            self.note(Array(part))
            new = new.dropFirst(part.count)
        }
    }

    private func isNew(_ document: PublishedDocument) -> Bool {
        self.kept[Key(document)].map { ($0.version, $0.issuedAt) != (document.version, document.issuedAt) } ?? true
    }

    private mutating func note(_ documents: [PublishedDocument]) {
        for document in documents {
            let new = Kept(version: document.version, issuedAt: document.issuedAt, size: Self.size(of: document))
            let old = self.kept.updateValue(new, forKey: Key(document))
            self.live += new.size - (old?.size ?? 0)
        }
    }

    /// The bytes of a document's line.
    private static func size(of document: PublishedDocument) -> Int {
        document.body.identity.bytes.readableBytes + 1
    }
}
