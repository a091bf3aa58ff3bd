import LogLines
package import Logging
import NIOCore
package import PinWire
package import Publishing

/// The documents of an edge: those that it serves, and those that it keeps for a key that is not trusted at the moment.
///
/// A document comes in only here, verified, and never in place of a newer one or of another content of its version.
package struct EdgeDocuments: Sendable {
    /// What has become of a document that was offered.
    enum Outcome: Hashable {
        case served
        /// The edge serves another one that is as good: the same version, signed at another time.
        case asGood
        case refused(cause: String, reason: String)
    }

    package let table: DocumentTable
    package let keys: TrustedKeys
    package let withheld = WithheldDocuments()
    private let logger: Logger
    let clock: @Sendable () -> Timestamp

    /// The causes for which documents are not served, as monitoring systems see them.
    package static let causes = TrustedKeys.Unverified.causes + ["older", "contradiction", "expired"]

    package init(table: DocumentTable, keys: TrustedKeys, logger: Logger, clock: @escaping @Sendable () -> Timestamp) {
        self.table = table
        self.keys = keys
        self.logger = logger
        self.clock = clock
    }

    /// Serves a document, if it may be.
    func offer(_ bytes: [UInt8], of app: AppID) -> Outcome {
        let document: PublishedDocument
        do throws(TrustedKeys.Unverified) { document = try self.keys.verify(bytes, of: app) } catch {
            return .refused(cause: error.cause, reason: "\(error)")
        }
        // In place of nothing, clients refuse it; in place of an older one, it is the better of two.
        guard document.expiresAt > self.clock() || self.table[app] != nil else {
            return .refused(cause: "expired", reason: "it ended at \(document.expiresAt.rfc3339)")
        }
        self.table.put([document])
        // The keys may have been replaced since it was verified, and the table looked through before it was in there.
        if !self.keys.ids.contains(document.keyID) { self.dropUntrusted() }
        guard let served = self.table[app] else {
            return .refused(cause: "unknown_key", reason: "its key was taken out")
        }
        if served.body.identity.tag == document.body.identity.tag { return .served }
        if document.contradicts(served) {
            return .refused(cause: "contradiction", reason: "the edge serves another content of the same version")
        }
        guard document.version < served.version else { return .asGood }
        return .refused(cause: "older", reason: "the edge serves a newer one")
    }

    /// Takes the keys as they are now: what a key has signed that is no longer trusted is served no more, and what was withheld for one
    /// that is trusted now is served again, unless there is something newer.
    package func takeOverKeys() {
        self.dropUntrusted()
        for document in self.withheld.release(self.keys.ids) {
            _ = self.offer(Array(document.body.identity.bytes.readableBytesView), of: document.app)
        }
    }

    func dropUntrusted() {
        let dropped = self.table.drop(signedOutside: self.keys.ids)
        guard !dropped.isEmpty else { return }
        self.withheld.keep(dropped, at: self.clock())
        self.logger.log(
            .documentsDropped, ["apps": "\(dropped.count)", "first": "\(dropped.map(\.app.text).min() ?? "")"])
    }
}
