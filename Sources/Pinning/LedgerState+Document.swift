package import PinWire

extension LedgerState {
    /// The version of an app's document: the number of events of the app's stream and of the fleet's, each of which can
    /// change it. Grows with every such event and never falls. Nil for an unknown app.
    package func documentVersion(of id: AppID) -> Int64? {
        self.apps[id].map { $0.version + self.fleet.version }
    }

    /// What an app's clients are to receive in this state; nil for an unknown app. Pure: every node makes the same.
    package func document(of id: AppID) -> Document? {
        guard let app = self.apps[id], let version = self.documentVersion(of: id) else { return nil }
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
        let hosts = app.hosts.sorted { $0.key < $1.key }
        add("everything", nil, self.fleet.killSwitch)
        add("app", nil, app.killSwitch)
        for engaged in app.versionKillSwitches {
            add("app_versions", nil, engaged.killSwitch, versions: engaged.versions)
        }
        for (pattern, host) in hosts { add("host", pattern, host.killSwitch) }
        return Document(
            issuer: self.fleet.issuer,
            app: id,
            version: version,
            pinsValidUntil: app.pinsValidUntil,
            killSwitches: switches,
            rollout: app.rollout?.salted("app:\(id)", revision: app.rolloutRevision),
            versionGate: app.versionGate,
            hosts: hosts.map { pattern, host in
                Document.Host(
                    pattern: pattern,
                    includesSubdomains: host.includesSubdomains,
                    baseline: host[.baseline]?.published,
                    candidate: host.candidate?.published,
                    rollout: host.rollout?.salted("host:\(pattern)", revision: host.rolloutRevision)
                )
            },
            fallback: app.fallback,
            monitoring: app.monitoring
        )
    }
}

extension Policy {
    /// The part of the policy that clients see.
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
    /// The rollout with its salt spelled out: its own, or that of its place; and one of its own for each edit where it
    /// is not sticky.
    func salted(_ place: String, revision: Int64) -> Rollout {
        var salted = self
        salted.salt = self.salt ?? (self.isSticky ? place : "\(place)#\(revision)")
        return salted
    }
}
