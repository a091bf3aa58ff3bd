package import PinWire

// The one JSON form of the domain's state: what the admin API shows and what snapshots hold.

extension PinRecord {
    func json(of pin: Pin) -> JSON {
        .members([
            "pin": .string(pin.description),
            "role": .string(self.role.rawValue),
            "state": .string(self.state.rawValue),
            "note": self.note.map { .string($0) },
            "since": .string(self.since.rfc3339),
        ])
    }
}

extension Policy {
    /// Mode and every pin, ordered by state, role and digest.
    package var json: JSON {
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
            "pins": .array(sorted.map { $0.value.json(of: $0.key) }),
        ]
    }

    init(_ members: inout JSONMembers) throws(JSONDefect) {
        self.init(mode: try members.required("mode").oneOf(PinMode.self))
        for element in try members.required("pins").elements(atMost: App.pinLimit) {
            let (pin, record) = try element.object { (m) throws(JSONDefect) in
                (
                    try m.required("pin").parse(Pin.init(text:)),
                    PinRecord(
                        role: try m.required("role").oneOf(PinRole.self),
                        state: try m.required("state").oneOf(PinState.self),
                        note: try m.optional("note")?.string(),
                        since: try m.required("since").timestamp()
                    )
                )
            }
            self.pins[pin] = record
        }
    }
}

extension Baseline {
    package var json: JSON {
        switch self {
        case .builtin: ["source": "builtin"]
        case .policy(let policy): policy.json
        }
    }

    init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (members) throws(JSONDefect) in
            let source = try members.required("source")
            switch try source.string() {
            case "builtin": return .builtin
            case "document": return .policy(try Policy(&members))
            default: throw source.defect("must be builtin or document")
            }
        }
    }
}

extension KillSwitch {
    package var json: JSON {
        ["engaged_at": .string(self.engagedAt.rfc3339), "expires_at": .string(self.expiresAt.rfc3339)]
    }

    init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (members) throws(JSONDefect) in
            KillSwitch(
                engagedAt: try members.required("engaged_at").timestamp(),
                expiresAt: try members.required("expires_at").timestamp()
            )
        }
    }
}

extension Host {
    package func json(of pattern: HostPattern) -> JSON {
        .members([
            "host": .string(pattern.text),
            "include_subdomains": .bool(self.includesSubdomains),
            "baseline": self.baseline.json,
            "candidate": self.candidate?.json,
            "rollout": self.rollout?.json,
            "rollout_revision": .integer(self.rolloutRevision),
            "kill_switch": self.killSwitch?.json,
        ])
    }

    init(_ members: inout JSONMembers) throws(JSONDefect) {
        self.init(
            includesSubdomains: try members.required("include_subdomains").bool(),
            baseline: try Baseline(try members.required("baseline"))
        )
        if let candidate = members.optional("candidate") {
            self.candidate = try candidate.object { (m) throws(JSONDefect) in
                _ = try m.required("source").string()
                return try Policy(&m)
            }
        }
        self.rollout = try members.optional("rollout").mapped(Rollout.init)
        self.rolloutRevision = try members.required("rollout_revision").integer(0...JSON.largestInteger)
        self.killSwitch = try members.optional("kill_switch").mapped(KillSwitch.init)
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
            "version": .integer(self.version),
            "rollout": self.rollout?.json,
            "rollout_revision": .integer(self.rolloutRevision),
            "version_gate": self.versionGate?.json,
            "fallback": self.fallback.json,
            "monitoring": self.monitoring.json,
            "pins_valid_until": self.pinsValidUntil.map { .string($0.rfc3339) },
            "kill_switch": self.killSwitch?.json,
            "host_count": .integer(Int64(self.hosts.count)),
        ])
    }

    /// The app with its hosts, in order of their patterns.
    package var json: JSON {
        guard case .object(var members) = self.summaryJSON else { return .null }
        members["hosts"] = .array(self.hosts.sorted { $0.key < $1.key }.map { $0.value.json(of: $0.key) })
        if !self.revokedPins.isEmpty {
            members["revoked_pins"] = .array(self.revokedPins.sorted().map { .string($0.description) })
        }
        return .object(members)
    }

    init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (members) throws(JSONDefect) in
            var app = App(
                id: try members.required("app").parse(AppID.init),
                displayName: try members.required("display_name").string(),
                createdAt: try members.required("created_at").timestamp()
            )
            let any: ClosedRange<Int64> = 0...JSON.largestInteger
            app.updatedAt = try members.required("updated_at").timestamp()
            app.version = try members.required("version").integer(any)
            app.rollout = try members.optional("rollout").mapped(Rollout.init)
            app.rolloutRevision = try members.required("rollout_revision").integer(any)
            app.versionGate = try members.optional("version_gate").mapped(VersionGate.init)
            app.fallback = try Fallback(try members.required("fallback"))
            app.monitoring = try Monitoring(try members.required("monitoring"))
            app.pinsValidUntil = try members.optional("pins_valid_until")?.timestamp()
            app.killSwitch = try members.optional("kill_switch").mapped(KillSwitch.init)
            let count = try members.required("host_count").integer(any)
            for element in try members.required("hosts").elements(atMost: App.hostLimit) {
                let (pattern, host) = try element.object { (m) throws(JSONDefect) in
                    (try m.required("host").parse(HostPattern.init), try Host(&m))
                }
                app.hosts[pattern] = host
            }
            if let revoked = members.optional("revoked_pins") {
                for element in try revoked.elements(atMost: .max) {
                    app.revokedPins.insert(try element.parse(Pin.init(text:)))
                }
            }
            guard app.hosts.count == count else { throw field.defect("does not hold the hosts it counts") }
            return app
        }
    }
}

