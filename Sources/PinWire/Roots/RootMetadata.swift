/// The content of a root of trust: which keys sign documents, and which keys sign the root that comes next.
///
/// The format is a profile of root metadata of The Update Framework (TUF specification 1.0.34, section 4.3), for Ed25519 alone. Its role
/// `targets` names the keys of documents. Roles that this project has no use for (`snapshot`, `timestamp`), and members that it does
/// not know, are kept and have no meaning here.
package struct RootMetadata: Hashable, Sendable {
    /// The keys of a role, of which so many have to sign.
    package struct Role: Hashable, Sendable {
        /// Public keys of 32 bytes, by TUF's key id: 64 hexadecimal digits.
        package var keys: [String: [UInt8]]
        package var threshold: Int

        package init(keys: some Sequence<[UInt8]>, threshold: Int) {
            self.keys = Dictionary(keys.map { (RootMetadata.keyID($0), $0) }) { first, _ in first }
            self.threshold = threshold
        }

        fileprivate init(named keys: [String: [UInt8]], threshold: Int) {
            self.keys = keys
            self.threshold = threshold
        }
    }

    /// From 1 on, one more with each root.
    package var version: Int64
    /// From then on, the root lets no document in any more.
    package var expiresAt: Timestamp
    package var root: Role
    /// Any one of these keys signs a document: its threshold is 1.
    package var documents: Role

    package init(version: Int64, expiresAt: Timestamp, root: Role, documents: Role) {
        self.version = version
        self.expiresAt = expiresAt
        self.root = root
        self.documents = documents
    }

    /// The most keys of a role.
    package static let keyLimit = 32

    /// TUF's name of an Ed25519 key: hexadecimal SHA-256 of its canonical JSON.
    package static func keyID(_ publicKey: [UInt8]) -> String {
        Hex.encode(sha256(Self.key(publicKey).canonicalBytes))
    }

    static func key(_ publicKey: [UInt8]) -> JSON {
        ["keytype": "ed25519", "keyval": ["public": .string(Hex.encode(publicKey))], "scheme": "ed25519"]
    }

    /// What is signed.
    package var json: JSON {
        func role(_ role: Role) -> JSON {
            [
                "keyids": .array(role.keys.keys.sorted().map { .string($0) }),
                "threshold": .integer(Int64(role.threshold)),
            ]
        }
        let keys = self.root.keys.merging(self.documents.keys) { first, _ in first }
        // TUF asks for these two roles. No such metadata exists here, so no key may sign it.
        let none: JSON = ["keyids": [], "threshold": 1]
        return [
            "_type": "root", "consistent_snapshot": true, "expires": .string(self.expiresAt.rfc3339),
            "keys": .object(keys.mapValues { Self.key($0) }),
            "roles": [
                "root": role(self.root), "snapshot": none, "targets": role(self.documents), "timestamp": none,
            ],
            "spec_version": "1.0.34", "version": .integer(self.version),
        ]
    }

    /// Reads what is signed. Unknown members are left aside: a root has to be understood by apps that are older than it.
    init(_ field: JSONField) throws(JSONDefect) {
        var signed = try field.members()
        guard try signed.required("_type").string() == "root" else { throw field.defect("is not root metadata") }
        let form = try signed.required("spec_version")
        guard try form.string().hasPrefix("1.") else { throw form.defect("must be a version 1 of TUF") }
        self.version = try signed.required("version").integer(1...JSON.largestInteger)
        let expires = try signed.required("expires")
        self.expiresAt = try expires.timestamp()
        // TUF's form: whole seconds, with Z.
        guard try expires.string().utf8.count == 20, try expires.string() == self.expiresAt.rfc3339 else {
            throw expires.defect("must be a time such as 2031-01-01T00:00:00Z")
        }
        let keys = try signed.required("keys")
        guard case .object(let listed) = keys.value else { throw keys.defect("must be an object") }
        var roles = try signed.required("roles").members()
        self.root = try Self.role(try roles.required("root"), listed, keys)
        self.documents = try Self.role(try roles.required("targets"), listed, keys)
        guard self.documents.threshold == 1 else {
            throw JSONDefect(
                pointer: field.pointer.appending("roles").appending("targets"),
                message: "must have the threshold 1: a document has one signature")
        }
    }

    private static func role(
        _ field: JSONField, _ listed: [String: JSON], _ all: JSONField
    ) throws(JSONDefect) -> Role {
        var members = try field.members()
        let names = try members.required("keyids").elements(atMost: Self.keyLimit)
        var keys: [String: [UInt8]] = [:]
        for name in names {
            let id = try name.string()
            guard let key = listed[id] else { throw name.defect("is not among the keys") }
            guard
                keys.updateValue(try Self.publicKey(JSONField(key, at: all.pointer.appending(id)), id), forKey: id)
                    == nil
            else { throw name.defect("is there twice") }
        }
        guard !keys.isEmpty else { throw field.defect("must name a key") }
        let threshold = try members.required("threshold").integer(1...Int64(keys.count))
        return Role(named: keys, threshold: Int(threshold))
    }

    static func publicKey(_ field: JSONField, _ id: String) throws(JSONDefect) -> [UInt8] {
        var key = try field.members()
        guard try key.required("keytype").string() == "ed25519", try key.required("scheme").string() == "ed25519" else {
            throw field.defect("must be of the type ed25519")
        }
        var value = try key.required("keyval").members()
        let text = try value.required("public").string()
        guard let bytes = Hex.decode(text), bytes.count == 32 else {
            throw field.defect("must have 64 hexadecimal digits in lower case as public key")
        }
        // A point that is not on the curve passes: implementations differ about that, and it has signed nothing.
        guard Ed25519Encoding.isUsable(bytes) else {
            throw field.defect("must not be of small order, and has to be encoded in the canonical way (RFC 8032)")
        }
        guard Self.keyID(bytes) == id else { throw field.defect("must have the id \(Self.keyID(bytes))") }
        return bytes
    }
}
