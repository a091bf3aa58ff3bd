package import EventStore
import Keys
package import PinWire
import Pinning
package import Postgres

/// Compares signed documents with the ledger from which they were made: signatures, claims, content, versions. A pure
/// value.
package struct DocumentCheck: Sendable {
    /// One row of `pinledger.document`.
    package struct Stored: Sendable {
        package var app: String
        package var version: Int64
        /// The stated number of events in it.
        package var position: Int64
        package var contentDigest: [UInt8]
        package var issuedAt: Timestamp
        package var expiresAt: Timestamp
        package var keyID: String
        package var body: [UInt8]

        /// Every stored document, read on a connection.
        package static func all(_ connection: isolated PostgresConnection) throws -> [Stored] {
            var documents: [Stored] = []
            try connection.copyRows(
                """
                COPY (SELECT app, version, position, content_sha256, issued_at, expires_at, kid, body
                      FROM pinledger.document ORDER BY app, version DESC) TO STDOUT (FORMAT binary)
                """
            ) { rows in
                for row in rows {
                    documents.append(
                        Stored(
                            app: try row.text(0), version: try row.int64(1), position: try row.int64(2),
                            contentDigest: try row.bytes(3), issuedAt: Timestamp(microseconds: try row.timestamp(4)),
                            expiresAt: Timestamp(microseconds: try row.timestamp(5)), keyID: try row.text(6),
                            body: try row.bytes(7)
                        )
                    )
                }
            }
            return documents
        }
    }

    package private(set) var findings: [LedgerFinding] = []
    /// Documents that lack their app's newest events: they are published a moment later, and are not damage.
    package private(set) var behind = 0
    private let ledger: LedgerAuditor.Outcome
    private let previous: AuditReport?
    /// Later events may not be published yet.
    private let limit: Timestamp
    /// The apps whose stored documents were judged.
    private var stored: Set<String> = []

    private var state: LedgerState { self.ledger.state }
    private var damagedStreams: Set<String> { self.ledger.damagedStreams }

    /// - Parameters:
    ///   - ledger: The result of reading the ledger.
    ///   - now: When it was read.
    ///   - grace: How many seconds nodes may take to publish recorded changes.
    package init(ledger: LedgerAuditor.Outcome, previous: AuditReport?, at now: Timestamp, grace: Int64) {
        self.init(ledger: ledger, previous: previous, limit: now.adding(seconds: -grace))
    }

    private init(ledger: LedgerAuditor.Outcome, previous: AuditReport?, limit: Timestamp) {
        self.ledger = ledger
        self.previous = previous
        self.limit = limit
    }

    /// Judges every stored document, several at a time.
    package mutating func take(_ documents: [Stored]) async {
        for document in documents where !self.stored.insert(document.app).inserted {
            self.add(
                .documentWrong, document.app, "more than one document is stored: also version \(document.version)")
        }
        let empty = DocumentCheck(ledger: self.ledger, previous: self.previous, limit: self.limit)
        let size = 256
        await withTaskGroup(of: (Int, DocumentCheck).self) { group in
            for first in stride(from: 0, to: documents.count, by: size) {
                group.addTask {
                    var check = empty
                    for document in documents[first..<min(first + size, documents.count)] { check.take(document) }
                    return (first, check)
                }
            }
            var parts: [Int: DocumentCheck] = [:]
            for await (first, check) in group { parts[first] = check }
            for (_, part) in parts.sorted(by: { $0.key < $1.key }) {
                self.findings += part.findings
                self.behind += part.behind
            }
        }
    }

    private mutating func take(_ stored: Stored) {
        self.checkPosition(of: stored)
        if let earlier = self.previous?.documents[stored.app], stored.version < earlier {
            self.add(.versionFell, stored.app, "version \(stored.version) stands where version \(earlier) stood")
        }
        guard let claims = self.verify(stored.body, of: stored.app) else { return }
        let pairs: [(name: String, column: String, said: String)] = [
            ("version", "\(stored.version)", claims.text("version")),
            ("issued_at", "\(stored.issuedAt.seconds)", claims.text("iat")),
            ("expires_at", "\(stored.expiresAt.seconds)", claims.text("exp")),
            ("content_sha256", Hex.encode(stored.contentDigest), claims.text("content_sha256")),
        ]
        for pair in pairs where pair.column != pair.said {
            self.add(
                .documentWrong, stored.app,
                "\(pair.name) is \(pair.column) in its column and \(pair.said) in the document")
        }
        if let header = try? CompactJWS(
            parsing: String(decoding: stored.body, as: UTF8.self), type: Publisher.documentType),
            header.keyID != stored.keyID
        {
            self.add(.documentWrong, stored.app, "kid is \(stored.keyID) in its column and another in the document")
        }
        self.compare(claims, of: stored.app)
    }

    /// A document is made of the ledger up to its position, which is never beyond the ledger's end.
    private mutating func checkPosition(of stored: Stored) {
        guard (0...self.ledger.position).contains(stored.position) else {
            return self.add(
                .documentWrong, stored.app,
                "it is said to take in \(stored.position) events, and the ledger has \(self.ledger.position)")
        }
        guard let id = try? AppID(stored.app), stored.version == self.state.documentVersion(of: id),
            let last = self.ends(of: id).map(\.position).max(), last >= stored.position
        else { return }
        self.add(
            .documentWrong, stored.app,
            "it is said to take in \(stored.position) events, and its version those up to position \(last)")
    }

    /// Notes apps without a stored document, after all stored ones were judged.
    package mutating func finish() {
        for app in self.state.apps.keys.sorted(by: { $0.text < $1.text }) where !self.stored.contains(app.text) {
            guard self.isReadable(app), let time = self.overdue(app) else { continue }
            self.add(
                .documentBehind, app.text,
                """
                no document is stored, and the ledger has had its present version since \(time.rfc3339): no node has \
                published it, or it was deleted
                """)
        }
    }

    /// The ends of the streams from which a document is made.
    private func ends(of app: AppID) -> [LedgerAuditor.StreamEnd] {
        [StreamID.app(app), .fleet].compactMap { self.ledger.ends[$0] }
    }

    /// Whether the fold of a document's streams is reliable.
    private func isReadable(_ app: AppID) -> Bool {
        [StreamID.app(app), .fleet].allSatisfy { !self.damagedStreams.contains($0.text) }
    }

    /// Since when a document of the present version should have been published; nil where a node may still be
    /// publishing it, or none can sign.
    private func overdue(_ app: AppID) -> Timestamp? {
        guard let active = self.state.keys.active else { return nil }
        let times = self.ends(of: app).map(\.time) + [active.activatedAt ?? active.createdAt]
        guard let last = times.max(), last <= self.limit else { return nil }
        return last
    }

    /// Judges a document as a server serves it.
    ///
    /// - Parameter mayBeNewer: Whether the ledger has grown since the state was read.
    package mutating func take(served body: [UInt8], of app: AppID, mayBeNewer: Bool) {
        guard let claims = self.verify(body, of: app.text) else { return }
        if let earlier = self.previous?.documents[app.text], (claims["version"]?.integerValue ?? 0) < earlier {
            self.add(
                .versionFell, app.text, "version \(claims.text("version")) is served where version \(earlier) stood")
        }
        if mayBeNewer, (claims["version"]?.integerValue ?? 0) > (self.state.documentVersion(of: app) ?? 0) { return }
        self.compare(claims, of: app.text)
    }

    /// Notes a document that is not available.
    package mutating func missing(_ app: AppID, _ detail: String) {
        self.add(.documentWrong, app.text, detail)
    }

    /// The payload, if a key of the ledger signed it and its digest is right.
    private mutating func verify(_ body: [UInt8], of app: String) -> JSON? {
        do {
            let jws = try CompactJWS(
                parsing: String(decoding: body, as: UTF8.self), type: Publisher.documentType)
            guard let key = self.state.keys.keys[jws.keyID].flatMap({ Ed25519PublicKey($0.publicKey) }) else {
                guard !self.damagedStreams.contains(StreamID.keys.text) else { return nil }
                self.add(.documentUnverifiable, app, "it is signed by \(jws.keyID), which the ledger does not know")
                return nil
            }
            let claims = try JSON(parsing: try jws.verify(with: key), limits: JSONLimits(depth: 16, nodes: 1_000_000))
            var content = claims.objectValue ?? [:]
            let stated = content.removeValue(forKey: "content_sha256")?.stringValue
            content["iat"] = nil
            content["exp"] = nil
            guard stated == Hex.encode(sha256(JSON.object(content).canonicalBytes)) else {
                self.add(.documentUnverifiable, app, "content_sha256 is not the digest of the content")
                return nil
            }
            return claims
        } catch {
            self.add(.documentUnverifiable, app, "the document does not verify: \(error)")
            return nil
        }
    }

    private mutating func compare(_ claims: JSON, of app: String) {
        guard claims["aud"]?.stringValue == app else {
            return self.add(.documentWrong, app, "the document is for \(claims.text("aud"))")
        }
        // The defects of the ledger there are reported already, and nothing can be compared with it.
        guard let id = try? AppID(app) else { return self.add(.documentWrong, app, "the ledger knows no such app") }
        guard self.isReadable(id) else { return }
        guard let current = self.state.documentVersion(of: id), let document = self.state.document(of: id) else {
            return self.add(.documentWrong, app, "the ledger knows no such app")
        }
        let version = claims["version"]?.integerValue ?? 0
        if version > current {
            self.add(.documentWrong, app, "version \(version) is ahead of the ledger, which has come to \(current)")
        } else if version < current {
            guard let time = self.overdue(id) else {
                self.behind += 1
                return
            }
            self.add(
                .documentBehind, app,
                """
                version \(version) stands where the ledger has come to \(current) since \(time.rfc3339): no node has \
                published that one, or an older document was put back
                """)
        } else if claims["content_sha256"]?.stringValue != Hex.encode(document.contentDigest) {
            self.add(.documentWrong, app, "the content of version \(version) is not what the ledger says")
        }
    }

    private mutating func add(_ code: LedgerFinding.Code, _ app: String, _ detail: String) {
        self.findings.append(LedgerFinding(code, of: app, detail))
    }
}

extension JSON {
    /// A member as text, for comparison and for people.
    fileprivate func text(_ name: String) -> String {
        switch self[name] {
        case .string(let text)?: text
        case let value?: value.canonicalText
        case nil: "missing"
        }
    }
}
