import EventStore
import PinWire
import Publishing
import Secrets

/// What a node can do at the moment, and what of it who asks is told. Looks at memory only: a database that is down for a
/// moment must not take nodes out that can serve every document.
struct Readiness: Sendable {
    /// What a node may be wanted for.
    enum Use: String, CaseIterable, Sendable {
        /// Documents, and all else that clients fetch.
        case serves
        /// Changes.
        case writes
        /// What is signed when it is asked for.
        case signs
    }

    let serves: Bool
    let writes: Bool
    let signs: Bool
    /// In what state the node is, whatever it is wanted for; nil where nothing is special about it.
    private let state: String?

    init(_ services: Services) {
        let isHalted = services.ledger.fault != nil
        let isDraining = services.drain.hasBegun
        let isSuspended = services.ledger.suspension != nil
        // A halted node serves the last good documents, where it has any.
        let hasDocuments = services.publisher.table.count > 0
        self.serves = !isDraining && (!isHalted || hasDocuments)
        self.writes =
            !isDraining && !isHalted && !isSuspended && services.writer != nil && services.writeFailure == nil
        self.signs = !isDraining && !isHalted && !isSuspended && services.keys.canSign
        self.state = isHalted ? "halted" : isDraining ? "draining" : nil
    }

    func allows(_ use: Use) -> Bool {
        switch use {
        case .serves: self.serves
        case .writes: self.writes
        case .signs: self.signs
        }
    }

    /// What everybody is told.
    func members(for use: Use) -> [String: JSON] {
        [
            "status": self.allows(use) ? "ready" : "not_ready", "serves": .bool(self.serves),
            "writes": .bool(self.writes), "signs": .bool(self.signs),
        ]
    }

    /// What operators are told for `status`: the state of the node, whether or not it is ready for what it is asked for.
    func status(for use: Use) -> String { self.state ?? (self.allows(use) ? "ready" : "not_ready") }
}
