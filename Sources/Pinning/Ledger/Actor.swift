package import PinWire

/// The cause of an event.
package struct Actor: Hashable, Sendable {
    /// The kind of the acting principal.
    package enum Kind: String, CaseIterable, Sendable {
        /// A holder of an API token.
        case token
        /// A person at the command line of the server itself, with access to its database.
        case local
        /// The server, on a schedule.
        case system
    }

    package var kind: Kind
    /// Stable and unique within the kind; for a token its public id, never its secret.
    package var id: String
    /// The name for people: the principal's, or else the token's.
    package var name: String
    /// The person or service account that the actor's token belongs to; nil for none.
    package var principalID: String?

    package init(kind: Kind, id: String, name: String, principalID: String? = nil) {
        self.kind = kind
        self.id = id
        self.name = name
        self.principalID = principalID
    }

    /// The server itself.
    package static let system = Actor(kind: .system, id: "pinledger", name: "Pinledger")

    package var json: JSON {
        .members([
            "kind": .string(self.kind.rawValue), "id": .string(self.id), "name": .string(self.name),
            "principal_id": self.principalID.map { .string($0) },
        ])
    }

    package init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (members) throws(JSONDefect) in
            Actor(
                kind: try members.required("kind").oneOf(Kind.self),
                id: try members.required("id").string(),
                name: try members.required("name").string(),
                principalID: try members.optional("principal_id")?.string()
            )
        }
    }
}
