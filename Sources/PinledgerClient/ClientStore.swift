internal import Synchronization

/// Where a client keeps what has to outlast the process: its last verified document, or the reports that were not sent yet.
///
/// A store need not be trusted: what it returns is verified again. A failing one costs at most what it holds: the client goes on
/// with what it has in memory, or with what is built into the app.
public protocol ClientStore: Sendable {
    /// The bytes of the last ``write(_:)`` that succeeded; nil where there are none.
    func read() async throws -> [UInt8]?

    /// Replaces what is stored, as a whole or not at all, also if the process dies meanwhile.
    func write(_ bytes: [UInt8]) async throws
}

/// A store in memory: for tests, and for processes that fetch at each start.
public final class MemoryStore: ClientStore {
    private let bytes: Mutex<[UInt8]?>

    public init(_ bytes: [UInt8]? = nil) { self.bytes = Mutex(bytes) }

    public func read() -> [UInt8]? { self.bytes.withLock { $0 } }

    public func write(_ bytes: [UInt8]) { self.bytes.withLock { $0 = bytes } }
}
