import EventStore
import Keys
import LogLines
import Logging
import PinWire
import Pinning

/// Decides whether a stored document may be served, by the ledger as this node knows it at that moment.
///
/// The columns beside a document prove nothing by themselves: anyone with write access to the database may have written
/// them. A document counts once a key of the ledger has signed it, the row repeats the signed values, and the ledger
/// has reached its position and makes the same content for its version.
struct DocumentJudge: Sendable {
    let ledger: Ledger
    let logger: Logger

    /// What to do with a stored document.
    enum Ruling: Hashable, Sendable {
        /// It may be served, unless a newer one is.
        case serve
        /// It was made at a position that the database has reached and this node has not: judge it again there.
        case wait
        /// It is not a document of this ledger: do not serve or keep it.
        case refuse(String)
    }

    /// The ruling on a document. Halts the node where a published document with a valid signature differs from the
    /// ledger: both cannot be right, and a person has to find out which one is wrong. The document is served then, as
    /// all earlier ones.
    func rule(on stored: DocumentStore.Stored) -> Ruling {
        let document = stored.document
        let fault = self.ledger.fault
        switch Self.verdict(
            on: stored, by: self.ledger.view, isHalted: fault != nil, isLeft: self.ledger.isLeft,
            isBehind: self.ledger.unsigned != nil,
            takesLaterForms: fault?.meansUpgrade == true, keysAhead: fault == nil ? [:] : self.ledger.keysAhead ?? [:])
        {
        case .sound: return .serve
        case .ahead: return .wait
        case .later(let reason), .elsewhere(let reason): return .refuse(reason)
        case .unfit(let defect):
            self.logger.log(
                .documentDamaged, ["app": "\(document.app)", "version": "\(document.version)", "defect": "\(defect)"])
            return .refuse(defect)
        case .contradicts(let fault):
            self.halt(fault)
            return .serve
        }
    }

    /// Halts the node, because documents and ledger contradict each other.
    func halt(_ fault: LedgerFault) {
        guard self.ledger.fault == nil else { return }
        self.ledger.halt(fault)
        self.logger.log(.documentsContradictLedger, ["fault": "\(fault)"])
    }

    /// Only the keys of the ledger so far count: the rest of it lies behind the documents.
    private static let nothing = LedgerState()

    /// Whether a document is signed by a key of the ledger and matches its row, without comparing it with the ledger.
    func isAuthentic(_ document: DocumentStore.Signed) -> Bool {
        let (state, fault) = (self.ledger.view.state, self.ledger.fault)
        let keysAhead = fault == nil ? nil : self.ledger.keysAhead
        let authenticity = Self.authenticity(
            of: document, in: state, takesLaterForms: fault?.meansUpgrade == true
        ) { state.keys.keys[$0]?.publicKey ?? keysAhead?[$0] }
        if case .authentic = authenticity { return true }
        return false
    }

    /// The ruling on a document while the ledger is still to be read: by its signature alone. The form may be one that begins
    /// with an event which this node has still to read.
    func earlyRule(on stored: DocumentStore.Stored) -> Ruling {
        let authenticity = Self.authenticity(of: stored.document, in: Self.nothing, takesLaterForms: true) {
            self.ledger.keyWhileReading($0)
        }
        if case .authentic = authenticity { return .serve }
        return .refuse("no key that this node remembers has signed it")
    }

    // MARK: Judging

    enum Verdict: Hashable, Sendable {
        case sound
        case ahead
        case unfit(String)
        /// A node that waits for its upgrade does not know the key, which a later event may have made.
        case later(String)
        /// The database holds another history than the node has followed, and the document may be of that one.
        case elsewhere(String)
        case contradicts(LedgerFault)
    }

