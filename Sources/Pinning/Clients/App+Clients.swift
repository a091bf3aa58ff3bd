import PinWire

extension App {
    /// The events of declaring a kind of client. Whoever changes what its answers are signed with has to remove the kind
    /// and declare it anew: installs would understand none of it.
    func set(_ settings: ClientSettings, of kind: ClientKind) throws(Refusal) -> [AppEvent] {
        if let key = self.clients[kind]?.key, kind.algorithm(settings) != key.algorithm {
            throw .clientKeyUnfit(kind, key.algorithm)
        }
        return self.clients[kind]?.settings == settings ? [] : [.clientSet(kind, settings)]
    }

    /// The events of taking a declaration back. Its key is erased, so that whoever does it has to insist where there is one.
    func remove(_ kind: ClientKind, in context: DecisionContext) throws(Refusal) -> [AppEvent] {
        guard let client = self.clients[kind] else { throw .clientUnknown(self.id, kind) }
        if client.key != nil {
            try context.requireReason("installs that have its key built in get no more answers")
            guard context.insists else { throw .clientKeyInUse(kind) }
        }
        return [.clientRemoved(kind)]
    }

    /// The events of giving a kind of client a key. Installs have the old one built in and take nothing that another one
    /// signed, so that whoever replaces it has to insist.
    func set(_ key: ClientKey, of kind: ClientKind, in context: DecisionContext) throws(Refusal) -> [AppEvent] {
        guard let client = self.clients[kind] else { throw .clientUnknown(self.id, kind) }
        guard kind.algorithm(client.settings) == key.algorithm else { throw .clientKeyUnfit(kind, key.algorithm) }
        guard client.key != key else { return [] }
        if client.key != nil {
            try context.requireReason("installs that have the old key built in stop accepting this server's answers")
            guard context.insists else { throw .clientKeyInUse(kind) }
        }
        return [.clientKeySet(kind, key)]
    }
}
