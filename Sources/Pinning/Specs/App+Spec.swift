package import PinWire

extension App {
    /// The app as a spec, in the form in which requests send one: the same spec changes nothing in this app, and makes one in
    /// another ledger whose document has the same content but for its version.
    ///
    /// A rollout that is not sticky gets the salt that its place gave it, since that follows from the app's history.
    package var spec: JSON {
        .members([
            "display_name": .string(self.displayName),
            "archived": self.archivedAt == nil ? nil : true,
            "rollout": self.rollout?.kept("app:\(self.id)", revision: self.rolloutRevision).json,
            "version_gate": self.versionGate?.json,
            "fallback": self.fallback.json,
            "monitoring": self.monitoring.json,
            "pins_valid_until": self.pinsValidUntil.map { .string($0.rfc3339) },
            "lowered_guard_rails": .array(self.loweredRails.sorted().map { .string($0.code) }),
            "clients": .array(
                self.clients.sorted { $0.key < $1.key }.map { kind, client in
                    ["client": .string(kind.rawValue), "settings": client.settings.json(of: kind)]
                }),
            "hosts": .array(self.hosts.sorted { $0.key < $1.key }.map { $0.value.spec(of: $0.key) }),
        ])
    }
}

extension Host {
    fileprivate func spec(of pattern: HostPattern) -> JSON {
        .members([
            "host": .string(pattern.text),
            "include_subdomains": .bool(self.includesSubdomains),
            "baseline": self[.baseline].map { .object(["source": "document"].merging($0.spec) { $1 }) }
                ?? ["source": "builtin"],
            "candidate": (self.candidate?.spec).map { .object($0) },
            "rollout": self.rollout?.kept("host:\(pattern)", revision: self.rolloutRevision).json,
            "endpoints": self.endpoints.map { .array($0.map { .string($0.description) }) },
        ])
    }
}

extension Policy {
    /// Mode and pins in use, by role and digest.
    fileprivate var spec: [String: JSON] {
        let pins = self.pins.filter { $0.value.state.isInUse }.sorted { left, right in
            let order = PinRole.allCases
            let (l, r) = (order.firstIndex(of: left.value.role) ?? 0, order.firstIndex(of: right.value.role) ?? 0)
            return l == r ? left.key < right.key : l < r
        }
        return [
            "mode": .string(self.mode.rawValue),
            "pins": .array(
                pins.map { pin, record in
                    .members([
                        "pin": .string(pin.description), "role": .string(record.role.rawValue),
                        "state": .string(record.state.rawValue), "note": record.note.map { .string($0) },
                    ])
                }),
        ]
    }
}

extension Rollout {
    /// The rollout with a salt that draws the same devices wherever it is set.
    fileprivate func kept(_ place: String, revision: Int64) -> Rollout {
        self.isSticky ? self : self.salted(place, revision: revision)
    }
}
