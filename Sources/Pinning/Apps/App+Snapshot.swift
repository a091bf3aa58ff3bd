import PinWire

extension App {
    func write(to out: inout SnapshotWriter) {
        out.add(self.id.text)
        out.add(self.displayName)
        out.add(self.createdAt)
        out.add(self.updatedAt)
        out.add(self.archivedAt) { $0.add($1) }
        out.add(self.version)
        out.add(self.rollout) { $1.write(to: &$0) }
        out.add(self.rolloutRevision)
        out.add(self.plan) { $0.add(json: $1.json) }
        out.add(self.rolledBackAt) { $0.add($1) }
        out.add(self.versionGate) { $1.write(to: &$0) }
        out.add(self.fallback.usesBuiltinPins)
        out.add(each: self.fallback.hosts) { $0.add($1.text) }
        out.add(self.monitoring.isEnabled)
        out.add(self.monitoring.failureThreshold)
        out.add(self.monitoring.autoDisables)
        out.add(place: self.monitoring.reaction)
        out.add(self.monitoring.countsUnsigned)
        out.add(self.pinsValidUntil) { $0.add($1) }
        out.add(self.killSwitch) { $1.write(to: &$0) }
        out.add(each: self.versionKillSwitches) { out, engaged in
            engaged.versions.gate.write(to: &out)
            engaged.killSwitch.write(to: &out)
        }
        out.add(self.switchEndedAt) { $0.add($1) }
        out.add(self.hosts.count)
        for (pattern, host) in self.hosts {
            out.add(pattern.text)
            host.write(to: &out)
        }
        out.add(each: self.revokedPins.sorted()) { $0.add($1) }
        out.add(self.keys.count)
        for knowledge in self.keys.values { out.add(json: knowledge.json) }
        out.add(each: self.rotations) { $0.add(json: $1.json) }
        out.add(each: self.loweredRails.sorted()) { $0.add(place: $1) }
        out.add(each: self.riskyChanges) { $0.add($1) }
        out.add(each: self.reactionsTaken) { out, reaction in
            out.add(reaction.host.text)
            out.add(reaction.done.arm) { $0.add(place: $1) }
            out.add(place: reaction.done.step)
            out.add(reaction.done.at)
        }
        out.add(each: self.clients.sorted { $0.key < $1.key }) { out, client in
            out.add(client.key.rawValue)
            out.add(json: client.value.settings.json(of: client.key))
            out.add(client.value.key) { $0.add(json: $1.json) }
            out.add(client.value.builtIn.count)
            for (pattern, files) in client.value.builtIn {
                out.add(pattern.text)
                out.add(each: files) { $1.write(to: &$0) }
            }
        }
        out.add(self.watch.version)
        out.add(each: self.watch.inOrder) { $0.add(json: $1.json) }
        out.add(each: self.watch.telemetryKeys) { out, key in
            out.add(key.id)
            out.add(key.note) { $0.add($1) }
            out.add(key.createdAt)
            out.add(key.retiredAt) { $0.add($1) }
        }
        out.add(each: self.watch.publishedVersions) { $0.add($1) }
        out.add(self.watch.published) { out, recorded in
            out.add(recorded.publication.version)
            out.add(raw: recorded.publication.contentDigest)
            out.add(recorded.streamVersion)
        }
    }

