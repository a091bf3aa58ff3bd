package import PinWire

/// A key that signs the log's checkpoints, or did: its public half.
package struct LogKey: Hashable, Sendable {
    /// RFC 7638 thumbprint of the public key.
    package let kid: String
    /// The Ed25519 public key, 32 bytes.
    package let publicKey: [UInt8]
    package let createdAt: Timestamp
    /// Since when it signs no more; nil while it signs.
    package var retiredAt: Timestamp?

    /// The key as verifiers of a log take it, a "vkey".
    package func verifier(for name: LogName) -> String { NoteKeyText.vkey(name, 0x01, self.publicKey) }
}

/// A log that ended because events were lost, which it had shown.
package struct EarlierLog: Hashable, Sendable {
    package var origin: LogName
    /// The furthest end of it that was known.
    package var end: HistoryRestoration.End

    package init(origin: LogName, end: HistoryRestoration.End) {
        self.origin = origin
        self.end = end
    }
}

/// A witness of the log (C2SP tlog-witness): it cosigns checkpoints that extend all it has cosigned before, so that nobody is
/// shown another history.
package struct LogWitness: Hashable, Sendable {
    /// The name under which it signs.
    package let name: LogName
    /// Its Ed25519 public key, 32 bytes.
    package let publicKey: [UInt8]
    /// The address below which it takes checkpoints (C2SP: submission prefix). A slash at its end makes no difference.
    package let url: OutgoingURL
    /// The address below which it shows what it has cosigned (C2SP: monitoring prefix); nil where that is ``url``.
    package let monitoringURL: OutgoingURL?

    package init(name: LogName, publicKey: [UInt8], url: OutgoingURL, monitoringURL: OutgoingURL?) {
        self.name = name
        self.publicKey = publicKey
        self.url = url
        self.monitoringURL = monitoringURL
    }

    /// The first four bytes of SHA-256(name ‖ 0x0A ‖ 0x04 ‖ public key), as 8 hexadecimal digits (C2SP tlog-cosignature).
    package var keyID: String { NoteKeyText.id(self.name, 0x04, self.publicKey) }

    /// The key as verifiers take it, a "vkey".
    package var verifier: String { NoteKeyText.vkey(self.name, 0x04, self.publicKey) }
}

/// Keys of signed notes as text (C2SP signed-note): `<name>+<key ID>+<base64(type ‖ public key)>`.
private enum NoteKeyText {
    static func id(_ name: LogName, _ type: UInt8, _ publicKey: [UInt8]) -> String {
        Hex.encode(Array(sha256(Array("\(name)\n".utf8) + [type] + publicKey).prefix(4)))
    }

    static func vkey(_ name: LogName, _ type: UInt8, _ publicKey: [UInt8]) -> String {
        "\(name)+\(Self.id(name, type, publicKey))+\(Base64.encode([type] + publicKey))"
    }
}

