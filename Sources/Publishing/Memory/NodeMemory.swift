package import EventStore
package import PinWire
package import TransparencyLog

/// What a node keeps of the ledger outside the database: how far it has followed it, and which documents it has served.
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
    /// The newest served document of each app.
    package var documents: [AppID: Document]

    package init(position: Int64, root: LogHash, documents: [AppID: Document] = [:]) {
        self.position = position
        self.root = root
        self.documents = documents
    }

    /// What a node knows that has come to `head`.
    package init(of head: Head, documents: [AppID: Document]) {
        self.init(position: head.position, root: head.frontier.root, documents: documents)
    }

    /// The bytes before the authentication: canonical JSON.
    var json: [UInt8] {
        var documents: [String: JSON] = [:]
        for (app, document) in self.documents {
            documents[app.text] = [
                "content_sha256": .string(Hex.encode(document.contentDigest)), "version": .integer(document.version),
            ]
        }
        let json: JSON = [
            "documents": .object(documents), "form": 1, "position": .integer(self.position),
            "root": .string(Base64.encode(self.root.bytes)),
        ]
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
            let rootField = try memory.required("root")
            guard let root = Base64.decode(try rootField.string()).flatMap({ LogHash($0) }) else {
                throw rootField.defect("must be base64 of 32 bytes")
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
            return NodeMemory(position: position, root: root, documents: documents)
        }
    }

    /// A ledger may have a hundred thousand apps, with five values each.
    private static let limits = JSONLimits(depth: 4, nodes: 10_000_000)
}