    /// - Parameters:
    ///   - isHalted: Whether the view no longer advances: then waiting for it is useless, and the content it makes for a
    ///     version is in doubt. A document is judged by its signature alone.
    ///   - isLeft: Whether a halted node's database holds another history since, and the view is the whole of the one before.
    ///   - isBehind: Whether the view waits for signatures of events. A document of such an event is judged by its signature
    ///     alone.
    ///   - takesLaterForms: Whether later programs sign documents with members that this one does not know.
    ///   - keysAhead: Keys of a later state than the view's, of a node that has halted before it.
    static func verdict(
        on stored: DocumentStore.Stored, by view: LedgerView, isHalted: Bool, isLeft: Bool = false,
        isBehind: Bool = false,
        takesLaterForms: Bool = false, keysAhead: [String: [UInt8]] = [:]
    ) -> Verdict {
        let document = stored.document
        let isAhead = document.position > view.head.position
        let made: [UInt8]?
        // What lies ahead may be of a form that begins with an event which this node has still to read.
        let authenticity = self.authenticity(
            of: document, in: view.state, takesLaterForms: takesLaterForms || isAhead
        ) { view.state.keys.keys[$0]?.publicKey ?? keysAhead[$0] }
        switch authenticity {
        case .unknownKey(let reason):
            // The key may be of an event that this node has still to read; where the database has no such event, the
            // key is unknown.
            if isAhead, document.position <= stored.ledgerEnd, !isHalted { return .ahead }
            if isLeft { return .elsewhere(reason) }
            return takesLaterForms ? .later(reason) : .unfit(reason)
        case .unfit(let reason): return .unfit(reason)
        case .authentic(let digest): made = digest
        }
        let version = view.state.documentVersion(of: document.app) ?? 0
        if isLeft {
            // Both histories use the same versions.
            guard document.version < version || document.version == version && made == document.contentDigest else {
                return .elsewhere("it is not of the history that this node has followed")
            }
        }
        guard !isHalted else { return .sound }
        guard document.position <= stored.ledgerEnd else {
            return .contradicts(.shrunk(from: document.position, to: stored.ledgerEnd))
        }
        if isBehind, isAhead || stored.isKept { return .sound }
        if document.version == version {
            let made = made ?? view.state.document(of: document.app)?.contentDigest ?? []
            guard made == document.contentDigest else {
                return .contradicts(
                    .contradicted(
                        app: document.app.text, version: version, published: Hex.encode(document.contentDigest),
                        made: Hex.encode(made)))
            }
            return .sound
        }
        if isAhead { return .ahead }
        guard document.version < version else {
            return .contradicts(.unrecorded(app: document.app.text, version: document.version, recorded: version))
        }
        return .sound
    }

    private enum Authenticity {
        /// With the digest of the content that the ledger makes for this version, where that was computed.
        case authentic(made: [UInt8]?)
        case unknownKey(String)
        case unfit(String)
    }

    /// - Parameter publicKey: The public key with an id, 32 bytes.
    private static func authenticity(
        of stored: DocumentStore.Signed, in state: LedgerState, takesLaterForms: Bool,
        publicKey: (String) -> [UInt8]?
    ) -> Authenticity {
        let payload: [UInt8]
        do {
            let text = String(decoding: stored.body, as: UTF8.self)
            let jws = try CompactJWS(parsing: text, type: Publisher.documentType)
            guard jws.keyID == stored.keyID else { return .unfit("it is signed by another key than stands beside it") }
            guard let key = publicKey(jws.keyID).flatMap({ Ed25519PublicKey($0) }) else {
                return .unknownKey("it is signed by a key that the ledger does not have")
            }
            payload = try jws.verify(with: key)
        } catch {
            return .unfit("\(error)")
        }
        // Nearly always it is the content that the ledger makes, which is found out without parsing the document.
        var made: [UInt8]?
        if state.documentVersion(of: stored.app) == stored.version,
            let document = state.document(of: stored.app)
        {
            let digest = document.contentDigest
            if digest == stored.contentDigest,
                document.payload(issuedAt: stored.issuedAt, expiresAt: stored.expiresAt) == payload
            {
                return stored.hasWholeSeconds ? .authentic(made: digest) : .unfit(Self.otherColumns)
            }
            made = digest
        }
        let issued: DocumentEnvelope
        do {
            issued =
                try takesLaterForms
                ? DocumentEnvelope(anyForm: payload) : DocumentEnvelope(IssuedDocument(payload: payload))
        } catch {
            return .unfit("\(error)")
        }
        guard issued.app == stored.app else { return .unfit("it is the document of \(issued.app)") }
        guard !issued.isEvaluated else { return .unfit("it was decided for single devices") }
        guard issued.version == stored.version, issued.contentDigest == stored.contentDigest,
            issued.issuedAt == stored.issuedAt, issued.expiresAt == stored.expiresAt
        else { return .unfit(Self.otherColumns) }
        return .authentic(made: made)
    }

    private static let otherColumns = "its version, digest or times are others than stand beside it"
}

extension DocumentStore.Signed {
    /// Whether the times beside the document are within its range.
    fileprivate var hasWholeSeconds: Bool {
        Timestamp(seconds: self.issuedAt.seconds) == self.issuedAt
            && Timestamp(seconds: self.expiresAt.seconds) == self.expiresAt
    }
}
