public import PinWire

/// One judged chain, for reports and support screens.
///
/// With SwiftNIO the server proves that it has the certificate's key afterwards: one that does not gets no connection, whatever the event
/// says.
public struct ConnectionEvent: Sendable {
    @nonexhaustive
    public enum Outcome: Hashable, Sendable {
        /// The platform does not trust the chain, with its words: it leads to no authority, is for another name, or is not valid now. Pins
        /// were not looked at.
        case invalidChain(String)
        case judged(ConnectionVerdict)
    }

    public let host: String
    public let outcome: Outcome
    /// The policy that judged.
    public let policy: PinPolicy
    /// The pins of the validated chain, the host's own first; none where the chain is invalid.
    public let chain: [Pin]

    package init(host: String, outcome: Outcome, policy: PinPolicy, chain: [Pin]) {
        self.host = host
        self.outcome = outcome
        self.policy = policy
        self.chain = chain
    }

    /// Whether the chain lets the connection go on.
    public var isAccepted: Bool {
        switch self.outcome {
        case .invalidChain: false
        case .judged(let verdict): verdict.isAccepted
        }
    }
}

extension PinledgerReporter {
    /// Takes up a judged handshake: give it to `PinnedTLS` or ``PinnedSessionDelegate`` as `onEvent`.
    public nonisolated func record(_ event: ConnectionEvent) {
        switch event.outcome {
        case .invalidChain: self.recordInvalidChain(of: event.host, by: event.policy)
        case .judged(let verdict): self.record(verdict, of: event.host, by: event.policy, chain: event.chain)
        }
    }
}
