import Addresses
import PinWire
import Pinning
import Testing

@Suite struct AccessDecisionTests {
    private static let ada = AccessCommand.addPrincipal(id: "prn_1", .person, name: "Ada")
    private static let own = AccessCommand.defineRole(roleName("own"), [.readApps])

    /// What is refused to an operator at the database too.
    static let refused: [(given: [AccessCommand], command: AccessCommand)] = [
        ([], .defineRole(RoleName(.admin), [.readApps])), ([], .removeRole(RoleName(.viewer))),
        ([], .removeRole(roleName("own"))), ([ada, own, granted("own")], .removeRole(roleName("own"))),
        ([], .defineRole(roleName("approver"), [.readApps])),
        ((0..<Access.roleLimit).map { .defineRole(roleName("r\($0)"), [.readApps]) }, own),
        ([ada], ada), ([], .suspendPrincipal(id: "prn_1")), ([], .renamePrincipal(id: "prn_1", name: "x")),
        ((0..<Access.principalLimit).map { .addPrincipal(id: "p\($0)", .service, name: "x") }, ada),
        ([], granted("viewer")), ([ada], granted("own")), ([ada, granted("viewer")], granted("viewer")),
        ([ada], .revokeGrant(id: "grt_1")),
        (
            [ada]
                + (0..<Principal.grantLimit).map { .grantRole(id: "g\($0)", principal: "prn_1", .everywhere(.viewer)) },
            granted("viewer")
        ),
        (
            [ada] + (0..<9).map { .grantRole(id: "g\($0)", principal: "prn_1", wide) },
            .grantRole(id: "grt_1", principal: "prn_1", Grant(role: RoleName(.viewer), apps: wide.apps, hosts: [api]))
        ),
        ([], .issueToken(newToken("tok_1", [Grant](repeating: wide, count: 5)))),
        (
            [ada]
                + (0..<Principal.tokenLimit).map {
                    .issueToken(newToken("t\($0)", digest: sha256([1, UInt8($0)]), nil, of: "prn_1"))
                },
            .issueToken(newToken("tok_1", nil, of: "prn_1"))
        ),
        (
            (0..<Access.feedLimit).map { .issueToken(feed("f\($0)", sha256([2, UInt8($0)]))) },
            .issueToken(feed("cal_9", sha256([9])))
        ),
        ([ada, .suspendPrincipal(id: "prn_1")], .issueToken(newToken("tok_1", nil, of: "prn_1"))),
        ([], .issueToken(newToken("tok_1", nil, of: "prn_1"))),
        (
            [ada],
            .grantRole(id: "grt_1", principal: "prn_1", Grant(role: RoleName(.viewer), apps: [.all], expiresAt: noon))
        ),
    ]

    /// As many apps as a grant may name.
    private static let wide = Grant(
        role: RoleName(.viewer), apps: (0..<Grant.patternLimit).map { pattern("com.example.a\($0)") })

    private static func granted(_ role: String) -> AccessCommand {
        .grantRole(id: "grt_1", principal: "prn_1", Grant(role: roleName(role), apps: [.all]))
    }

    private static func grant(
        _ role: BuiltInRole, _ apps: String..., hosts: [String]? = nil, until end: Timestamp? = nil
    ) -> Grant {
        Grant(role: RoleName(role), apps: apps.map { pattern($0) }, hosts: hosts?.map { host($0) }, expiresAt: end)
    }

