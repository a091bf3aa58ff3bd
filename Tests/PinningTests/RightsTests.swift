import Addresses
import PinWire
import Pinning
import Testing

@Suite struct `The rights of tokens` {
    /// The rights of a token with these grants.
    private func rights(_ grants: [Grant], at now: Timestamp = noon, _ setUp: [AccessEvent] = []) throws -> Rights {
        var access = Access()
        for event in setUp { access.evolve(event, at: noon) }
        access.evolve(.tokenIssued(newToken("tok_1", grants)), at: noon)
        return access.rights(of: Actor(kind: .token, id: "tok_1", name: "x"), at: now)
    }

    private func grant(
        _ role: BuiltInRole, _ apps: String..., hosts: [String]? = nil, until end: Timestamp? = nil
    ) -> Grant {
        Grant(
            role: RoleName(role), apps: apps.map { pattern($0) }, hosts: hosts?.map { host($0) }, expiresAt: end)
    }

    @Test(arguments: [
        ("*", "com.example.shop", true), ("com.example.shop", "com.example.shop", true),
        ("com.example.shop", "com.example.shop2", false), ("com.example.shop", "com.example", false),
        ("com.example.*", "com.example.shop", true), ("com.example.*", "com.example", false),
        ("com.example*", "com.examples", true), ("com.example.*", "COM.EXAMPLE.SHOP", false),
        ("com.example.*", "org.com.example.x", false),
    ]) func `a grant holds on the apps that its patterns contain`(given: String, app: String, isHeld: Bool) throws {
        let rights = try self.rights([self.grant(.editor, given)])
        #expect(rights.allows(.changeApps, on: appID(app)) == isHeld)
        #expect(rights.sees(appID(app)) == isHeld)
        #expect(rights.allowsEverywhere(.changeApps) == (given == "*"))
    }

    @Test(arguments: ["", "**", "a*b", "*.example", "com..example*", ".com", "-x", "com.example.shop ", "ä*"])
    func `a text that names no apps is refused`(text: String) {
        #expect(throws: AppPattern.Malformed.self) { try AppPattern(text) }
    }

    @Test(arguments: ["", "Admin", "ADMIN", "admin ", "ädmin", "1st", "-x", String(repeating: "a", count: 41)])
    func `a role's name has one spelling`(text: String) {
        #expect(throws: RoleName.Malformed.self) { try RoleName(text) }
    }

    @Test func `every role may do what it says, on its apps and on no other`() throws {
        let other = appID("org.other")
        for role in BuiltInRole.allCases {
            let some = try self.rights([self.grant(role, "com.example.*")])
            let all = try self.rights([self.grant(role, "*")])
            for permission in Permission.allCases {
                let isHeld = role.permissions.contains(permission)
                #expect(all.allowsEverywhere(permission) == isHeld, "\(role) \(permission)")
                #expect(all.allows(permission, on: shop) == isHeld, "\(role) \(permission)")
                #expect(some.allows(permission, on: shop) == isHeld, "\(role) \(permission)")
                #expect(!some.allows(permission, on: other) && !some.allowsEverywhere(permission))
                #expect(some.allowsSomewhere(permission) == (isHeld && permission.isPerApp), "\(role) \(permission)")
            }
            #expect(!some.sees(other))
        }
    }

    @Test func `the roles are ordered by what they may do, and only one changes who may do what`() {
        for role in BuiltInRole.allCases {
            #expect(BuiltInRole.viewer.permissions.isSubset(of: role.permissions))
            #expect(role.permissions.isSubset(of: BuiltInRole.admin.permissions))
            #expect(role.permissions.contains(.manageAccess) == (role == .admin))
        }
        #expect(BuiltInRole.auditor.permissions.allSatisfy { $0.isRead })
        #expect(!BuiltInRole.editor.permissions.contains(.overrideGuardRails))
    }

    @Test func `a limit to hosts is a limit to their changes`() throws {
        let rights = try self.rights([
            self.grant(.editor, "com.example.*", hosts: ["api.example.com", "*.cdn.example.com"])
        ])
        let cases: [(hosts: [HostPattern]?, isAllowed: Bool)] = [
            ([host("api.example.com")], true), ([host("a.cdn.example.com")], true),
            ([host("*.cdn.example.com")], true), ([host("b.a.cdn.example.com")], true),
            ([host("cdn.example.com")], false), ([host("*.example.com")], false), ([host("www.example.com")], false),
            ([host("api.example.com"), host("www.example.com")], false), ([host("xcdn.example.com")], false),
            (nil, false),
        ]
        for (hosts, isAllowed) in cases {
            #expect(rights.allows(.changeApps, on: shop, hosts: hosts) == isAllowed, "\(String(describing: hosts))")
        }
        #expect(rights.sees(shop) && rights.allows(.readHistory, on: shop))
        // No host stands for an operation whose hosts are not known yet.
        #expect(rights.allows(.changeApps, on: shop, hosts: []))
    }