    init(_ reader: inout SnapshotReader) throws(SnapshotDefect) {
        self.init(
            id: try reader.parsed(AppID.init), displayName: try reader.text(), createdAt: try reader.time()
        )
        self.updatedAt = try reader.time()
        self.archivedAt = try reader.optional { (r) throws(SnapshotDefect) in try r.time() }
        self.version = try reader.number()
        self.rollout = try reader.optional { (r) throws(SnapshotDefect) in try Rollout(&r) }
        self.rolloutRevision = try reader.number()
        self.plan = try reader.plan()
        self.rolledBackAt = try reader.optional { (r) throws(SnapshotDefect) in try r.time() }
        self.versionGate = try reader.optional { (r) throws(SnapshotDefect) in try VersionGate(&r) }
        self.fallback = Fallback(
            usesBuiltinPins: try reader.flag(),
            hosts: try reader.each { (r) throws(SnapshotDefect) in try r.host() }
        )
        self.monitoring = Monitoring(
            isEnabled: try reader.flag(), failureThreshold: Int(try reader.number()), autoDisables: try reader.flag(),
            reaction: try reader.value(Monitoring.Reaction.self), countsUnsigned: try reader.flag()
        )
        self.pinsValidUntil = try reader.optional { (r) throws(SnapshotDefect) in try r.time() }
        self.killSwitch = try reader.optional { (r) throws(SnapshotDefect) in try KillSwitch(&r) }
        self.versionKillSwitches = try reader.each { (r) throws(SnapshotDefect) in
            guard let versions = VersionRange(try VersionGate(&r)) else {
                throw SnapshotDefect(description: "a kill switch is for no range of versions")
            }
            return VersionKillSwitch(versions: versions, killSwitch: try KillSwitch(&r))
        }
        self.switchEndedAt = try reader.optional { (r) throws(SnapshotDefect) in try r.time() }
        let count = try reader.count()
        self.hosts.reserveCapacity(count)
        for _ in 0..<count {
            let pattern = try reader.host()
            guard self.hosts.append(pattern, try Host(&reader)) else {
                throw SnapshotDefect(description: "\(pattern) of \(self.id) does not stand in its place")
            }
        }
        for pin in try reader.each({ (r) throws(SnapshotDefect) in try r.pin() }) { self.revokedPins.insert(pin) }
        for _ in 0..<(try reader.count()) {
            let knowledge = try reader.json { (f) throws(JSONDefect) in try KeyKnowledge(f) }
            guard self.keys.append(knowledge.key.pin, knowledge) else {
                throw SnapshotDefect(description: "a key of \(self.id) does not stand in its place")
            }
        }
        self.rotations = try reader.each { (r) throws(SnapshotDefect) in
            try r.json { (f) throws(JSONDefect) in try Rotation(f) }
        }
        self.loweredRails = Set(try reader.each { (r) throws(SnapshotDefect) in try r.value(GuardRail.self) })
        self.riskyChanges = try reader.each { (r) throws(SnapshotDefect) in try r.time() }
        self.reactionsTaken = try reader.each { (r) throws(SnapshotDefect) in
            Reaction.Taken(
                host: try r.host(),
                arm: try r.optional { (r) throws(SnapshotDefect) in try r.value(PolicySlot.self) },
                step: try r.value(ReactionStep.self), at: try r.time())
        }
        for _ in 0..<(try reader.count()) {
            let name = try reader.text()
            guard let kind = ClientKind(rawValue: name) else {
                throw SnapshotDefect(description: "\(name) is no kind of client")
            }
            let settings = try reader.json { (f) throws(JSONDefect) in try ClientSettings(f, of: kind) }
            let key = try reader.optional { (r) throws(SnapshotDefect) in
                try r.json { (f) throws(JSONDefect) in try f.object { (m) throws(JSONDefect) in try ClientKey(&m) } }
            }
            var client = Client(settings: settings, key: key)
            for _ in 0..<(try reader.count()) {
                let pattern = try reader.host()
                let files = try reader.each { (r) throws(SnapshotDefect) in try BuiltInPins(&r) }
                guard client.builtIn.append(pattern, files) else {
                    throw SnapshotDefect(description: "\(pattern) of \(name) does not stand in its place")
                }
            }
            self.clients[kind] = client
        }
        self.watch.version = try reader.number()
        let warnings = try reader.each { (r) throws(SnapshotDefect) in
            try r.json { (f) throws(JSONDefect) in try Warning(f) }
        }
        for warning in warnings { self.watch.standing[warning.subject] = warning }
        self.watch.telemetryKeys = try reader.each { (r) throws(SnapshotDefect) in
            TelemetryKey(
                id: try r.text(), note: try r.optional { (r) throws(SnapshotDefect) in try r.text() },
                createdAt: try r.time(), retiredAt: try r.optional { (r) throws(SnapshotDefect) in try r.time() })
        }
        self.watch.publishedVersions = try reader.each { (r) throws(SnapshotDefect) in try r.number() }
        self.watch.published = try reader.optional { (r) throws(SnapshotDefect) in
            let version = try r.number()
            return Watch.Recorded(
                publication: Publication(version: version, contentDigest: try r.raw()), streamVersion: try r.number())
        }
    }
}

extension Host {
    fileprivate func write(to out: inout SnapshotWriter) {
        out.add(self.includesSubdomains)
        for slot in PolicySlot.allCases { out.add(self[slot]) { $1.write(to: &$0) } }
        out.add(self.rollout) { $1.write(to: &$0) }
        out.add(self.rolloutRevision)
        out.add(self.plan) { $0.add(json: $1.json) }
        out.add(self.rolledBackAt) { $0.add($1) }
        out.add(self.killSwitch) { $1.write(to: &$0) }
        out.add(self.switchEndedAt) { $0.add($1) }
        out.add(self.endpoints) { $0.add(each: $1) { $0.add($1.description) } }
    }

