import Synchronization

/// The secrets that the ledger names and that a node cannot open, as it found them last.
///
/// Only the feature that needs such a secret fails, as a webhook's delivery does: documents are served all the same.
package final class SecretFaults: Sendable {
    private let found = Mutex<[SecretTrial.Failure]>([])

    package init() {}

    package var all: [SecretTrial.Failure] { self.found.withLock { $0 } }

    /// Takes in what another look found.
    ///
    /// - Returns: What was not there before.
    package func take(_ failures: [SecretTrial.Failure]) -> [SecretTrial.Failure] {
        self.found.withLock { found in
            let known = Set(found)
            found = failures
            return failures.filter { !known.contains($0) }
        }
    }
}