/// The transparency log over the ledger's entries: the state of the stream `log`.
package struct LogSettings: Hashable, Sendable {
    /// The number of events in the stream.
    package var version: Int64 = 0
    /// The log's name; nil until the log is opened. It changes only after a loss: another name is another log.
    package var origin: LogName?
    /// Since when the log has its name.
    package var namedAt: Timestamp?
    /// The logs that ended when events were lost, the oldest first.
    package var earlier: [EarlierLog] = []
    /// All keys, the oldest first. Checkpoints have a signature of each that is not retired.
    package var keys: [LogKey] = []
    /// The witnesses that are asked to cosign, in the order in which they were added.
    package var witnesses: [LogWitness] = []
    /// How many of them have to have cosigned a checkpoint before it is shown; 0 for none.
    package var quorum: Int64 = 0
    /// Whether everyone may read the log, or only who has a token.
    package var isPublic = false
    /// Whether each published version of a document is recorded, so that there is a proof of it in the log.
    package var recordsDocuments = false

    /// The most keys that sign at the same time.
    package static let signerLimit = 4
    /// The most witnesses. With the log's own signatures, a checkpoint has no more than the 16 that every verifier reads.
    package static let witnessLimit = 12

    package init() {}

    /// The keys that sign.
    package var signers: [LogKey] { self.keys.filter { $0.retiredAt == nil } }

    package mutating func evolve(_ event: LogEvent, at time: Timestamp) {
        self.version += 1
        switch event {
        case .logOpened(let origin, let kid, let publicKey):
            self.origin = origin
            self.namedAt = time
            self.keys.append(LogKey(kid: kid, publicKey: publicKey, createdAt: time))
        case .logContinued(let origin, let earlier):
            self.earlier.append(earlier)
            self.origin = origin
            self.namedAt = time
        case .logKeyAdded(let kid, let publicKey):
            self.keys.append(LogKey(kid: kid, publicKey: publicKey, createdAt: time))
        case .logKeyRetired(let kid):
            guard let index = self.keys.firstIndex(where: { $0.kid == kid }) else { break }
            self.keys[index].retiredAt = time
        case .logWitnessAdded(let witness): self.witnesses.append(witness)
        case .logWitnessRemoved(let name, let publicKey):
            self.witnesses.removeAll { $0.name == name && $0.publicKey == publicKey }
        case .logQuorumSet(let quorum): self.quorum = quorum
        case .logAccessSet(let isPublic): self.isPublic = isPublic
        case .logDocumentProofsSet(let isSet): self.recordsDocuments = isSet
        }
    }

    /// The events that a command causes.
    func decide(_ command: LogCommand, in context: DecisionContext) throws(Refusal) -> [LogEvent] {
        switch command {
        case .open(let origin, let kid, let publicKey):
            if let name = self.origin { throw .logOpen(name) }
            return [.logOpened(origin: origin, kid: kid, publicKey: publicKey)]
        case .continueAs(let origin, let end):
            guard let present = self.origin else { throw .logNotOpen }
            guard origin != present, !self.earlier.contains(where: { $0.origin == origin }) else {
                throw .logOpen(origin)
            }
            return [.logContinued(origin: origin, after: EarlierLog(origin: present, end: end))]
        case .addKey(let kid, let publicKey):
            guard self.origin != nil else { throw .logNotOpen }
            guard !self.keys.contains(where: { $0.kid == kid }) else { throw .keyExists(kid) }
            guard self.signers.count < Self.signerLimit else { throw .tooManyLogKeys(limit: Self.signerLimit) }
            return [.logKeyAdded(kid: kid, publicKey: publicKey)]
        case .retireKey(let kid):
            guard let key = self.keys.first(where: { $0.kid == kid }) else { throw .keyUnknown(kid) }
            guard key.retiredAt == nil else { throw .keyRetired(kid) }
            guard self.signers.count > 1 else { throw .logKeyLast(kid) }
            return [.logKeyRetired(kid: kid)]
        case .addWitness(let witness):
            guard self.origin != nil else { throw .logNotOpen }
            guard
                !self.witnesses.contains(where: { $0.keyID == witness.keyID || $0.publicKey == witness.publicKey })
            else { throw .witnessExists(witness.keyID) }
            guard self.witnesses.count < Self.witnessLimit else { throw .tooManyWitnesses(limit: Self.witnessLimit) }
            return [.logWitnessAdded(witness)]
        case .removeWitness(let id):
            guard let witness = self.witnesses.first(where: { $0.keyID == id }) else { throw .witnessUnknown(id) }
            guard self.witnesses.count > self.quorum else {
                throw .quorumUnreachable(self.quorum, of: self.witnesses.count - 1)
            }
            return [.logWitnessRemoved(name: witness.name, publicKey: witness.publicKey)]
        case .setQuorum(let quorum):
            guard self.origin != nil else { throw .logNotOpen }
            guard quorum <= self.witnesses.count else { throw .quorumUnreachable(quorum, of: self.witnesses.count) }
            return quorum == self.quorum ? [] : [.logQuorumSet(quorum)]
        case .update(let isPublic, let recordsDocuments):
            guard self.origin != nil else { throw .logNotOpen }
            var events: [LogEvent] = []
            if let isPublic, isPublic != self.isPublic {
                if isPublic { try context.requireReason("it lets everyone read who changed what, and why") }
                events.append(.logAccessSet(isPublic: isPublic))
            }
            if let recordsDocuments, recordsDocuments != self.recordsDocuments {
                events.append(.logDocumentProofsSet(recordsDocuments))
            }
            return events
        }
    }
}

/// A fact about the log. Private halves of keys are never events: recorded data can never be erased.
package enum LogEvent: Hashable, Sendable {
    case logOpened(origin: LogName, kid: String, publicKey: [UInt8])
    /// Events were lost, and the log goes on as another one, with the same keys.
    case logContinued(origin: LogName, after: EarlierLog)
    case logKeyAdded(kid: String, publicKey: [UInt8])
    case logKeyRetired(kid: String)
    case logWitnessAdded(LogWitness)
    case logWitnessRemoved(name: LogName, publicKey: [UInt8])
    case logQuorumSet(Int64)
    /// Everyone may read the log from now on, or only who has a token.
    case logAccessSet(isPublic: Bool)
    /// Published documents are recorded from now on, or are no more.
    case logDocumentProofsSet(Bool)
}

/// A command about the log.
package enum LogCommand: Hashable, Sendable {
    case open(origin: LogName, kid: String, publicKey: [UInt8])
    /// Ends the log at the furthest end of it that is known, and goes on under another name. Only `pinledger recover` does
    /// this.
    case continueAs(LogName, after: HistoryRestoration.End)
    case addKey(kid: String, publicKey: [UInt8])
    case retireKey(kid: String)
    case addWitness(LogWitness)
    case removeWitness(keyID: String)
    /// Not negative.
    case setQuorum(Int64)
    /// Nil leaves a setting as it is.
    case update(isPublic: Bool?, recordsDocuments: Bool?)
}

extension LedgerState {
    /// The name under which checkpoints may be signed; nil where the log is not open, or events were lost since it has its
    /// name: the log of that name has shown other entries in their place.
    package var signableOrigin: LogName? {
        guard let origin = self.log.origin, let since = self.log.namedAt else { return nil }
        return self.fleet.epochs.last.map { $0.beganAt <= since } ?? true ? origin : nil
    }
}

extension LedgerState {
    /// The epoch in which the log got the name that it has: a checkpoint of that name is of this epoch. Nil for another name.
    package func epoch(ofLog origin: LogName) -> Int64? {
        guard origin == self.log.origin, let since = self.log.namedAt else { return nil }
        return self.fleet.epochs.last { $0.beganAt <= since }?.number ?? 0
    }
}

extension LedgerState {
    /// The signing keys whose private halves have no use any more, of documents and of the log.
    package var retiredKeyIDs: [String] {
        self.keys.keys.values.filter { $0.state == .retired }.map(\.kid)
            + self.log.keys.filter { $0.retiredAt != nil }.map(\.kid)
    }
}
