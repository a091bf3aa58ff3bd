import PinWire

extension App {
    /// The events that declare a kind of client. To change the key type of its answers, an operator has to remove the
    /// kind and declare it again: installs would understand none of the new answers.
    func set(_ settings: ClientSettings, of kind: ClientKind) throws(Refusal) -> [AppEvent] {
        if let key = self.clients[kind]?.key, kind.algorithm(settings) != key.algorithm {
            throw .clientKeyUnfit(kind, key.algorithm)
        }
        return self.clients[kind]?.settings == settings ? [] : [.clientSet(kind, settings)]
    }

    /// The events that remove a declaration. Its key is erased, so that the removal needs force where there is one.
    func remove(_ kind: ClientKind, in context: DecisionContext) throws(Refusal) -> [AppEvent] {
        guard let client = self.clients[kind] else { throw .clientUnknown(self.id, kind) }
        if client.key != nil {
            try context.requireReason("installs that have its key built in get no more answers")
            guard context.insists else { throw .clientKeyInUse(kind) }
        }
        return [.clientRemoved(kind)]
    }

    /// The events that give a kind of client a key. Installs have the old one built in and accept nothing that another
    /// one signed, so that a replacement needs force.
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
