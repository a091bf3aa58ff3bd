package import PinWire

/// What a principal may do at one moment: the permissions of its grants, by app.
///
/// Whether an app exists plays no part: an id that nothing gives a right to is answered alike, in use or not.
package struct Rights: Hashable, Sendable {
    /// A grant with its role's permissions.
    struct Part: Hashable, Sendable {
        var permissions: Set<Permission>
        var apps: [AppPattern]
        var hosts: [HostPattern]?
        /// When it ends; nil for never.
        var endsAt: Timestamp?

        func allows(_ permission: Permission, on app: AppID, hosts touched: [HostPattern]?) -> Bool {
            guard self.permissions.contains(permission), self.apps.contains(where: { $0.contains(app) }) else {
                return false
            }
            guard let hosts, !permission.isRead else { return true }
            return touched.map { $0.allSatisfy { host in hosts.contains { $0.covers(host) } } } ?? false
        }

        func allowsEverywhere(_ permission: Permission) -> Bool {
            self.permissions.contains(permission) && self.apps.contains(.all)
                && (self.hosts == nil || permission.isRead)
        }

        /// Which of a grant's apps it has for as long: none where it ends before the grant.
        func appsCovered(of grant: Grant) -> [Bool] {
            let lasts = self.endsAt.map { end in grant.expiresAt.map { $0 <= end } ?? false } ?? true
            return grant.apps.map { app in lasts && self.apps.contains { $0.covers(app) } }
        }

        /// Whether it is limited to no hosts, or to all that a grant is limited to.
        func coversHosts(of grant: Grant) -> Bool {
            guard let hosts else { return true }
            return grant.hosts?.allSatisfy { host in hosts.contains { $0.covers(host) } } ?? false
        }
    }

    /// What must allow something, each by one of its parts: a token's own grants, and those of its principal. None for
    /// everything.
    let limits: [[Part]]

    init(limits: [[Part]]) { self.limits = limits }

    /// Everything: the server itself, an operator at its database, and tokens from before there were roles.
    package static let everything = Rights(limits: [])
    package static let nothing = Rights(limits: [[]])

    /// What these rights and others allow alike.
    func limited(to others: Rights) -> Rights { Rights(limits: self.limits + others.limits) }

    /// Whether something may be done to an app.
    ///
    /// - Parameter hosts: The hosts that it concerns; nil where it concerns the app as a whole.
    package func allows(_ permission: Permission, on app: AppID, hosts: [HostPattern]? = nil) -> Bool {
        self.limits.allSatisfy { $0.contains { $0.allows(permission, on: app, hosts: hosts) } }
    }

    /// Whether something may be done to every app, and to what belongs to none.
    package func allowsEverywhere(_ permission: Permission) -> Bool {
        self.limits.allSatisfy { $0.contains { $0.allowsEverywhere(permission) } }
    }

    /// Whether something may be done to an app, or with nil to everything.
    package func allows(_ permission: Permission, of app: AppID?) -> Bool {
        app.map { self.allows(permission, on: $0) } ?? self.allowsEverywhere(permission)
    }

    /// Whether something may be done at least to an app that may exist.
    package func allowsSomewhere(_ permission: Permission) -> Bool {
        guard permission.isPerApp else { return self.allowsEverywhere(permission) }
        return self.limits.allSatisfy { $0.contains { $0.permissions.contains(permission) } }
    }

    /// Whether the app exists for the principal.
    package func sees(_ app: AppID) -> Bool { self.allows(.readApps, on: app) }

    /// Whether the events of a stream may be read.
    package func mayRead(_ stream: StreamID) -> Bool {
        switch stream {
        case .app(let app), .watch(let app): self.allows(.readHistory, on: app)
        case .fleet, .keys, .access, .webhooks, .log, .changes, .audit: self.allowsEverywhere(stream.permission)
        }
    }

    /// Whether something may be done to all apps of some patterns, with all of their hosts.
    package func allows(_ permission: Permission, on patterns: [AppPattern]) -> Bool {
        self.limits.allSatisfy { parts in
            patterns.allSatisfy { pattern in
                parts.contains { part in
                    part.permissions.contains(permission) && (part.hosts == nil || permission.isRead)
                        && part.apps.contains { $0.covers(pattern) }
                }
            }
        }
    }

    /// The patterns of apps to which something may not be done, in their order; none where ``allows(_:on:)`` says yes.
    func lacking(_ permission: Permission, on patterns: [AppPattern]) -> [AppPattern] {
        patterns.filter { !self.allows(permission, on: [$0]) }
    }

    /// The streams that belong to no app and may not be read.
    package var hiddenStreams: [StreamID] {
        [.fleet, .keys, .access, .webhooks, .log, .changes, .audit].filter { !self.mayRead($0) }
    }

    /// Whether the principal holds all that a grant gives with a role's permissions, so that it may give it on.
    func cover(_ grant: Grant, _ permissions: Set<Permission>) -> Bool {
        self.limits.allSatisfy { Self.cover(grant, permissions, by: $0) }
    }

    /// Patterns are compared once for each part, and not for each permission.
    private static func cover(_ grant: Grant, _ permissions: Set<Permission>, by parts: [Part]) -> Bool {
        var missing: [Permission: Set<Int>] = [:]
        for permission in permissions where permission.isPerApp || grant.apps.contains(.all) {
            missing[permission] = Set(grant.apps.indices)
        }
        for part in parts where !missing.isEmpty {
            let apps = part.appsCovered(of: grant)
            guard apps.contains(true) else { continue }
            let hasHosts = part.coversHosts(of: grant)
            for permission in part.permissions where hasHosts || permission.isRead {
                guard let rest = missing[permission]?.filter({ !apps[$0] }) else { continue }
                missing[permission] = rest.isEmpty ? nil : rest
            }
        }
        return missing.isEmpty
    }
}

extension StreamID {
    /// What it takes to read it.
    package var permission: Permission {
        switch self {
        case .app, .watch: .readHistory
        case .fleet: .readFleet
        case .keys: .readKeys
        case .access: .readAccess
        case .webhooks: .readWebhooks
        case .log: .readLog
        // Proposed changes contain commands about all other streams.
        case .changes: .readAccess
        case .audit: .readAudit
        }
    }
}

extension HostPattern {
    /// Whether a grant's host names another: the same, or every one below where it begins with an asterisk.
    fileprivate func covers(_ other: HostPattern) -> Bool {
        self == other
            || (self.isWildcard && other.text.utf8.reversed().starts(with: self.text.utf8.dropFirst().reversed()))
    }
}
