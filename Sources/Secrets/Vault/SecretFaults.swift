import Synchronization

/// The secrets that the ledger names and that a node cannot open, as it found them last.
///
/// Only the feature that needs such a secret fails, as a webhook's delivery does: documents are served all the same.
package final class SecretFaults: Sendable {
    private struct Content {
        var found: [SecretTrial.Failure] = []
        /// The found ones that a look has told of.
        var told: Set<SecretTrial.Failure> = []
    }

    private let content = Mutex(Content())

    package init() {}

    package var all: [SecretTrial.Failure] { self.content.withLock { $0.found } }

    /// Takes in what another look found.
    ///
    /// - Parameter limit: The most that are told at once; the next look tells of others.
    /// - Returns: What no look has told of since it came.
    package func take(_ failures: [SecretTrial.Failure], tellingAtMost limit: Int) -> [SecretTrial.Failure] {
        self.content.withLock { content in
            content.found = failures
            content.told.formIntersection(failures)
            let new = Array(failures.filter { !content.told.contains($0) }.prefix(limit))
            content.told.formUnion(new)
            return new
        }
    }
}
