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

    /// The version and issue time of each document in the file. An edge keeps several of an app, of different keys.
    private var kept: [Key: (version: Int64, issuedAt: Timestamp)] = [:]
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
        do throws(PrivateFile.Failure) {
            try await self.write(documents)
            return true
        } catch {
            self.size = nil
            throw error
        }
    }

    private mutating func write(_ documents: [PublishedDocument]) async throws(PrivateFile.Failure) {
        let live = documents.reduce(0) { $0 + $1.body.identity.bytes.readableBytes + 1 }
        guard let size = self.size, !self.file.isWasteful(size, live: live) else {
            self.kept = [:]
            self.size = try await self.file.append(documents, to: nil)
            return self.note(documents)
        }
        var new = documents.filter(self.isNew)[...]
        while !new.isEmpty {
            var bytes = 0
            let part = new.prefix { document in
                defer { bytes += document.body.identity.bytes.readableBytes }
                return bytes < Self.part
            }
            self.size = try await self.file.append(Array(part), to: self.size)
            self.note(Array(part))
            new = new.dropFirst(part.count)
        }
    }

    private func isNew(_ document: PublishedDocument) -> Bool {
        self.kept[Key(document)].map { $0 != (document.version, document.issuedAt) } ?? true
    }

    private mutating func note(_ documents: [PublishedDocument]) {
        for document in documents { self.kept[Key(document)] = (document.version, document.issuedAt) }
    }
}
