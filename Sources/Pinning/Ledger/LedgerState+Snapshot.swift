import PinWire

// The compact form of the state in snapshots. It comes in parts, so that neither writing nor reading a large state
// takes a thread for long: the first holds everything but apps, each further one a shard of the apps.
//
// Canonical: equal states give equal bytes, by which two folds are compared.

extension LedgerState {
    /// Changes whenever the fold or its snapshot's form does: a snapshot of another fold version is not read.
    package static let foldVersion: Int32 = 24

    /// Parts of every snapshot.
    package static let snapshotPartCount = 1 + AppTable.shardCount

    /// One part of the snapshot.
    package func snapshotPart(_ index: Int) -> [UInt8] {
        var out = SnapshotWriter()
        if index == 0 {
            self.fleet.write(to: &out)
            self.keys.write(to: &out)
            self.access.write(to: &out)
            self.webhooks.write(to: &out)
            self.log.write(to: &out)
            self.changes.write(to: &out)
            out.add(self.audit.version)
        } else {
            out.add(each: self.apps.shard(index - 1)) { $1.write(to: &$0) }
        }
        return out.bytes
    }

    /// Takes in one part of a snapshot, after those before it.
    ///
    /// - Throws: ``SnapshotDefect`` where it does not come from ``snapshotPart(_:)``.
    package mutating func restore(part index: Int, from bytes: ArraySlice<UInt8>) throws(SnapshotDefect) {
        var reader = SnapshotReader(bytes)
        if index == 0 {
            self.fleet = try Fleet(&reader)
            self.keys = try KeyRing(&reader)
            self.access = try Access(&reader)
            self.webhooks = try Webhooks(&reader)
            self.log = try LogSettings(&reader)
            self.changes = try ProposedChanges(&reader)
            self.audit.version = try reader.number()
        } else {
            let apps = try reader.each { (r) throws(SnapshotDefect) in try App(&r) }
            for (place, app) in apps.enumerated() {
                guard AppTable.shard(of: app.id) == index - 1, place == 0 || apps[place - 1].id < app.id else {
                    throw SnapshotDefect(description: "\(app.id) does not stand in its place")
                }
                self.apps.insert(app)
            }
        }
        try reader.finish()
    }
}

extension KillSwitch {
    func write(to out: inout SnapshotWriter) {
        out.add(self.engagedAt)
        out.add(self.expiresAt)
    }

    init(_ reader: inout SnapshotReader) throws(SnapshotDefect) {
        self.init(engagedAt: try reader.time(), expiresAt: try reader.time())
    }
}

extension Fleet {
    fileprivate func write(to out: inout SnapshotWriter) {
        out.add(self.raisedBy)
        out.add(each: self.epochs) { out, epoch in
            out.add(epoch.number)
            out.add(epoch.firstPosition)
            out.add(epoch.beganAt)
            out.add(epoch.lostSize) { $0.add($1) }
        }
        out.add(self.version)
        out.add(self.issuer)
        out.add(self.killSwitch) { $1.write(to: &$0) }
        out.add(self.switchEndedAt) { $0.add($1) }
        out.add(each: self.loweredRails.sorted()) { $0.add(place: $1) }
        out.add(self.featureLevel)
    }

    fileprivate init(_ reader: inout SnapshotReader) throws(SnapshotDefect) {
        let raisedBy: Int64 = try reader.number()
        let epochs = try reader.each { (r) throws(SnapshotDefect) in
            Epoch(
                number: try r.number(), firstPosition: try r.number(), beganAt: try r.time(),
                lostSize: try r.optional { (r) throws(SnapshotDefect) in try r.number() })
        }
        self.init(epochs: epochs, raisedBy: raisedBy)
        self.version = try reader.number()
        self.issuer = try reader.text()
        self.killSwitch = try reader.optional { (r) throws(SnapshotDefect) in try KillSwitch(&r) }
        self.switchEndedAt = try reader.optional { (r) throws(SnapshotDefect) in try r.time() }
        self.loweredRails = Set(try reader.each { (r) throws(SnapshotDefect) in try r.value(GuardRail.self) })
        self.featureLevel = try reader.number()
    }
}

