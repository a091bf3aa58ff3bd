import EventStore
import PinWire
import Publishing
import Secrets

/// What a node can do at the moment, and the part of it that the caller gets. Reads memory only: a short outage of the
/// database must not take out nodes that can serve every document.
struct Readiness: Sendable {
    /// The uses of a node.
    enum Use: String, CaseIterable, Sendable {
        /// Documents, and everything else that clients fetch.
        case serves
        /// Documents that every client of an app gets, whether or not the ledger is read.
        case servesDocuments = "serves_documents"
        /// Changes.
        case writes
        /// Answers that are signed on request.
        case signs
    }

    let serves: Bool
    let servesDocuments: Bool
    let writes: Bool
    let signs: Bool
    /// The node's state, whatever the use; nil in the normal state.
    private let state: String?
    /// The node's state in one word, as other nodes are told: one of ``stateNames``.
    let stateName: String

    /// The ``stateName`` of a node that nothing keeps from anything.
    static let running = "running"

    static let stateNames = [
        Self.running, "starting", "draining", "suspended", "unsigned", "other_key", "upgrade_needed", NodeReport.halted,
    ]

    init(_ services: Services) {
        let fault = services.ledger.fault
        let isHalted = fault != nil
        let isDraining = services.drain.hasBegun
        let isSuspended = services.ledger.suspension != nil
        // A halted node serves the last good documents, where it has any.
        let hasDocuments = services.publisher.table.count > 0
        let isReading = services.ledger.isReading
        // A node that has lost all that it has served would answer that there is nothing.
        let lacksDocuments = isHalted ? !hasDocuments : services.publisher.table.lacksAll
        self.serves = !isDraining && !isReading && !lacksDocuments
        self.servesDocuments =
            self.serves || !isDraining && isReading && services.publisher.table.hasServed
        self.writes =
            !isDraining && services.ledger.refusal == nil && services.writer != nil && services.writeFailure == nil
        self.signs = !isDraining && !isReading && !isHalted && !isSuspended && services.keys.canSign
        let halt = fault.map { $0.meansUpgrade ? "upgrade_needed" : NodeReport.halted }
        let begun =
            services.ledger.unsigned != nil ? "unsigned" : services.ledger.foreignKey != nil ? "other_key" : nil
        self.state = halt ?? (isDraining ? "draining" : isReading ? "starting" : begun)
        self.stateName = self.state ?? (isSuspended ? "suspended" : Self.running)
    }

    func allows(_ use: Use) -> Bool {
        switch use {
        case .serves: self.serves
        case .servesDocuments: self.servesDocuments
        case .writes: self.writes
        case .signs: self.signs
        }
    }

    /// The public answer.
    func members(for use: Use) -> [String: JSON] {
        [
            "status": self.allows(use) ? "ready" : "not_ready", "serves": .bool(self.serves),
            "serves_documents": .bool(self.servesDocuments),
            "writes": .bool(self.writes), "signs": .bool(self.signs),
        ]
    }

    /// Operators' value of `status`: the state of the node, whether or not it is ready for the requested use.
    func status(for use: Use) -> String { self.state ?? (self.allows(use) ? "ready" : "not_ready") }
}
