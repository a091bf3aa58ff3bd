package import PinWire

extension LedgerState {
    /// The version of an app's document: the number of events of the app's stream and of the fleet's, each of which can
    /// change it, and what losses have raised it by. Grows with every such event and never falls. Nil for an unknown app.
    package func documentVersion(of id: AppID) -> Int64? {
        self.apps[id].map { $0.version + self.fleet.versionOffset }
    }

    /// The document for an app's clients in this state; nil for an unknown app. Pure: every node makes the same.
    package func document(of id: AppID) -> Document? { self.apps[id]?.document(in: self.fleet) }
}

extension App {
    /// The document for the app's clients, with the settings of every app.
    func document(in fleet: Fleet) -> Document {
        var switches: [Document.KillSwitch] = []
        func add(_ scope: String, _ host: HostPattern?, _ killSwitch: KillSwitch?, versions: VersionRange? = nil) {
            guard let killSwitch else { return }
            switches.append(
                Document.KillSwitch(
                    scope: scope, host: host, versions: versions?.gate, engagedAt: killSwitch.engagedAt,
                    expiresAt: killSwitch.expiresAt
                )
            )
        }
        let hosts = self.hosts.sorted { $0.key < $1.key }
        add("everything", nil, fleet.killSwitch)
        add("app", nil, self.killSwitch)
        for engaged in self.versionKillSwitches {
            add("app_versions", nil, engaged.killSwitch, versions: engaged.versions)
        }
        for (pattern, host) in hosts { add("host", pattern, host.killSwitch) }
        return Document(
            issuer: fleet.issuer,
            app: self.id,
            version: self.version + fleet.versionOffset,
            pinsValidUntil: self.pinsValidUntil,
            killSwitches: switches,
            rollout: self.rollout?.salted("app:\(self.id)", revision: self.rolloutRevision),
            // One that lets everything in is none: a document says each thing in one way.
            versionGate: self.versionGate.flatMap { $0.isOpen ? nil : $0 },
            hosts: hosts.map { pattern, host in
                Document.Host(
                    pattern: pattern,
                    includesSubdomains: host.includesSubdomains,
                    baseline: host[.baseline]?.published,
                    candidate: host.candidate?.published,
                    rollout: host.rollout?.salted("host:\(pattern)", revision: host.rolloutRevision)
                )
            },
            fallback: self.fallback,
            monitoring: self.monitoring.published,
            archivedAt: self.archivedAt
        )
    }
}

extension Policy {
    /// The part of the policy for clients.
    fileprivate var published: Document.Policy {
        let order = PinRole.allCases
        func rank(_ role: PinRole) -> Int { order.firstIndex(of: role) ?? 0 }
        let pins = self.activePins.sorted { left, right in
            rank(left.role) == rank(right.role) ? left.pin < right.pin : rank(left.role) < rank(right.role)
        }
        return Document.Policy(mode: self.mode, pins: pins.map { Document.RolePin(pin: $0.pin, role: $0.role) })
    }
}

extension Rollout {
    /// The rollout with its salt explicit: its own, or that of its place; and one of its own for each edit where it is
    /// not sticky.
    func salted(_ place: String, revision: Int64) -> Rollout {
        var salted = self
        salted.salt = self.salt ?? (self.isSticky ? place : "\(place)#\(revision)")
        return salted
    }
}
