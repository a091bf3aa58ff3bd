import Synchronization

/// The names of apps whose documents have changed since their node remembered them, and notice of anything to remember.
final class ServedChanges: Sendable {
    private let names = Mutex<Set<String>>([])
    private let wakeUp = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// Yields when there may be something to remember.
    var arrivals: AsyncStream<Void> { self.wakeUp.stream }

    func wake() { self.wakeUp.continuation.yield() }

    func add(_ name: String) {
        _ = self.names.withLock { $0.insert(name) }
        self.wake()
    }

    /// Takes all names.
    func take() -> Set<String> {
        self.names.withLock { names in
            defer { names = [] }
            return names
        }
    }

    /// Takes back names whose documents could not be remembered for now.
    func giveBack(_ names: Set<String>) { self.names.withLock { $0.formUnion(names) } }
}
