package import PinWire

/// One kind of client of an app, as its owner has declared it.
package struct Client: Hashable, Sendable {
    package var settings: ClientSettings
    /// The key that signs its format; nil where none has been set, or none is needed.
    package var key: ClientKey?
    /// What installs have built in for each host, as far as it is known: files with different pins, the one that was noted last at the
    /// end. Only of kinds that are not served.
    package var builtIn: SortedMap<HostPattern, [BuiltInPins]>

    package init(
        settings: ClientSettings, key: ClientKey? = nil, builtIn: SortedMap<HostPattern, [BuiltInPins]> = [:]
    ) {
        self.settings = settings
        self.key = key
        self.builtIn = builtIn
    }

    /// The declaration as it is shown.
    package func json(of kind: ClientKind) -> JSON {
        .members([
            "client": .string(kind.rawValue), "settings": self.settings.json(of: kind), "key": self.key?.json,
            "built_in": self.builtIn.isEmpty
                ? nil
                : .array(
                    self.builtIn.map { pattern, files in
                        ["host": .string(pattern.text), "files": .array(files.map(\.json))]
                    }),
        ])
    }
}

/// The public half of the key that signs one format of an app. Installs have it built in and cannot learn another: a
/// new key is for new versions of the app.
package struct ClientKey: Hashable, Sendable {
    /// Names the key, and its private half in the vault: the first 32 hexadecimal digits of SHA-256 of the public half.
    package var id: String
    package var algorithm: ClientKeyAlgorithm
    /// The SubjectPublicKeyInfo in DER.
    package var publicKey: [UInt8]

    package init(algorithm: ClientKeyAlgorithm, publicKey: [UInt8]) {
        self.id = String(Hex.encode(sha256(publicKey)).prefix(32))
        self.algorithm = algorithm
        self.publicKey = publicKey
    }

    var members: [String: JSON] {
        [
            "key_id": .string(self.id), "algorithm": .string(self.algorithm.rawValue),
            "public_key": .string(Base64.encode(self.publicKey)),
        ]
    }

    package var json: JSON { .object(self.members) }

    /// Reads ``json``.
    package init(_ members: inout JSONMembers) throws(JSONDefect) {
        let algorithm = try members.required("algorithm").oneOf(ClientKeyAlgorithm.self)
        let field = try members.required("public_key")
        guard let publicKey = Base64.decode(try field.string()) else { throw field.defect("must be base64") }
        self.init(algorithm: algorithm, publicKey: publicKey)
        let id = try members.required("key_id")
        guard try id.string() == self.id else { throw id.defect("is not the key's") }
    }
}

extension ClientKind {
    /// What the kind's format is signed with; nil where it is not signed.
    package func algorithm(_ settings: ClientSettings) -> ClientKeyAlgorithm? { self.profile(settings).signature }
}
