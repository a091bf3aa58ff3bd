package import PinWire

/// What a proposed change does, and what its approvers approve: the commands, the events that follow from them, when, by what
/// force, and why.
package struct ChangeContent: Hashable, Sendable {
    /// In the order in which they are decided; single commands of an app are counted each, 1 to ``commandLimit`` together.
    package var commands: [Command]
    /// Whether guard rails are overridden where they can be.
    package var isForced: Bool
    /// Whether all of it takes over a configuration that clients already have.
    package var isImport: Bool
    /// The earliest moment at which it is applied; the server then applies it by itself. Nil for when a person applies it.
    package var notBefore: Timestamp?
    package var reason: Reason
    /// The hash of the events that the commands cause, 32 bytes: SHA-256 of canonical JSON (``ChangePlan/digest``).
    package var plan: [UInt8]

    package init(
        commands: [Command], isForced: Bool, isImport: Bool = false, notBefore: Timestamp?, reason: Reason,
        plan: [UInt8]
    ) {
        self.commands = commands
        self.isForced = isForced
        self.isImport = isImport
        self.notBefore = notBefore
        self.reason = reason
        self.plan = plan
    }

    package static let commandLimit = 200

    /// The members that ``digest(of:)`` is the hash of, besides the change's id.
    package static let memberNames = ["commands", "forced", "import", "not_before", "plan_sha256", "reason"]

    /// What an approval names, 32 bytes: SHA-256 of the canonical JSON of the content with the change's id.
    package func digest(of id: String) -> [UInt8] {
        var members = self.members
        members["change_id"] = .string(id)
        return sha256(JSON.object(members).canonicalBytes)
    }

    package var members: [String: JSON] {
        var members: [String: JSON] = [
            "commands": .array(self.commands.map(\.json)),
            "plan_sha256": .string(Hex.encode(self.plan)),
            "reason": .string(self.reason.text),
        ]
        if self.isForced { members["forced"] = true }
        if self.isImport { members["import"] = true }
        if let notBefore { members["not_before"] = .string(notBefore.rfc3339) }
        return members
    }

    /// Takes ``members``, and leaves others.
    init(_ m: inout JSONMembers) throws(JSONDefect) {
        self.commands = []
        for field in try m.required("commands").elements(atMost: .max) {
            self.commands.append(try Command(field))
        }
        self.plan = try MemberValue<[UInt8]>.sha256.read(try m.required("plan_sha256"))
        self.reason = Reason(recorded: try m.required("reason").string())
        self.isForced = try m.optional("forced")?.bool() ?? false
        self.isImport = try m.optional("import")?.bool() ?? false
        self.notBefore = try m.optional("not_before")?.timestamp()
    }
}

/// The input for the content of a change, before it is known what events it causes.
package struct ChangeDraft: Hashable, Sendable {
    package var commands: [Command]
    package var isForced: Bool
    /// Whether all of it takes over a configuration that clients already have.
    package var isImport: Bool
    package var notBefore: Timestamp?
    /// When it lapses unless it is applied before; nil for ``ProposedChange/defaultSeconds`` from now.
    package var expiresAt: Timestamp?

    package init(
        commands: [Command], isForced: Bool = false, isImport: Bool = false, notBefore: Timestamp? = nil,
        expiresAt: Timestamp? = nil
    ) {
        self.commands = commands
        self.isForced = isForced
        self.isImport = isImport
        self.notBefore = notBefore
        self.expiresAt = expiresAt
    }
}

extension MemberValue<[UInt8]> {
    static var publicKey: Self {
        .bytes("32 bytes in base64url", count: 32, decode: Base64URL.decode) { Base64URL.encode($0) }
    }

    static var sha256: Self {
        .bytes("64 hexadecimal digits", count: 32, decode: Hex.decode) { Hex.encode($0) }
    }
}
