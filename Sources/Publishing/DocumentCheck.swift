package import EventStore
import Keys
package import PinWire
package import Pinning
package import Postgres

/// Compares signed documents with the ledger they were made from: signatures, claims, content, versions. A pure value.
package struct DocumentCheck: Sendable {
    /// One row of `pinledger.document`.
    package struct Stored: Sendable {
        package var app: String
        package var version: Int64
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
                COPY (SELECT app, version, content_sha256, issued_at, expires_at, kid, body FROM pinledger.document
                      ORDER BY app) TO STDOUT (FORMAT binary)
                """
            ) { rows in
                for row in rows {
                    documents.append(
                        Stored(
                            app: try row.text(0), version: try row.int64(1), contentDigest: try row.bytes(2),
                            issuedAt: Timestamp(microseconds: try row.timestamp(3)),
                            expiresAt: Timestamp(microseconds: try row.timestamp(4)), keyID: try row.text(5),
                            body: try row.bytes(6)
                        )
                    )
                }
            }
            return documents
        }
    }

    package private(set) var findings: [LedgerFinding] = []
    /// Documents that do not take in their app's newest events yet: published a moment later, and no damage.
    package private(set) var behind = 0
    private let state: LedgerState
    private let damagedStreams: Set<String>
    private let previous: AuditReport?

    /// - Parameters:
    ///   - state: The fold of the ledger.
    ///   - damagedStreams: Streams whose fold is not to be relied on.
    package init(state: LedgerState, damagedStreams: Set<String>, previous: AuditReport?) {
        self.state = state
        self.damagedStreams = damagedStreams
        self.previous = previous
    }

    /// Judges a stored document.
    package mutating func take(_ stored: Stored) {
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

    /// Notes a document that is not to be had.
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
        // What is wrong with the ledger there is said already, and nothing can be compared with it.
        let streams = ["app/\(app)", StreamID.fleet.text]
        guard streams.allSatisfy({ !self.damagedStreams.contains($0) }) else { return }
        guard let id = try? AppID(app), let current = self.state.documentVersion(of: id),
            let document = self.state.document(of: id)
        else { return self.add(.documentWrong, app, "the ledger knows no such app") }
        let version = claims["version"]?.integerValue ?? 0
        if version > current {
            self.add(.documentWrong, app, "version \(version) is ahead of the ledger, which has come to \(current)")
        } else if version < current {
            self.behind += 1
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