    /// A state with a maker's token, and what it may not do.
    static let tooWide: [(maker: NewToken, command: AccessCommand, refusal: Refusal)] = [
        (
            maker(.editor, "*"),
            .issueToken(newToken("tok_9", digest: sha256([9]), [grant(.viewer, "com.example.shop")])),
            .permissionMissing(.manageAccess, .anyApp)
        ),
        (
            maker(.admin, "com.example.*"), .issueToken(newToken("tok_9", digest: sha256([9]), [grant(.viewer, "*")])),
            .grantTooWide(grant(.viewer, "*"))
        ),
        (
            maker(.admin, "com.example.*"),
            .issueToken(newToken("tok_9", digest: sha256([9]), [grant(.viewer, "com.example*")])),
            .grantTooWide(grant(.viewer, "com.example*"))
        ),
        (
            maker(.admin, "com.example.shop", hosts: ["api.example.com"]),
            .issueToken(newToken("tok_9", digest: sha256([9]), [grant(.editor, "com.example.shop")])),
            .grantTooWide(grant(.editor, "com.example.shop"))
        ),
        (
            newToken("tok_0", [.everywhere(.admin)], from: [network("10.0.0.0/8")]),
            .issueToken(newToken("tok_9", digest: sha256([9]))), .networksTooWide
        ),
        (
            newToken("tok_0", [.everywhere(.admin)], from: [network("10.0.0.0/8")]),
            .issueToken(newToken("tok_9", digest: sha256([9]), from: [network("10.0.0.0/7")])), .networksTooWide
        ),
        // A principal may be granted more later: a token without limits of its own would grow with it.
        (
            maker(.admin, "com.example.*"), .issueToken(newToken("tok_9", digest: sha256([9]), nil, of: "prn_1")),
            .permissionMissing(.manageAccess, .everywhere)
        ),
        (
            newToken("tok_0", [Grant(role: roleName("manager"), apps: [.all])]),
            .issueToken(newToken("tok_9", digest: sha256([9]), nil, of: "prn_1")), .grantTooWide(.everywhere(.admin))
        ),
        (
            newToken("tok_0", [grant(.admin, "*", until: noon.adding(seconds: 60))]),
            .issueToken(feed()), .grantTooWide(Grant(role: RoleName(.viewer), apps: [.one(shop)]))
        ),
        (
            newToken("tok_0", [.everywhere(.admin)], from: [network("10.0.0.0/8")]), .issueToken(feed()),
            .networksTooWide
        ),
        (maker(.admin, "com.example.*"), ada, .permissionMissing(.manageAccess, .everywhere)),
        (maker(.admin, "com.example.*"), own, .permissionMissing(.manageAccess, .everywhere)),
        (maker(.operator, "*"), .removeRole(roleName("own")), .permissionMissing(.manageAccess, .everywhere)),
        (maker(.auditor, "*"), granted("viewer"), .permissionMissing(.manageAccess, .anyApp)),
        (maker(.editor, "*"), .revokeGrant(id: "grt_x"), .permissionMissing(.manageAccess, .anyApp)),
        (maker(.editor, "*"), .revokeToken(id: "tok_x"), .permissionMissing(.manageAccess, .anyApp)),
        // To it, they do not exist.
        (maker(.admin, "com.example.*"), .revokeToken(id: "tok_x"), .tokenUnknown("tok_x")),
        (maker(.admin, "com.example.*"), .revokeGrant(id: "grt_x"), .grantUnknown("grt_x")),
        (
            newToken("tok_0", [grant(.admin, "*", until: noon.adding(seconds: 60))]), granted("viewer"),
            .grantTooWide(Grant(role: roleName("viewer"), apps: [.all]))
        ),
    ]

    private static func maker(_ role: BuiltInRole, _ app: String, hosts: [String]? = nil) -> NewToken {
        newToken("tok_0", [grant(role, app, hosts: hosts)])
    }

    /// A ledger with a principal, a token and a grant on all apps, and the maker's token.
    private func state(_ maker: NewToken) -> LedgerState {
        var state = LedgerState()
        let events: [AccessEvent] = [
            .roleDefined(roleName("manager"), [.manageAccess, .readAccess]),
            .tokenIssued(maker), .principalAdded(id: "prn_1", .person, name: "Ada"),
            .principalAdded(id: "prn_x", .person, name: "Root"),
            .roleGranted(id: "grt_x", principal: "prn_x", .everywhere(.admin)),
            .tokenIssued(newToken("tok_x", digest: sha256([7]))),
        ]
        for event in events { _ = state.apply(.access(event), of: .access, at: noon) }
        return state
    }

    private func asking(_ id: String) -> DecisionContext {
        var context = context()
        context.commander = Actor(kind: .token, id: id, name: "maker")
        return context
    }

