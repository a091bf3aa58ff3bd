package import PinWire

// The one JSON form of the domain's state, which the admin API shows.

extension PinRecord {
    func json(of pin: Pin, _ knowledge: KeyKnowledge?) -> JSON {
        .members([
            "pin": .string(pin.description),
            "key": knowledge?.key.json,
            "certificates": knowledge.flatMap { $0.certificates.isEmpty ? nil : .array($0.certificates.map(\.json)) },
            "request_seen": knowledge?.hasRequest == true ? true : nil,
            "role": .string(self.role.rawValue),
            "state": .string(self.state.rawValue),
            "note": self.note.map { .string($0) },
            "since": .string(self.since.rfc3339),
        ])
    }
}

extension Policy {
    /// The mode and every pin with its key's facts, ordered by state, role and digest.
    func json(_ keys: SortedMap<Pin, KeyKnowledge>) -> JSON {
        func rank<T: CaseIterable & Equatable>(_ value: T) -> Int { Array(T.allCases).firstIndex(of: value) ?? 0 }
        let order: [PinState] = [.active, .staged, .retired, .revoked]
        let sorted = self.pins.sorted { left, right in
            let l = (order.firstIndex(of: left.value.state) ?? 0, rank(left.value.role))
            let r = (order.firstIndex(of: right.value.state) ?? 0, rank(right.value.role))
            return l == r ? left.key < right.key : l < r
        }
        return [
            "source": "document",
            "mode": .string(self.mode.rawValue),
            "pins": .array(sorted.map { $0.value.json(of: $0.key, keys[$0.key]) }),
        ]
    }
}

extension Baseline {
    func json(_ keys: SortedMap<Pin, KeyKnowledge>) -> JSON {
        switch self {
        case .builtin: ["source": "builtin"]
        case .policy(let policy): policy.json(keys)
        }
    }
}

extension KillSwitch {
    package var json: JSON {
        ["engaged_at": .string(self.engagedAt.rfc3339), "expires_at": .string(self.expiresAt.rfc3339)]
    }
}

extension Host {
    /// - Parameter keys: The app's knowledge of keys.
    package func json(of pattern: HostPattern, _ keys: SortedMap<Pin, KeyKnowledge>) -> JSON {
        .members([
            "host": .string(pattern.text),
            "include_subdomains": .bool(self.includesSubdomains),
            "baseline": self.baseline.json(keys),
            "candidate": self.candidate?.json(keys),
            "rollout": self.rollout?.json,
            "rollout_revision": .integer(self.rolloutRevision),
            "rollout_plan": self.plan?.json,
            "rolled_back_at": self.rolledBackAt.map { .string($0.rfc3339) },
            "kill_switch": self.killSwitch?.json,
            "endpoints": self.endpoints.map { .array($0.map { .string($0.description) }) },
        ])
    }
}

extension App {
    /// The app without its hosts.
    package var summaryJSON: JSON {
        .members([
            "app": .string(self.id.text),
            "display_name": .string(self.displayName),
            "created_at": .string(self.createdAt.rfc3339),
            "updated_at": .string(self.updatedAt.rfc3339),
            "archived_at": self.archivedAt.map { .string($0.rfc3339) },
            "version": .integer(self.version),
            "rollout": self.rollout?.json,
            "rollout_revision": .integer(self.rolloutRevision),
            "rollout_plan": self.plan?.json,
            "rolled_back_at": self.rolledBackAt.map { .string($0.rfc3339) },
            "version_gate": self.versionGate?.json,
            "fallback": self.fallback.json,
            "monitoring": self.monitoring.json,
            "pins_valid_until": self.pinsValidUntil.map { .string($0.rfc3339) },
            "kill_switch": self.killSwitch?.json,
            "version_kill_switches": self.versionKillSwitches.isEmpty
                ? nil : .array(self.versionKillSwitches.map(\.json)),
            "host_count": .integer(Int64(self.hosts.count)),
            "clients": self.clients.isEmpty
                ? nil : .array(self.clients.sorted { $0.key < $1.key }.map { $0.value.json(of: $0.key) }),
            "lowered_guard_rails": self.loweredRails.isEmpty
                ? nil : .array(self.loweredRails.sorted().map { .string($0.code) }),
        ])
    }

