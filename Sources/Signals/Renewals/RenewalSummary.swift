package import Pinning
import Synchronization

/// What a node knows of when certificates should be renewed, by their SHA-256. If the process dies, the next one reads it again.
package final class RenewalSummary: Sendable {
    private let windows = Mutex<[[UInt8]: RenewalWindow]>([:])

    package init() {}

    package func window(of certificate: [UInt8]) -> RenewalWindow? { self.windows.withLock { $0[certificate] } }

    /// Takes in answers. Where they are too many, the earlier ones are forgotten; they are read again as they are asked for again.
    func take(_ news: [[UInt8]: RenewalWindow]) {
        self.windows.withLock { windows in
            if windows.count + news.count > 2 * Int(RenewalStore.limit) { windows = [:] }
            windows.merge(news) { _, new in new }
        }
    }
}
