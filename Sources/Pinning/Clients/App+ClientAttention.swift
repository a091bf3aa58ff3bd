import PinWire

extension App {
    /// The present failures of the declared kinds of clients: the app ends, or connections are refused.
    ///
    /// - Parameter context: The present facts, with what holds for every app.
    func clientAttention(in context: DecisionContext) -> [AttentionItem] {
        guard !self.clients.isEmpty else { return [] }
        let broken = self.clientFindings(in: context).filter { $0.severity == .breaks }
        return MetLimit.all(in: broken).map { met in
            var item = AttentionItem(.urgent, .clientBreaks, app: self.id, met.detail, remedy: met.first.remedy)
            item.host = met.first.host
            item.pin = met.first.pin
            item.client = met.first.kind
            item.limit = met.first.limit
            item.rail = .oldClients
            return item
        }
    }

    /// The checks of the declared kinds of clients against the app's state.
    ///
    /// - Parameter context: The present facts, with what holds for every app.
    func clientChecks(in context: DecisionContext) -> [ClientKind: ClientCheck] {
        let view = self.clientView(in: context)
        return Dictionary(
            uniqueKeysWithValues: self.clients.map { kind, client in
                (kind, ClientCheck(kind: kind, settings: client.settings, view: view))
            })
    }

    /// The limits that the declared kinds of clients meet, in order of the kinds.
    ///
    /// - Parameter context: The present facts, with what holds for every app.
    func clientFindings(in context: DecisionContext) -> [ClientFinding] {
        let view = self.clientView(in: context)
        return self.clients.sorted { $0.key < $1.key }.flatMap { kind, client in
            ClientLimits.all(
                for: kind, settings: client.settings, view: view, isPublicSuffix: context.isPublicSuffix)
        }
    }
}
