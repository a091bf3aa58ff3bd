package import PinWire

/// Some apps by their ids: one, all that begin alike, or all.
package enum AppPattern: Hashable, Sendable, CustomStringConvertible {
    case all
    /// The ids that begin with this text, such as `com.example.`
    case prefix(String)
    case one(AppID)

    /// Why a text names no apps.
    package struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String
    }

    /// `*`, an id, or the beginning of ids and `*`.
    package init(_ text: String) throws(Malformed) {
        if text == "*" {
            self = .all
            return
        }
        let isPrefix = text.hasSuffix("*")
        guard let id = try? AppID(isPrefix ? String(text.dropLast()) : text) else {
            throw Malformed(
                description:
                    "must be the id of an app, the beginning of ids and an asterisk, such as com.example.*, or "
                    + "* for every app")
        }
        self = isPrefix ? .prefix(id.text) : .one(id)
    }

    package var description: String {
        switch self {
        case .all: "*"
        case .prefix(let text): "\(text)*"
        case .one(let id): id.text
        }
    }

    package func contains(_ app: AppID) -> Bool {
        switch self {
        case .all: true
        case .prefix(let text): app.text.utf8.starts(with: text.utf8)
        case .one(let id): id == app
        }
    }

    /// Whether it contains every app of another pattern, also those that do not exist yet.
    func covers(_ other: AppPattern) -> Bool {
        switch (self, other) {
        case (.all, _): true
        case (_, .all): false
        case (.prefix(let mine), .prefix(let theirs)): theirs.utf8.starts(with: mine.utf8)
        case (_, .one(let id)): self.contains(id)
        case (.one, .prefix): false
        }
    }
}

/// A role on some apps, perhaps on some of their hosts only, perhaps for a time.
package struct Grant: Hashable, Sendable {
    package var role: RoleName
    /// At least one. Permissions that belong to no app come only with ``AppPattern/all``.
    package var apps: [AppPattern]
    /// The hosts to whose changes it is limited: a pattern that is named itself, and with `*.example.com` every one below.
    /// What the role lets its holder see is not limited by it. Nil for no limit.
    package var hosts: [HostPattern]?
    package var expiresAt: Timestamp?

    package init(role: RoleName, apps: [AppPattern], hosts: [HostPattern]? = nil, expiresAt: Timestamp? = nil) {
        self.role = role
        self.apps = apps
        self.hosts = hosts
        self.expiresAt = expiresAt
    }

    /// A grant of a role of every installation on all apps.
    package static func everywhere(_ role: BuiltInRole) -> Grant { Grant(role: RoleName(role), apps: [.all]) }

    /// Whether it no longer gives anything at `now`.
    package func hasEnded(at now: Timestamp) -> Bool { self.expiresAt.map { $0 <= now } ?? false }

    /// The most patterns of one grant, of apps and of hosts each.
    package static let patternLimit = 50

    /// How many apps and hosts it names.
    var patternCount: Int { self.apps.count + (self.hosts?.count ?? 0) }

    package var json: JSON {
        .members([
            "role": .string(self.role.text),
            "apps": .array(self.apps.map { .string($0.description) }),
            "hosts": self.hosts.map { .array($0.map { .string($0.text) }) },
            "expires_at": self.expiresAt.map { .string($0.rfc3339) },
        ])
    }

    package init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (members) throws(JSONDefect) in try Grant(&members) }
    }

    /// Takes the members of a grant, and leaves others.
    package init(_ members: inout JSONMembers) throws(JSONDefect) {
        self.role = try members.required("role").parse(RoleName.init(_:))
        let apps = try members.required("apps")
        self.apps = []
        for field in try apps.elements(atMost: Self.patternLimit) {
            self.apps.append(try field.parse(AppPattern.init(_:)))
        }
        guard !self.apps.isEmpty else { throw apps.defect("must name at least one app, or *") }
        self.hosts = try members.optional("hosts").mapped { (field) throws(JSONDefect) in
            var hosts: [HostPattern] = []
            for host in try field.elements(atMost: Self.patternLimit) {
                hosts.append(try host.parse(HostPattern.init(_:)))
            }
            guard !hosts.isEmpty else { throw field.defect("must name at least one host, or be left out") }
            return hosts
        }
        self.expiresAt = try members.optional("expires_at")?.timestamp()
    }
}
