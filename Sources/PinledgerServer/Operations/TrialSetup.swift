import Synchronization

/// The part of a trial's start (`pinledger dev`) that takes a server which serves already: its token, and the file with it.
///
/// `/healthz` answers 503 while it is under way, so that who waits for 200 finds the file.
package final class TrialSetup: Sendable {
    private let flag = Atomic(false)

    init() {}

    /// Says that it is to come. Without this it is never under way.
    package func begin() { self.flag.store(true, ordering: .relaxed) }

    /// Says that the file is there.
    package func end() { self.flag.store(false, ordering: .releasing) }

    package var isUnderWay: Bool { self.flag.load(ordering: .acquiring) }
}
