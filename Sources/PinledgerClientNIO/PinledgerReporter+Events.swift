public import PinledgerClient

extension PinledgerReporter {
    /// Takes up a judged handshake: give it to ``PinnedTLS`` as `onEvent`.
    public nonisolated func record(_ event: PinnedTLS.Event) {
        switch event.outcome {
        case .invalidChain: self.recordInvalidChain(of: event.host, by: event.policy)
        case .judged(let verdict): self.record(verdict, of: event.host, by: event.policy, chain: event.chain)
        }
    }
}