    @Test func `nobody gives what they do not have`() {
        for (maker, command, refusal) in Self.tooWide {
            #expect(throws: refusal, "\(maker) \(command)") {
                try self.state(maker).decide(.access(command), in: self.asking("tok_0"))
            }
        }
    }

    @Test func `a manager of access on some apps manages it there`() throws {
        let state = self.state(Self.maker(.admin, "com.example.*"))
        let context = self.asking("tok_0")
        let allowed: [AccessCommand] = [
            .issueToken(newToken("tok_9", digest: sha256([9]), [Self.grant(.editor, "com.example.shop")])),
            .issueToken(
                newToken("tok_9", digest: sha256([9]), [Self.grant(.admin, "com.example.*", "com.example.x.*")])),
            .grantRole(id: "grt_9", principal: "prn_1", Self.grant(.viewer, "com.example.shop")),
            .revokeToken(id: "tok_0"),
        ]
        for command in allowed { #expect(try state.decide(.access(command), in: context).events.count == 1) }
    }

    @Test func `a person makes tokens of their own, as wide as they are`() throws {
        var state = LedgerState()
        let events: [AccessEvent] = [
            .principalAdded(id: "prn_1", .person, name: "Ada"), .principalAdded(id: "prn_2", .person, name: "Bob"),
            .roleGranted(id: "grt_1", principal: "prn_1", Self.grant(.editor, "com.example.*")),
            .tokenIssued(newToken("tok_0", nil, of: "prn_1")),
        ]
        for event in events { _ = state.apply(.access(event), of: .access, at: noon) }
        let context = self.asking("tok_0")
        func issue(_ grants: [Grant]?, of principal: String?) -> Command {
            .access(.issueToken(newToken("tok_9", digest: sha256([9]), grants, of: principal)))
        }
        #expect(try state.decide(issue(nil, of: "prn_1"), in: context).events.count == 1)
        #expect(
            try state.decide(issue([Self.grant(.viewer, "com.example.shop")], of: "prn_1"), in: context).events.count
                == 1)
        #expect(throws: Refusal.permissionMissing(.manageAccess, .everywhere)) {
            try state.decide(issue([Self.grant(.viewer, "com.example.shop")], of: "prn_2"), in: context)
        }
        #expect(throws: Refusal.permissionMissing(.manageAccess, .anyApp)) {
            try state.decide(issue([Self.grant(.viewer, "com.example.shop")], of: nil), in: context)
        }
        #expect(throws: Refusal.grantTooWide(Self.grant(.viewer, "*"))) {
            try state.decide(issue([Self.grant(.viewer, "*")], of: "prn_1"), in: context)
        }
    }

    @Test func `a token whose terms say nothing is never issued`() {
        for terms in [
            nil, AccessToken.Terms(kind: .general, grants: nil), AccessToken.Terms(kind: .general, grants: []),
            AccessToken.Terms(kind: .general, grants: [], principal: "prn_1"),
            AccessToken.Terms(kind: .calendar, grants: nil),
        ] {
            let token = NewToken(
                id: "tok_1", name: "x", digest: sha256([1]), expiresAt: noon.adding(seconds: 9), terms: terms)
            #expect(throws: Refusal.grantTooWide(.everywhere(.admin))) {
                try LedgerState().decide(.access(.issueToken(token)), in: context())
            }
        }
    }

    @Test func `ended grants take no room`() throws {
        var state = LedgerState()
        let soon = noon.adding(seconds: 1)
        let ending = Grant(role: RoleName(.viewer), apps: [.all], expiresAt: soon)
        let commands =
            [Self.ada]
            + (0..<Principal.grantLimit).map {
                .grantRole(id: "g\($0)", principal: "prn_1", ending)
            }
        for command in commands { state.take(try state.decide(.access(command), in: context()).after) }
        let more = Command.access(.grantRole(id: "grt_1", principal: "prn_1", .everywhere(.viewer)))
        #expect(throws: Refusal.tooManyGrants(limit: Principal.grantLimit)) { try state.decide(more, in: context()) }
        #expect(try state.decide(more, in: context(at: soon)).events.count == 1)
    }

    @Test func `a person revokes their own tokens, and no others`() throws {
        var state = LedgerState()
        let events: [AccessEvent] = [
            .principalAdded(id: "prn_1", .person, name: "Ada"), .principalAdded(id: "prn_2", .person, name: "Bob"),
            .tokenIssued(newToken("tok_0", nil, of: "prn_1")),
            .tokenIssued(newToken("tok_1", digest: sha256([2]), nil, of: "prn_1")),
            .tokenIssued(newToken("tok_2", digest: sha256([3]), nil, of: "prn_2")),
        ]
        for event in events { _ = state.apply(.access(event), of: .access, at: noon) }
        for own in ["tok_0", "tok_1"] {
            let decision = try state.decide(.access(.revokeToken(id: own)), in: self.asking("tok_0"))
            #expect(decision.events == [.access(.tokenRevoked(id: own))])
        }
        #expect(throws: Refusal.permissionMissing(.manageAccess, .anyApp)) {
            try state.decide(.access(.revokeToken(id: "tok_2")), in: self.asking("tok_0"))
        }
        // One that may do less than its person does not end the person's others.
        let narrow = newToken("tok_3", digest: sha256([4]), [Self.grant(.viewer, "com.example.shop")], of: "prn_1")
        _ = state.apply(.access(.tokenIssued(narrow)), of: .access, at: noon)
        #expect(throws: Refusal.permissionMissing(.manageAccess, .anyApp)) {
            try state.decide(.access(.revokeToken(id: "tok_0")), in: self.asking("tok_3"))
        }
    }

    @Test func `a narrow token of a mighty person makes no wider one`() throws {
        var state = LedgerState()
        let events: [AccessEvent] = [
            .principalAdded(id: "prn_1", .person, name: "Ada"),
            .roleGranted(id: "grt_1", principal: "prn_1", .everywhere(.admin)),
            .tokenIssued(newToken("tok_0", [Self.grant(.viewer, "com.example.shop")], of: "prn_1")),
        ]
        for event in events { _ = state.apply(.access(event), of: .access, at: noon) }
        #expect(throws: Refusal.grantTooWide(.everywhere(.admin))) {
            try state.decide(
                .access(.issueToken(newToken("tok_9", digest: sha256([9]), nil, of: "prn_1"))),
                in: self.asking("tok_0"))
        }
    }

    @Test func `a command about access that changes nothing records nothing`() throws {
        let given: [AccessCommand] = [Self.ada, Self.own, .suspendPrincipal(id: "prn_1")]
        var state = LedgerState()
        for command in given { state.take(try state.decide(.access(command), in: context()).after) }
        let again: [AccessCommand] = [
            Self.own, .suspendPrincipal(id: "prn_1"), .renamePrincipal(id: "prn_1", name: "Ada"),
        ]
        for command in again { #expect(try state.decide(.access(command), in: context()).events.isEmpty) }
        #expect(try state.decide(.access(.reinstatePrincipal(id: "prn_1")), in: context()).events.count == 1)
    }
}
