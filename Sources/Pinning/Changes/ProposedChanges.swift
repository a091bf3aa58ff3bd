package import PinWire

/// The proposed changes: the state of the stream `changes`.
package struct ProposedChanges: Hashable, Sendable {
    /// The number of events in the stream.
    package var version: Int64 = 0
    /// By their ids: all that are open or await a review, and the last ones that ended. Earlier ones are in the history.
    package private(set) var changes: [String: ProposedChange] = [:]

    package init() {}

    package subscript(id: String) -> ProposedChange? { self.changes[id] }

    /// How many may be kept before those that ended first are left out, and how many are kept then.
    static let (fullCount, keptCount) = (4_000, 2_000)

    /// Takes in one more event; one that does not fit (which `decide` never makes) changes nothing but the version.
    package mutating func evolve(_ event: ChangeEvent, at time: Timestamp) {
        self.version += 1
        switch event {
        case .created(let id, let author, let content, let expiresAt, let status):
            guard self.changes[id] == nil else { return }
            self.makeRoom(at: time)
            self.changes[id] = ProposedChange(
                id: id, createdAt: time, expiresAt: expiresAt, author: author, content: content, status: status)
        case .edited(let id, let author, let content, let expiresAt):
            self.update(id) { change in
                change.author = author
                if !change.isContributor(author) { change.contributors.append(author) }
                change.content = content
                change.contentDigest = content.digest(of: id)
                change.expiresAt = expiresAt
                change.approvals = []
                change.obstacle = nil
                if change.recordedStatus == .suspended { change.become(.proposed, at: time) }
            }
        case .proposed(let id):
            self.update(id) { change in
                change.obstacle = nil
                change.become(.proposed, at: time)
            }
        case .approved(let id, let approver, let digest, let signature):
            self.update(id) { change in
                guard digest == change.contentDigest else { return }
                let approval = ProposedChange.Approval(approver: approver, time: time, signature: signature)
                if let place = change.approvals.firstIndex(where: { $0.approver.isSameParty(as: approver) }) {
                    // Given again with a signature, or with that of another key.
                    if signature != nil { change.approvals[place] = approval }
                } else if change.approvals.count < ProposedChange.peopleLimit {
                    change.approvals.append(approval)
                }
            }
        case .rejected(let id, let actor): self.close(id, .rejected, by: actor, at: time)
        case .withdrawn(let id, let actor): self.close(id, .withdrawn, by: actor, at: time)
        case .suspended(let id, let obstacle):
            self.update(id) { change in
                change.obstacle = obstacle
                change.become(.suspended, at: time)
            }
        case .applied(let id, let actor, _, let bypassesApprovals):
            self.close(id, .applied, by: actor, at: time)
            self.changes[id]?.bypassedApprovals = bypassesApprovals
        case .reviewed(let id, let reviewer):
            self.update(id) { $0.reviewedBy = .init(approver: reviewer, time: time) }
        }
    }

    private mutating func update(_ id: String, _ body: (inout ProposedChange) -> Void) {
        guard var change = self.changes[id] else { return }
        body(&change)
        self.changes[id] = change
    }

    private mutating func close(_ id: String, _ status: ProposedChange.Status, by actor: Actor, at time: Timestamp) {
        self.update(id) { change in
            change.closedBy = actor
            change.obstacle = nil
            change.become(status, at: time)
        }
    }

    /// Leaves out those that ended first, where there are many: half of them, so that it is rarely done.
    private mutating func makeRoom(at time: Timestamp) {
        guard self.changes.count >= Self.fullCount else { return }
        let ended = self.changes.values.filter { !$0.isOpen(at: time) && !$0.awaitsReview }
        let order = ended.map { (time: min($0.statusSince, $0.expiresAt), id: $0.id) }.sorted { $0 < $1 }
        for (_, id) in order.prefix(self.changes.count - Self.keptCount) { self.changes[id] = nil }
    }

    // MARK: Snapshots

    func write(to out: inout SnapshotWriter) {
        out.add(self.version)
        out.add(each: self.changes.values.sorted { $0.id < $1.id }) { out, change in
            out.add(change.id)
            out.add(change.createdAt)
            out.add(change.expiresAt)
            out.add(json: change.author.json)
            out.add(each: change.contributors) { $0.add(json: $1.json) }
            out.add(json: .object(change.content.members))
            out.add(place: change.recordedStatus)
            out.add(change.statusSince)
            out.add(each: change.approvals) { $0.add(json: $1.json) }
            out.add(change.closedBy) { $0.add(json: $1.json) }
            out.add(change.obstacle) { $0.add($1) }
            out.add(change.bypassedApprovals)
            out.add(change.reviewedBy) { $0.add(json: $1.json) }
        }
    }

    init(_ reader: inout SnapshotReader) throws(SnapshotDefect) {
        self.version = try reader.number()
        func actor(_ r: inout SnapshotReader) throws(SnapshotDefect) -> Actor {
            try r.json { (field) throws(JSONDefect) in try Actor(field) }
        }
        func approval(_ r: inout SnapshotReader) throws(SnapshotDefect) -> ProposedChange.Approval {
            try r.json { (field) throws(JSONDefect) in try ProposedChange.Approval(field) }
        }
        let changes = try reader.each { (r) throws(SnapshotDefect) in
            let (id, createdAt, expiresAt) = (try r.text(), try r.time(), try r.time())
            let author = try actor(&r)
            let contributors = try r.each { (r) throws(SnapshotDefect) in try actor(&r) }
            let content = try r.json { (field) throws(JSONDefect) in
                try field.object { (m) throws(JSONDefect) in try ChangeContent(&m) }
            }
            var change = ProposedChange(
                id: id, createdAt: createdAt, expiresAt: expiresAt, author: author, content: content,
                status: try r.value(ProposedChange.Status.self))
            change.contributors = contributors
            change.statusSince = try r.time()
            change.approvals = try r.each { (r) throws(SnapshotDefect) in try approval(&r) }
            change.closedBy = try r.optional { (r) throws(SnapshotDefect) in try actor(&r) }
            change.obstacle = try r.optional { (r) throws(SnapshotDefect) in try r.text() }
            change.bypassedApprovals = try r.flag()
            change.reviewedBy = try r.optional { (r) throws(SnapshotDefect) in try approval(&r) }
            return change
        }
        for change in changes { self.changes[change.id] = change }
    }
}

extension ProposedChange {
    fileprivate mutating func become(_ status: Status, at time: Timestamp) {
        self.recordedStatus = status
        self.statusSince = time
    }
}
