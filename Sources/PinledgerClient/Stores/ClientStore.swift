internal import PinWire
internal import Synchronization

/// Where a client keeps what has to outlast the process: its last verified document, or the reports that were not sent yet.
///
/// A store need not be trusted: what it returns is verified again. A failing one costs at most what it holds: the client goes on
/// with what it has in memory, or with what is built into the app. One store is for one purpose: that of documents is not that of reports, nor of an
/// install's id. What holds something else is neither used nor overwritten.
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

/// What a store of bytes is used for. It is for one thing: another one would be overwritten.
enum StoreContent: String {
    case state = "documents"
    case journal = "reports"
    case installID = "an install's id"

    /// A store holds what belongs into another one.
    struct Mistaken: Error, Hashable, CustomStringConvertible {
        let found: StoreContent
        let wanted: StoreContent

        var description: String {
            "the store for \(self.wanted.rawValue) holds \(self.found.rawValue): give each purpose a store of its own"
        }
    }

    /// What bytes are, as far as their beginning and length tell; nil where they do not.
    private init?(of bytes: [UInt8]) {
        if bytes.count == InstallID.size {
            self = .installID
        } else if bytes.starts(with: ReportJournal.beginning) {
            self = .journal
        } else if bytes.starts(with: Array("eyJ".utf8)) || bytes.starts(with: Array("{\"signatures\":".utf8)) {
            self = .state
        } else {
            return nil
        }
    }

    /// - Throws: ``Mistaken`` where the bytes are known to be something else. Damaged ones are not, and may be replaced.
    static func require(_ wanted: StoreContent, _ bytes: [UInt8]) throws(Mistaken) {
        if let found = StoreContent(of: bytes), found != wanted { throw Mistaken(found: found, wanted: wanted) }
    }
}
