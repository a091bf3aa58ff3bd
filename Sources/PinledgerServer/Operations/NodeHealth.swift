package import EventStore
package import PinWire
import Synchronization

/// The state of a node's own files and of its database's copies, for its operators.
package final class NodeHealth: Sendable {
    private struct Content {
        /// When the memory was not kept first, of the attempts that have failed since; nil where it is kept.
        var unkeptSince: Timestamp?
        /// True once an attempt was made: a node without a state directory keeps none.
        var keepsMemory = false
        var refusedFiles: Set<String> = []
        var certificate: ServerCertificate?
        var database: DatabaseStanding?
    }

    private let content = Mutex(Content())
    private let clock: @Sendable () -> Timestamp

    package init(clock: @escaping @Sendable () -> Timestamp) { self.clock = clock }

    /// Notes whether everything that the node is to remember is on its disk.
    package func note(isMemoryKept: Bool) {
        let now = self.clock()
        self.content.withLock { content in
            content.keepsMemory = true
            content.unkeptSince = isMemoryKept ? nil : content.unkeptSince ?? now
        }
    }

    /// Notes whether a file that was replaced can be used.
    ///
    /// - Parameter file: Its name for people.
    package func note(_ file: String, isRefused: Bool) {
        self.content.withLock { content in
            if isRefused { content.refusedFiles.insert(file) } else { content.refusedFiles.remove(file) }
        }
    }

    /// Takes in the certificate of the node's listeners.
    package func watch(_ certificate: ServerCertificate?) { self.content.withLock { $0.certificate = certificate } }

    /// The certificate of the node's listeners; nil for plain HTTP.
    var certificate: ServerCertificate? { self.content.withLock { $0.certificate } }

    /// Notes what the primary says of those that copy it; nil where none answers.
    package func note(_ database: DatabaseStanding?) { self.content.withLock { $0.database = database } }

    /// The last standing of the primary; nil where none answered.
    var database: DatabaseStanding? { self.content.withLock { $0.database } }

    /// The seconds for which the memory has not been kept; nil on a node that keeps none.
    var unkeptSeconds: Double? {
        let now = self.clock()
        return self.content.withLock { content in
            guard content.keepsMemory else { return nil }
            return content.unkeptSince.map { max(0, Double(now.microseconds - $0.microseconds) / 1e6) } ?? 0
        }
    }

    /// The number of replaced files that are not used, because they cannot be.
    var refusedFileCount: Int { self.content.withLock { $0.refusedFiles.count } }
}