    /// The app with its hosts, in order of their patterns.
    package var json: JSON {
        guard case .object(var members) = self.summaryJSON else { return .null }
        members["hosts"] = .array(self.hosts.sorted { $0.key < $1.key }.map { $0.value.json(of: $0.key, self.keys) })
        if !self.rotations.isEmpty { members["rotations"] = .array(self.rotations.map(\.json)) }
        if !self.revokedPins.isEmpty {
            members["revoked_pins"] = .array(self.revokedPins.sorted().map { .string($0.description) })
        }
        return .object(members)
    }
}

extension Fleet {
    package var json: JSON {
        .members([
            "version": .integer(self.version), "issuer": .string(self.issuer), "kill_switch": self.killSwitch?.json,
            "lowered_guard_rails": self.loweredRails.isEmpty
                ? nil : .array(self.loweredRails.sorted().map { .string($0.code) }),
            "epoch": .integer(self.epoch), "raised_by": .integer(self.raisedBy),
            "feature_level": .integer(self.featureLevel),
        ])
    }
}

extension SigningKey {
    package var json: JSON {
        .members([
            "kid": .string(self.kid),
            "alg": "EdDSA",
            "public_key": .string(Base64URL.encode(self.publicKey)),
            "state": .string(self.state.rawValue),
            "created_at": .string(self.createdAt.rfc3339),
            "activated_at": self.activatedAt.map { .string($0.rfc3339) },
            "superseded_at": self.supersededAt.map { .string($0.rfc3339) },
            "retired_at": self.retiredAt.map { .string($0.rfc3339) },
        ])
    }
}

extension LogWitness {
    package var json: JSON {
        .members([
            "key_id": .string(self.keyID),
            "name": .string(self.name.text),
            "vkey": .string(self.verifier),
            "url": .string(self.url.text),
            "monitoring_url": self.monitoringURL.map { .string($0.text) },
        ])
    }
}

extension LogSettings {
    package var json: JSON {
        .members([
            "origin": self.origin.map { .string($0.text) },
            "earlier": self.earlier.isEmpty
                ? nil
                : .array(
                    self.earlier.map { log in
                        [
                            "origin": .string(log.origin.text), "size": .integer(log.end.size),
                            "root": .string(Base64.encode(log.end.root)),
                        ]
                    }),
            "keys": .array(
                self.keys.map { key in
                    .members([
                        "kid": .string(key.kid),
                        "public_key": .string(Base64URL.encode(key.publicKey)),
                        "vkey": self.origin.map { .string(key.verifier(for: $0)) },
                        "created_at": .string(key.createdAt.rfc3339),
                        "retired_at": key.retiredAt.map { .string($0.rfc3339) },
                    ])
                }),
            "witnesses": .array(self.witnesses.map(\.json)),
            "quorum": .integer(self.quorum),
            "public": .bool(self.isPublic),
            "document_proofs": .bool(self.recordsDocuments),
        ])
    }
}

extension LedgerState {
    /// All of it, for people and tests.
    package var json: JSON {
        [
            "apps": .array(self.apps.values.sorted { $0.id < $1.id }.map(\.json)),
            "fleet": self.fleet.json,
            "keys": [
                "version": .integer(self.keys.version),
                "keys": .array(self.keys.keys.values.sorted { $0.kid < $1.kid }.map(\.json)),
            ],
            "access": [
                "version": .integer(self.access.version), "content": self.access.json,
                "digests": .object(
                    Dictionary(
                        uniqueKeysWithValues: self.access.idByDigest.map { (Hex.encode($0.key), .string($0.value)) })),
            ],
            "webhooks": ["version": .integer(self.webhooks.version), "hooks": self.webhooks.json],
            "log": ["version": .integer(self.log.version), "log": self.log.json],
        ]
    }
}
