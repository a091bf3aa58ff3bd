import Synchronization

/// Whether a node is about to stop. It serves on meanwhile, but says by `/readyz` that it should get no new traffic.
package final class Drain: Sendable {
    private let flag = Atomic(false)

    init() {}

    package func begin() { self.flag.store(true, ordering: .relaxed) }

    package var hasBegun: Bool { self.flag.load(ordering: .relaxed) }
}
