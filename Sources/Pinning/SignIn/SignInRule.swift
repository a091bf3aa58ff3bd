package import PinWire

/// What identities of a provider may do: those whose claims fulfil all of its conditions are granted its roles, for the time of a session.
package struct SignInRule: Hashable, Sendable {
    package var name: RoleName
    package var provider: RoleName
    /// By claim: the values of which one must be there. A value that ends with `:*` or `/*` stands for all that begin as it does.
    package var claims: [String: [String]]
    /// What those are whom it admits.
    package var kind: Principal.Kind
    package var grants: [Grant]
    /// The life of a session, in seconds.
    package var sessionSeconds: Int64
    /// Whether it admits only identities that are linked to a principal: where people have principals already, it keeps a sign-in from
    /// making a second one of them.
    package var isForLinked: Bool
    /// The number of the event by which it was set; 0 before it is recorded. A session holds what it was given by this rule only as long
    /// as the rule stays the same.
    package var revision: Int64 = 0

    package init(
        name: RoleName, provider: RoleName, claims: [String: [String]], kind: Principal.Kind, grants: [Grant],
        sessionSeconds: Int64? = nil, isForLinked: Bool = false
    ) {
        self.name = name
        self.provider = provider
        self.claims = claims
        self.kind = kind
        self.grants = grants
        self.sessionSeconds = sessionSeconds ?? Self.defaultSeconds(kind)
        self.isForLinked = isForLinked
    }

    package static let limit = 200
    package static let (claimLimit, valueLimit, grantLimit, patternLimit) = (10, 50, 20, 100)
    /// From five minutes to twelve hours.
    package static let sessionRange: ClosedRange<Int64> = 300...43_200
    /// Bytes of a claim's name, and of a value.
    private static let textLimit = 255

    static func defaultSeconds(_ kind: Principal.Kind) -> Int64 { kind == .person ? 28_800 : 3_600 }

    /// Whether an identity's claims fulfil all conditions.
    package func admits(_ claims: IdentityClaims) -> Bool {
        self.claims.allSatisfy { name, values in
            let given = claims.values(of: name)
            return values.contains { pattern in
                let pattern = Array(pattern.utf8)
                guard Self.isPrefix(pattern) else { return given.contains(pattern) }
                return given.contains { $0.count >= pattern.count && $0.starts(with: pattern.dropLast()) }
            }
        }
    }

    /// The principal of the programs that it admits, and that are linked to none.
    func principalID(at issuer: Issuer) -> String {
        "prn_" + Hex.encode(sha256(Array("\(issuer.text)\u{0}rule\u{0}\(self.name)".utf8)).prefix(8))
    }

    /// Not a control character: a set that no version of Unicode changes.
    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        !(scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value))
    }

    /// Whether a value stands for all that begin as it does. Bytes are compared, never characters: to Swift, some of those are equal
    /// that are spelled otherwise.
    private static func isPrefix(_ pattern: some BidirectionalCollection<UInt8>) -> Bool {
        pattern.last == UInt8(ascii: "*") && pattern.dropLast().last.map(Self.separators.contains) == true
    }

    private static let separators: Set<UInt8> = [UInt8(ascii: ":"), UInt8(ascii: "/")]

    /// Claims that say whose an identity is, where a provider is shared by everyone.
    private static let owningClaims: Set = [
        "sub", "email", "hd", "tid", "repository", "repository_id", "repository_owner", "repository_owner_id",
        "project_id", "project_path", "namespace_id", "namespace_path", "organization_id", "org_id",
        "oidc.circleci.com/project-id", "workspaceUuid",
    ]

    /// Whether it names whose identities it admits.
    var namesOwner: Bool {
        self.claims.contains { claim, values in
            // The kind of a subject and its owner are named: `repo:*` are the repositories of everyone.
            Self.owningClaims.contains(claim)
                && values.allSatisfy { value in
                    !Self.isPrefix(value.utf8)
                        || claim == "sub" && value.utf8.count(where: Self.separators.contains) > 1
                }
        }
    }

    package var json: JSON { .object(self.members) }

    var members: [String: JSON] {
        [
            "rule": .string(self.name.text), "provider": .string(self.provider.text),
            "claims": .object(self.claims.mapValues { .array($0.map { .string($0) }) }),
            "kind": .string(self.kind.rawValue), "grants": .array(self.grants.map(\.json)),
            "session_seconds": .integer(self.sessionSeconds), "linked_only": .bool(self.isForLinked),
        ]
    }

    package init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (members) throws(JSONDefect) in
            let name = try members.required("rule").parse(RoleName.init(_:))
            return try SignInRule(&members, name: name)
        }
    }

    /// Takes all members but the name.
    package init(_ members: inout JSONMembers, name: RoleName) throws(JSONDefect) {
        self.name = name
        self.provider = try members.required("provider").parse(RoleName.init(_:))
        self.kind = try members.required("kind").oneOf(Principal.Kind.self)
        self.sessionSeconds =
            try members.optional("session_seconds")?.integer(Self.sessionRange) ?? Self.defaultSeconds(self.kind)
        self.isForLinked = try members.optional("linked_only")?.bool() ?? false
        self.claims = try Self.claims(try members.required("claims"))
        let grants = try members.required("grants")
        self.grants = []
        for grant in try grants.elements(atMost: Self.grantLimit) { self.grants.append(try Grant(grant)) }
        guard !self.grants.isEmpty else { throw grants.defect("must have at least one grant") }
        guard self.grants.reduce(0, { $0 + $1.patternCount }) <= Self.patternLimit else {
            throw grants.defect("name more than \(Self.patternLimit) apps and hosts together")
        }
    }

    private static func claims(_ field: JSONField) throws(JSONDefect) -> [String: [String]] {
        guard case .object(let members) = field.value else { throw field.defect("must be an object") }
        guard (1...Self.claimLimit).contains(members.count) else {
            throw field.defect("must have 1 to \(Self.claimLimit) claims")
        }
        for name in members.keys {
            guard (1...Self.textLimit).contains(name.utf8.count) else {
                throw field.defect("has a claim with a name of 0 or more than \(Self.textLimit) characters")
            }
        }
        return try field.object { (m) throws(JSONDefect) in
            var claims: [String: [String]] = [:]
            for name in members.keys.sorted() {
                let list = try m.required(name)
                var values: [String] = []
                for value in try list.elements(atMost: Self.valueLimit) {
                    let text = try value.string()
                    // Groups have names in every language.
                    guard (1...Self.textLimit).contains(text.utf8.count), text.unicodeScalars.allSatisfy(Self.isShown)
                    else {
                        throw value.defect("must be 1 to \(Self.textLimit) bytes of text without control characters")
                    }
                    let asterisks = text.utf8.count { $0 == UInt8(ascii: "*") }
                    guard asterisks == 0 || asterisks == 1 && Self.isPrefix(text.utf8) else {
                        throw value.defect("may have an asterisk only at its end, after : or /")
                    }
                    values.append(text)
                }
                guard !values.isEmpty else { throw list.defect("must have at least one value") }
                claims[name] = values
            }
            return claims
        }
    }
}

/// What an identity token says of its subject: the members of its payload.
package struct IdentityClaims: Hashable, Sendable {
    private let members: [String: JSON]

    package init(_ members: [String: JSON]) { self.members = members }

    /// The values of a claim as texts in UTF-8: of a list each, of an object none. An address that the provider has not verified is none.
    func values(of name: String) -> Set<[UInt8]> {
        if name == "email", self.members["email_verified"] != .bool(true) { return [] }
        guard let value = self.members[name] else { return [] }
        if case .array(let elements) = value {
            return Set(elements.compactMap { Self.text($0).map { Array($0.utf8) } })
        }
        return Self.text(value).map { [Array($0.utf8)] } ?? []
    }

    private static func text(_ value: JSON) -> String? {
        switch value {
        case .string(let text): text
        case .bool(let bool): bool ? "true" : "false"
        case .integer(let number): String(number)
        default: nil
        }
    }
}
