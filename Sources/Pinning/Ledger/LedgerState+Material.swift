import PinWire

// The state holds facts about keys and certificates. Their bytes are stored elsewhere, under digests.

extension LedgerState {
    /// Those of `digests` by which no app knows a key or a certificate.
    package func unnamed(_ digests: Set<[UInt8]>) -> Set<[UInt8]> {
        var rest = digests
        for app in self.apps.values where !rest.isEmpty {
            for knowledge in app.keys.values { rest.subtract(knowledge.digests) }
            // Pins without further facts, because the app knows as many keys as it may.
            for host in app.hosts.values {
                for slot in PolicySlot.allCases {
                    for pin in host[slot]?.pins.keys ?? [] { rest.remove(pin.bytes) }
                }
            }
        }
        return rest
    }
}
