package import PinWire

extension App {
    /// The view of the app's clients that know nothing of rollouts.
    ///
    /// - Parameter context: The present facts, with what holds for every app.
    func clientView(in context: DecisionContext) -> ClientView {
        let chains = self.chains(at: context.now, by: context.facts.endpoint)
        return ClientView(self.document(in: context.fleet), of: self, chains: chains, at: context.now)
    }

    /// The chains that servers were last seen to present, by host.
    ///
    /// - Parameter facts: Probes' results for an endpoint; nil where none ever answered for it.
    package func chains(
        at now: Timestamp, by facts: (Endpoint) -> EndpointFacts?
    ) -> [HostPattern: [ObservedChain]] {
        var chains: [HostPattern: [ObservedChain]] = [:]
        for (pattern, host) in self.hosts {
            let live = host.probed(of: pattern).flatMap { facts($0)?.live(at: now) ?? [] }
            if !live.isEmpty { chains[pattern] = live }
        }
        return chains
    }
}