extension KeyRing {
    fileprivate func write(to out: inout SnapshotWriter) {
        out.add(self.version)
        out.add(self.activeKeyID) { $0.add($1) }
        out.add(each: self.keys.values.sorted { $0.kid < $1.kid }) { out, key in
            out.add(key.kid)
            out.add(raw: key.publicKey)
            out.add(place: key.state)
            out.add(key.createdAt)
            for time in [key.activatedAt, key.supersededAt, key.retiredAt] { out.add(time) { $0.add($1) } }
        }
        out.add(each: self.roots) { out, root in
            out.add(root.publishedAt)
            out.add(json: root.root.file.json)
        }
    }

    fileprivate init(_ reader: inout SnapshotReader) throws(SnapshotDefect) {
        self.init()
        self.version = try reader.number()
        self.activeKeyID = try reader.optional { (r) throws(SnapshotDefect) in try r.text() }
        let keys = try reader.each { (r) throws(SnapshotDefect) in
            var key = SigningKey(
                kid: try r.text(), publicKey: try r.raw(), state: try r.value(SigningKeyState.self),
                createdAt: try r.time()
            )
            key.activatedAt = try r.optional { (r) throws(SnapshotDefect) in try r.time() }
            key.supersededAt = try r.optional { (r) throws(SnapshotDefect) in try r.time() }
            key.retiredAt = try r.optional { (r) throws(SnapshotDefect) in try r.time() }
            return key
        }
        for key in keys { self.keys[key.kid] = key }
        let roots = try reader.each { (r) throws(SnapshotDefect) in
            (try r.time(), try r.json { (field) throws(JSONDefect) in try SignedRoot(field) })
        }
        for (time, file) in roots {
            do throws(RootOfTrust.Failure) { try self.take(file, at: time) } catch {
                throw SnapshotDefect(description: "the root of trust \(file.metadata.version): \(error)")
            }
        }
    }
}

extension LogSettings {
    fileprivate func write(to out: inout SnapshotWriter) {
        out.add(self.version)
        out.add(self.origin?.text) { $0.add($1) }
        out.add(self.namedAt) { $0.add($1) }
        out.add(each: self.earlier) { out, log in
            out.add(log.origin.text)
            out.add(log.end.size)
            out.add(raw: log.end.root)
        }
        out.add(each: self.keys) { out, key in
            out.add(key.kid)
            out.add(raw: key.publicKey)
            out.add(key.createdAt)
            out.add(key.retiredAt) { $0.add($1) }
        }
        out.add(each: self.witnesses) { out, witness in
            out.add(witness.name.text)
            out.add(raw: witness.publicKey)
            out.add(witness.url.text)
            out.add(witness.monitoringURL?.text) { $0.add($1) }
        }
        out.add(self.quorum)
        out.add(self.isPublic)
        out.add(self.recordsDocuments)
    }

    fileprivate init(_ reader: inout SnapshotReader) throws(SnapshotDefect) {
        self.init()
        self.version = try reader.number()
        func name(_ r: inout SnapshotReader) throws(SnapshotDefect) -> LogName {
            guard let name = LogName(try r.text()) else { throw SnapshotDefect(description: "the log has no name") }
            return name
        }
        self.origin = try reader.optional { (r) throws(SnapshotDefect) in try name(&r) }
        self.namedAt = try reader.optional { (r) throws(SnapshotDefect) in try r.time() }
        self.earlier = try reader.each { (r) throws(SnapshotDefect) in
            EarlierLog(origin: try name(&r), end: .init(size: try r.number(), root: try r.raw()))
        }
        self.keys = try reader.each { (r) throws(SnapshotDefect) in
            var key = LogKey(kid: try r.text(), publicKey: try r.raw(), createdAt: try r.time())
            key.retiredAt = try r.optional { (r) throws(SnapshotDefect) in try r.time() }
            return key
        }
        self.witnesses = try reader.each { (r) throws(SnapshotDefect) in
            LogWitness(
                name: try name(&r), publicKey: try r.raw(), url: try r.parsed(OutgoingURL.init),
                monitoringURL: try r.optional { (r) throws(SnapshotDefect) in try r.parsed(OutgoingURL.init) })
        }
        self.quorum = try reader.number()
        self.isPublic = try reader.flag()
        self.recordsDocuments = try reader.flag()
    }
}