extension Fleet {
    package var json: JSON {
        .members([
            "version": .integer(self.version), "issuer": .string(self.issuer), "kill_switch": self.killSwitch?.json,
        ])
    }

    init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (members) throws(JSONDefect) in
            var fleet = Fleet()
            fleet.version = try members.required("version").integer(0...JSON.largestInteger)
            fleet.issuer = try members.required("issuer").string()
            fleet.killSwitch = try members.optional("kill_switch").mapped(KillSwitch.init)
            return fleet
        }
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

    init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (members) throws(JSONDefect) in
            _ = try members.required("alg").string()
            let publicKey = try members.required("public_key")
            guard let bytes = Base64URL.decode(try publicKey.string()), bytes.count == 32 else {
                throw publicKey.defect("must be 32 bytes of base64url")
            }
            var key = SigningKey(
                kid: try members.required("kid").string(), publicKey: bytes,
                state: try members.required("state").oneOf(SigningKeyState.self),
                createdAt: try members.required("created_at").timestamp()
            )
            key.activatedAt = try members.optional("activated_at")?.timestamp()
            key.supersededAt = try members.optional("superseded_at")?.timestamp()
            key.retiredAt = try members.optional("retired_at")?.timestamp()
            return key
        }
    }
}

extension AccessToken {
    /// The token without its digest.
    package var json: JSON {
        .members([
            "token_id": .string(self.id),
            "name": .string(self.name),
            "created_at": .string(self.createdAt.rfc3339),
            "expires_at": .string(self.expiresAt.rfc3339),
            "revoked_at": self.revokedAt.map { .string($0.rfc3339) },
        ])
    }
}

extension LedgerState {
    /// Changes whenever the fold or its JSON form does: a snapshot of another fold version is not read.
    package static let foldVersion: Int32 = 2

    /// Everything, for a snapshot.
    package var json: JSON {
        [
            "apps": .array(self.apps.values.sorted { $0.id < $1.id }.map(\.json)),
            "fleet": self.fleet.json,
            "keys": [
                "version": .integer(self.keys.version),
                "keys": .array(self.keys.keys.values.sorted { $0.kid < $1.kid }.map(\.json)),
            ],
            "access": [
                "version": .integer(self.access.version),
                "tokens": .array(
                    self.access.tokens.values.sorted { $0.id < $1.id }.map { token in
                        ["token": token.json, "sha256": .string(Hex.encode(token.digest))]
                    }
                ),
            ],
        ]
    }

    /// Reads a snapshot back; any defect means that it cannot be used.
    package init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (members) throws(JSONDefect) in
            var state = LedgerState()
            let many = Int.max
            let any: ClosedRange<Int64> = 0...JSON.largestInteger
            for element in try members.required("apps").elements(atMost: many) {
                let app = try App(element)
                state.apps[app.id] = app
            }
            state.fleet = try Fleet(try members.required("fleet"))
            state.keys = try members.required("keys").object { (m) throws(JSONDefect) in
                var ring = KeyRing()
                ring.version = try m.required("version").integer(any)
                for element in try m.required("keys").elements(atMost: many) {
                    let key = try SigningKey(element)
                    ring.keys[key.kid] = key
                    if key.state == .active { ring.activeKeyID = key.kid }
                }
                return ring
            }
            state.access = try members.required("access").object { (m) throws(JSONDefect) in
                var access = Access()
                access.version = try m.required("version").integer(any)
                for element in try m.required("tokens").elements(atMost: many) {
                    let token = try Self.token(element)
                    access.tokens[token.id] = token
                    access.idByDigest[token.digest] = token.id
                }
                return access
            }
            return state
        }
    }

    private static func token(_ field: JSONField) throws(JSONDefect) -> AccessToken {
        try field.object { (members) throws(JSONDefect) in
            let digest = try members.required("sha256")
            guard let bytes = Hex.decode(try digest.string()), bytes.count == 32 else {
                throw digest.defect("must be 64 hexadecimal digits")
            }
            return try members.required("token").object { (m) throws(JSONDefect) in
                AccessToken(
                    id: try m.required("token_id").string(), name: try m.required("name").string(), digest: bytes,
                    createdAt: try m.required("created_at").timestamp(),
                    expiresAt: try m.required("expires_at").timestamp(),
                    revokedAt: try m.optional("revoked_at")?.timestamp()
                )
            }
        }
    }
}
