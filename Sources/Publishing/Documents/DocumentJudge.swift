import EventStore
import Keys
import LogLines
import Logging
import PinWire
import Pinning

/// Decides whether a stored document may be served, by the ledger as this node knows it at that moment.
///
/// What the row beside a document says is worth nothing by itself: whoever may write to the database may have written
/// it. A document counts once a key of the ledger has signed it, the row repeats what was signed, and the ledger has come
/// to its position and makes the same content of its version.
struct DocumentJudge: Sendable {
    let ledger: Ledger
    let logger: Logger

    /// What to do with a stored document.
    enum Ruling: Hashable, Sendable {
        /// It may be served, where nothing newer is.
        case serve
        /// It was made at a position that this node has not reached, and the database has: to be asked again there.
        case wait
        /// It is no document of this ledger: not to be served or kept.
        case refuse(String)
    }

    /// The ruling on a document. Halts the node where what was published under a valid signature is not what the ledger
    /// says: both cannot be right, and which one is wrong is for a person to find out. The document is served then, as
    /// all that was published before.
    func rule(on stored: DocumentStore.Stored) -> Ruling {
        let document = stored.document
        switch Self.verdict(on: stored, by: self.ledger.view, isHalted: self.ledger.fault != nil) {
        case .sound: return .serve
        case .ahead: return .wait
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

    /// Whether a document is signed by a key of the ledger and is what its row says, whatever the ledger makes of it.
    func isAuthentic(_ document: DocumentStore.Signed) -> Bool {
        let view = self.ledger.view
        if case .authentic = Self.authenticity(of: document, in: view) { return true }
        return false
    }

    // MARK: Judging

    enum Verdict: Hashable, Sendable {
        case sound
        case ahead
        case unfit(String)
        case contradicts(LedgerFault)
    }

    /// - Parameter isHalted: Whether the view stays where it is: then it cannot be waited for, and what it makes of a
    ///   version is in doubt. A document is judged by its signature alone.
    static func verdict(on stored: DocumentStore.Stored, by view: LedgerView, isHalted: Bool) -> Verdict {
        let document = stored.document
        let isAhead = document.position > view.head.position
        let made: [UInt8]?
        switch self.authenticity(of: document, in: view) {
        case .unknownKey(let reason):
            // The key may be of an event that this node has still to read; where the database has no such event, it is of none.
            return isAhead && document.position <= stored.ledgerEnd && !isHalted ? .ahead : .unfit(reason)
        case .unfit(let reason): return .unfit(reason)
        case .authentic(let digest): made = digest
        }
        guard !isHalted else { return .sound }
        guard document.position <= stored.ledgerEnd else {
            return .contradicts(.shrunk(from: document.position, to: stored.ledgerEnd))
        }
        let version = view.state.documentVersion(of: document.app) ?? 0
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
        /// With the digest of the content that the ledger makes of this version, where that was computed.
        case authentic(made: [UInt8]?)
        case unknownKey(String)
        case unfit(String)
    }

    private static func authenticity(of stored: DocumentStore.Signed, in view: LedgerView) -> Authenticity {
        let payload: [UInt8]
        do {
            let text = String(decoding: stored.body, as: UTF8.self)
            let jws = try CompactJWS(parsing: text, type: Publisher.documentType)
            guard jws.keyID == stored.keyID else { return .unfit("it is signed by another key than stands beside it") }
            guard let key = view.state.keys.keys[jws.keyID].flatMap({ Ed25519PublicKey($0.publicKey) }) else {
                return .unknownKey("it is signed by a key that the ledger does not have")
            }
            payload = try jws.verify(with: key)
        } catch {
            return .unfit("\(error)")
        }
        // Nearly always it is what the ledger makes of it, which is found out without reading the document.
        var made: [UInt8]?
        if view.state.documentVersion(of: stored.app) == stored.version,
            let document = view.state.document(of: stored.app)
        {
            let digest = document.contentDigest
            if digest == stored.contentDigest,
                document.payload(issuedAt: stored.issuedAt, expiresAt: stored.expiresAt) == payload
            {
                return stored.hasWholeSeconds ? .authentic(made: digest) : .unfit(Self.otherColumns)
            }
            made = digest
        }
        let issued: IssuedDocument
        do { issued = try IssuedDocument(payload: payload) } catch { return .unfit("\(error)") }
        guard issued.document.app == stored.app else { return .unfit("it is the document of \(issued.document.app)") }
        guard issued.document.evaluatedFrom == nil else { return .unfit("it was decided for single devices") }
        guard issued.document.version == stored.version, issued.contentDigest == stored.contentDigest,
            issued.issuedAt == stored.issuedAt, issued.expiresAt == stored.expiresAt
        else { return .unfit(Self.otherColumns) }
        return .authentic(made: made)
    }

    private static let otherColumns = "its version, digest or times are others than stand beside it"
}

extension DocumentStore.Signed {
    /// Whether the times beside the document are such as it can hold.
    fileprivate var hasWholeSeconds: Bool {
        Timestamp(seconds: self.issuedAt.seconds) == self.issuedAt
            && Timestamp(seconds: self.expiresAt.seconds) == self.expiresAt
    }
}