    @Test func `a grant ends`() throws {
        let end = noon.adding(seconds: 60)
        let grants = [self.grant(.admin, "*", until: end)]
        #expect(try self.rights(grants, at: Timestamp(microseconds: end.microseconds - 1)).sees(shop))
        #expect(try !self.rights(grants, at: end).sees(shop))
    }

    @Test func `a role that is not there gives nothing, until it is defined`() throws {
        let own = Grant(role: roleName("own"), apps: [.all])
        #expect(try !self.rights([own]).allowsSomewhere(.readApps))
        let rights = try self.rights([own], at: noon, [.roleDefined(roleName("own"), [.readApps])])
        #expect(rights.allowsEverywhere(.readApps) && !rights.allowsSomewhere(.changeApps))
        let removed: [AccessEvent] = [.roleDefined(roleName("own"), [.readApps]), .roleRemoved(roleName("own"))]
        #expect(try !self.rights([own], at: noon, removed).allowsSomewhere(.readApps))
    }

    @Test func `a principal's token may do what both allow`() throws {
        let person: [AccessEvent] = [
            .principalAdded(id: "prn_1", .person, name: "Ada"),
            .roleGranted(id: "grt_1", principal: "prn_1", self.grant(.editor, "com.example.*")),
        ]
        func rights(_ grants: [Grant]?, _ more: [AccessEvent] = []) -> Rights {
            var access = Access()
            for event in person + more { access.evolve(event, at: noon) }
            access.evolve(.tokenIssued(newToken("tok_1", grants, of: "prn_1")), at: noon)
            return access.rights(of: Actor(kind: .token, id: "tok_1", name: "x"), at: noon)
        }
        #expect(rights(nil).allows(.changeApps, on: shop) && !rights(nil).allows(.archiveApps, on: shop))
        #expect(rights([self.grant(.admin, "*")]).allows(.changeApps, on: shop))
        #expect(!rights([self.grant(.admin, "*")]).allows(.archiveApps, on: shop))
        #expect(!rights([self.grant(.admin, "*")]).allows(.changeApps, on: appID("org.other")))
        #expect(!rights([self.grant(.viewer, "*")]).allows(.changeApps, on: shop))
        #expect(!rights([]).sees(shop))
        #expect(!rights(nil, [.grantRevoked(id: "grt_1", principal: "prn_1")]).sees(shop))
        #expect(rights(nil, [.principalSuspended(id: "prn_1")]) == .nothing)
        let back: [AccessEvent] = [.principalSuspended(id: "prn_1"), .principalReinstated(id: "prn_1")]
        #expect(rights(nil, back).sees(shop))
        #expect(rights(nil, [.principalRenamed(id: "prn_1", name: "Ada King")]).sees(shop))
    }

    @Test func `nobody holds rights by a token that is unknown, revoked or expired`() throws {
        var access = Access()
        access.evolve(.tokenIssued(newToken("tok_1")), at: noon)
        let actor = Actor(kind: .token, id: "tok_1", name: "x")
        #expect(access.rights(of: actor, at: noon).allowsEverywhere(.manageKeys))
        #expect(access.rights(of: actor, at: noon.adding(seconds: 3600)) == .nothing)
        #expect(access.rights(of: Actor(kind: .token, id: "tok_2", name: "x"), at: noon) == .nothing)
        access.evolve(.tokenRevoked(id: "tok_1"), at: noon)
        #expect(access.rights(of: actor, at: noon) == .nothing)
        #expect(access.rights(of: Actor(kind: .local, id: "tok_1", name: "x"), at: noon) == .everything)
    }

    @Test(
        arguments: [
            ([], "192.0.2.1", true), (["10.0.0.0/8"], "10.1.2.3", true), (["10.0.0.0/8"], "11.1.2.3", false),
            (["10.0.0.0/8", "2001:db8::/32"], "2001:db8::1", true), (["0.0.0.0/0"], "2001:db8::1", false),
            (["192.0.2.1"], "192.0.2.1", true), (["192.0.2.1"], "192.0.2.2", false), (["10.0.0.0/8"], nil, false),
        ] as [([String], String?, Bool)])
    func `a token is accepted from its networks`(networks: [String], address: String?, isAccepted: Bool) throws {
        var access = Access()
        access.evolve(.tokenIssued(newToken("tok_1", from: networks.map { network($0) })), at: noon)
        let token = try #require(access.tokens["tok_1"])
        #expect(token.isAccepted(from: address.flatMap { IPAddress($0) }) == isAccepted)
    }
}
