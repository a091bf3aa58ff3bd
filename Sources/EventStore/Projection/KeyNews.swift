import LogLines
import Logging
import PinWire

/// The last word of a node's log about the key-encryption key that authenticates the ledger's end.
struct KeyNews {
    private var foreign: String?
    private var current: [UInt8]?

    init(of ledger: Ledger) {
        self.current = ledger.keys?.current.id
    }

    /// Says what has changed since the last look.
    mutating func look(at ledger: Ledger, _ logger: Logger) {
        let (foreign, current) = (ledger.foreignKey, ledger.keys?.current.id)
        defer { (self.foreign, self.current) = (foreign, current) }
        if let foreign, foreign != self.foreign {
            logger.log(.keyChanged, ["key": "\(foreign)"])
        } else if foreign == nil, let current, self.foreign != nil || current != self.current {
            logger.log(.keyInForce, ["key": "\(Hex.encode(current))"])
        }
    }
}
