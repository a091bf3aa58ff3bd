package import Addresses
import Synchronization

/// The addresses of proxies whose statement of clients' addresses is trusted. They may change while the node runs.
package final class TrustedProxies: Sendable {
    private let ranges: Mutex<[IPNetwork]>

    package init(_ ranges: [IPNetwork] = []) {
        self.ranges = Mutex(ranges)
    }

    package var networks: [IPNetwork] { self.ranges.withLock { $0 } }

    package func set(_ ranges: [IPNetwork]) { self.ranges.withLock { $0 = ranges } }
}
