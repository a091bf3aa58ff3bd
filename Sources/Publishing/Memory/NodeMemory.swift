package import EventStore
package import PinWire
import Pinning
package import TransparencyLog

/// What a node keeps of the ledger outside the database: how far it has followed it, which documents it has served, and the keys
/// that have signed them.
///
/// Nothing inside a database shows that its end was cut off, by a restored backup or by a standby that took over too
/// early. A node that remembers the end of the ledger does notice it.
package struct NodeMemory: Hashable, Sendable {
    /// A document that the node has served.
    package struct Document: Hashable, Sendable {
        package var version: Int64
        /// SHA-256 of the content without the freshness fields, 32 bytes.
        package var contentDigest: [UInt8]

        package init(version: Int64, contentDigest: [UInt8]) {
            self.version = version
            self.contentDigest = contentDigest
        }
    }

    /// The number of events that the node has taken in and verified.
    package var position: Int64
    /// The root of the Merkle tree over them.
    package var root: LogHash
    /// The number of the epoch that the ledger was in.
    package var epoch: Int64
    /// The newest served document of each app.
    package var documents: [AppID: Document]
    /// The signing keys that were in the key set, by id: public keys of 32 bytes.
    package var keys: [String: [UInt8]]
    /// Where the events in the node's ``EventJournal`` end; nil where it keeps none.
    package var journal: JournalEnd?
    /// The database in which the ledger was; nil where it did not say.
    package var database: DatabaseIdentity?

    /// The end of the events that the node has kept: what the journal is verified with.
    package struct JournalEnd: Hashable, Sendable {
        package var position: Int64
        package var root: LogHash

        package init(position: Int64, root: LogHash) {
            self.position = position
            self.root = root
        }
    }

    package init(
        position: Int64, root: LogHash, epoch: Int64 = 0, documents: [AppID: Document] = [:],
        keys: [String: [UInt8]] = [:], journal: JournalEnd? = nil, database: DatabaseIdentity? = nil
    ) {
        self.position = position
        self.root = root
        self.epoch = epoch
        self.documents = documents
        self.keys = keys
        self.journal = journal
        self.database = database
    }

    /// What a node knows of a ledger.
    package init(of view: LedgerView, documents: [AppID: Document]) {
        self.init(
            position: view.head.position, root: view.head.frontier.root, epoch: view.state.fleet.epoch,
            documents: documents, keys: view.state.keys.keys.filter(\.value.isInKeySet).mapValues(\.publicKey))
    }

    /// Takes in what came after it: a memory with the documents that are new.
    mutating func take(_ addition: NodeMemory) {
        let documents = self.documents.merging(addition.documents) { $1 }
        self = addition
        self.documents = documents
    }

    /// The bytes before the authentication: canonical JSON.
    var json: [UInt8] {
        var documents: [String: JSON] = [:]
        for (app, document) in self.documents {
            documents[app.text] = [
                "content_sha256": .string(Hex.encode(document.contentDigest)), "version": .integer(document.version),
            ]
        }
        let json: JSON = .members([
            "database": self.database.map { database in
                .members([
                    "system_identifier": .string(database.systemIdentifier),
                    "timeline": database.timeline.map { .integer($0) },
                ])
            },
            "documents": .object(documents), "epoch": .integer(self.epoch), "form": 1,
            "journal": self.journal.map { end in
                ["position": .integer(end.position), "root": .string(Base64.encode(end.root.bytes))]
            },
            "keys": .object(self.keys.mapValues { .string(Base64.encode($0)) }),
            "position": .integer(self.position),
            "root": .string(Base64.encode(self.root.bytes)),
        ])
        var bytes: [UInt8] = []
        json.appendCanonical(to: &bytes)
        return bytes
    }

    /// Reads what ``json`` made.
    ///
    /// - Throws: The first defect, also for members that this version does not know.
    init(json bytes: some Collection<UInt8>) throws(JSONDefect) {
        let json: JSON
        do { json = try JSON(parsing: bytes, limits: Self.limits) } catch {
            throw JSONDefect(pointer: JSONPointer(), message: error.description)
        }
        self = try JSONField(json).object { (memory) throws(JSONDefect) in
            _ = try memory.required("form").integer(1...1)
            let position = try memory.required("position").integer(0...JSON.largestInteger)
            let epoch = try memory.required("epoch").integer(0...JSON.largestInteger)
            let root = try Self.root(try memory.required("root"))
            let journal = try memory.optional("journal")?.object { (end) throws(JSONDefect) in
                JournalEnd(
                    position: try end.required("position").integer(0...position),
                    root: try Self.root(try end.required("root")))
            }
            let database = try memory.optional("database")?.object { (database) throws(JSONDefect) in
                DatabaseIdentity(
                    systemIdentifier: try database.required("system_identifier").string(),
                    timeline: try database.optional("timeline")?.integer(0...Int64(UInt32.max)))
            }
            var documents: [AppID: Document] = [:]
            let served = try memory.required("documents")
            guard let members = served.value.objectValue else { throw served.defect("must be an object") }
            for (name, value) in members {
                guard let app = try? AppID(name) else {
                    throw served.defect("has a member that is not the id of an app")
                }
                let field = JSONField(value, at: served.pointer.appending(name))
                documents[app] = try field.object { (document) throws(JSONDefect) in
                    let version = try document.required("version").integer(1...JSON.largestInteger)
                    let digest = try document.required("content_sha256")
                    guard let bytes = Hex.decode(try digest.string()), bytes.count == 32 else {
                        throw digest.defect("must be 64 hexadecimal digits")
                    }
                    return Document(version: version, contentDigest: bytes)
                }
            }
            var keys: [String: [UInt8]] = [:]
            let known = memory.optional("keys")
            if let known {
                guard let members = known.value.objectValue else { throw known.defect("must be an object") }
                for (kid, value) in members {
                    let field = JSONField(value, at: known.pointer.appending(kid))
                    guard let key = Base64.decode(try field.string()), key.count == 32 else {
                        throw field.defect("must be base64 of 32 bytes")
                    }
                    keys[kid] = key
                }
            }
            return NodeMemory(
                position: position, root: root, epoch: epoch, documents: documents, keys: keys, journal: journal,
                database: database)
        }
    }

    private static func root(_ field: JSONField) throws(JSONDefect) -> LogHash {
        guard let root = Base64.decode(try field.string()).flatMap({ LogHash($0) }) else {
            throw field.defect("must be base64 of 32 bytes")
        }
        return root
    }

    /// A ledger may have a hundred thousand apps, with five values each.
    private static let limits = JSONLimits(depth: 4, nodes: 10_000_000)
}
