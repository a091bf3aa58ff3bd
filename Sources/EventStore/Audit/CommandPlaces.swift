import PinWire

/// Where the events of idempotency keys stand, as long as it matters: for the keys that an audit asks about at the end, and for
/// all others as long as nodes promise to know them. So memory grows with a day's commands and not with the ledger.
struct CommandPlaces: Sendable {
    /// The positions of the events of one key.
    struct Place: Sendable {
        var first: Int64
        var last: Int64
        /// When the first of them was recorded.
        var time: Timestamp
    }

    private let keys: Set<CommandKey>
    private let texts: Set<String>
    /// In seconds.
    private let promise: Int64
    /// Those of ``keys`` and ``texts``.
    private var kept: [CommandKey: Place] = [:]
    /// Those since ``start``.
    private var recent: [CommandKey: Place] = [:]
    /// Those before, none of which is needed once ``promise`` has passed since ``start``.
    private var older: [CommandKey: Place] = [:]
    private var start: Timestamp?

    /// - Parameters:
    ///   - keys: Keys to keep however old they are.
    ///   - texts: The same, of whatever actor.
    ///   - promise: How many seconds all others are kept at least.
    init(keeping keys: Set<CommandKey>, _ texts: Set<String>, for promise: Int64) {
        self.keys = keys
        self.texts = texts
        self.promise = promise
    }

    subscript(key: CommandKey) -> Place? {
        get { self.kept[key] ?? self.recent[key] ?? self.older[key] }
        set {
            guard let newValue else { return }
            if self.keys.contains(key) || self.texts.contains(key.key) { return self.kept[key] = newValue }
            if self.start.map({ $0.adding(seconds: self.promise) < newValue.time }) ?? true {
                // What was recent has its time before that of this place, and is kept for one more promise.
                self.older = self.start == nil ? [:] : self.recent
                self.recent = [:]
                self.start = newValue.time
            }
            self.recent[key] = newValue
        }
    }

    /// All that are kept.
    var all: [CommandKey: Place] {
        self.kept.merging(self.recent) { kept, _ in kept }.merging(self.older) { newer, _ in newer }
    }
}
