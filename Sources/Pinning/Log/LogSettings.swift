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

    /// The key as verifiers of a log take it, a "vkey" (C2SP signed-note): `<name>+<key ID>+<base64(0x01 ‖ public key)>`.
    package func verifier(for name: LogName) -> String {
        let key = [0x01] + self.publicKey
        let id = sha256(Array("\(name)\n".utf8) + key).prefix(4)
        return "\(name)+\(Hex.encode(id))+\(Base64.encode(key))"
    }
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

    /// The most keys that sign at the same time.
    package static let signerLimit = 4

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
        }
    }

    /// The events that a command causes.
    func decide(_ command: LogCommand) throws(Refusal) -> [LogEvent] {
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
}

/// A command about the log.
package enum LogCommand: Hashable, Sendable {
    case open(origin: LogName, kid: String, publicKey: [UInt8])
    /// Ends the log at the furthest end of it that is known, and goes on under another name. Only `pinledger recover` does
    /// this.
    case continueAs(LogName, after: HistoryRestoration.End)
    case addKey(kid: String, publicKey: [UInt8])
    case retireKey(kid: String)
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
    /// The signing keys whose private halves have no use any more, of documents and of the log.
    package var retiredKeyIDs: [String] {
        self.keys.keys.values.filter { $0.state == .retired }.map(\.kid)
            + self.log.keys.filter { $0.retiredAt != nil }.map(\.kid)
    }
}