    fileprivate init(_ reader: inout SnapshotReader) throws(SnapshotDefect) {
        self.init(includesSubdomains: try reader.flag(), baseline: .builtin)
        for slot in PolicySlot.allCases {
            self[slot] = try reader.optional { (r) throws(SnapshotDefect) in try Policy(&r) }
        }
        self.rollout = try reader.optional { (r) throws(SnapshotDefect) in try Rollout(&r) }
        self.rolloutRevision = try reader.number()
        self.plan = try reader.plan()
        self.rolledBackAt = try reader.optional { (r) throws(SnapshotDefect) in try r.time() }
        self.killSwitch = try reader.optional { (r) throws(SnapshotDefect) in try KillSwitch(&r) }
        self.switchEndedAt = try reader.optional { (r) throws(SnapshotDefect) in try r.time() }
        self.endpoints = try reader.optional { (r) throws(SnapshotDefect) in
            try r.each { (r) throws(SnapshotDefect) in try r.parsed(Endpoint.init) }
        }
    }
}

extension BuiltInPins {
    fileprivate func write(to out: inout SnapshotWriter) {
        out.add(place: self.origin)
        out.add(each: self.pins) { $0.add($1) }
        out.add(self.isEnforced)
        out.add(self.since)
    }

    fileprivate init(_ reader: inout SnapshotReader) throws(SnapshotDefect) {
        self.init(
            origin: try reader.value(Origin.self), pins: try reader.each { (r) throws(SnapshotDefect) in try r.pin() },
            isEnforced: try reader.flag(), since: try reader.time())
    }
}

extension SnapshotReader {
    /// A plan of a rollout, or none.
    fileprivate mutating func plan() throws(SnapshotDefect) -> RolloutPlan? {
        try self.optional { (r) throws(SnapshotDefect) in
            try r.json { (f) throws(JSONDefect) in try RolloutPlan(f) }
        }
    }
}

extension Policy {
    fileprivate func write(to out: inout SnapshotWriter) {
        out.add(place: self.mode)
        out.add(each: self.lastEnforced) { $0.add($1) }
        out.add(self.pins.count)
        for (pin, record) in self.pins {
            out.add(pin)
            out.add(place: record.role)
            out.add(place: record.state)
            out.add(record.note) { $0.add($1) }
            out.add(record.since)
            out.add(record.publishedBy)
        }
    }

    fileprivate init(_ reader: inout SnapshotReader) throws(SnapshotDefect) {
        self.init(mode: try reader.value(PinMode.self))
        self.lastEnforced = try reader.each { (r) throws(SnapshotDefect) in try r.pin() }
        let count = try reader.count()
        self.pins.reserveCapacity(count)
        for _ in 0..<count {
            let pin = try reader.pin()
            let record = PinRecord(
                role: try reader.value(PinRole.self), state: try reader.value(PinState.self),
                note: try reader.optional { (r) throws(SnapshotDefect) in try r.text() }, since: try reader.time(),
                publishedBy: try reader.number()
            )
            guard self.pins.append(pin, record) else {
                throw SnapshotDefect(description: "a pin does not stand in its place")
            }
        }
    }
}

extension Rollout {
    fileprivate func write(to out: inout SnapshotWriter) {
        out.add(self.basisPoints)
        out.add(place: self.method)
        out.add(each: self.seed) { $0.add(place: $1) }
        out.add(self.isSticky)
        out.add(self.salt) { $0.add($1) }
        for list in [self.countries, self.whitelist, self.exclusions] { out.add(each: list) { $0.add($1) } }
        out.add(place: self.bucketing)
    }

    fileprivate init(_ reader: inout SnapshotReader) throws(SnapshotDefect) {
        self.init(
            basisPoints: Int(try reader.number()), method: try reader.value(Method.self),
            seed: try reader.each { (r) throws(SnapshotDefect) in try r.value(Seed.self) },
            isSticky: try reader.flag(),
            salt: try reader.optional { (r) throws(SnapshotDefect) in try r.text() },
            countries: try reader.each { (r) throws(SnapshotDefect) in try r.text() },
            whitelist: try reader.each { (r) throws(SnapshotDefect) in try r.text() },
            exclusions: try reader.each { (r) throws(SnapshotDefect) in try r.text() },
            bucketing: try reader.value(Bucketing.self)
        )
    }
}

extension VersionGate {
    fileprivate func write(to out: inout SnapshotWriter) {
        out.add(self.minimum) { $0.add($1.text) }
        out.add(self.maximum) { $0.add($1.text) }
        out.add(each: self.excluded) { $0.add($1.text) }
        out.add(self.minimumBuild) { $0.add($1) }
    }

    fileprivate init(_ reader: inout SnapshotReader) throws(SnapshotDefect) {
        self.init(
            minimum: try reader.optional { (r) throws(SnapshotDefect) in try r.parsed(AppVersion.init) },
            maximum: try reader.optional { (r) throws(SnapshotDefect) in try r.parsed(AppVersion.init) },
            excluded: try reader.each { (r) throws(SnapshotDefect) in try r.parsed(AppVersion.init) },
            minimumBuild: try reader.optional { (r) throws(SnapshotDefect) in try r.number() }
        )
    }
}
