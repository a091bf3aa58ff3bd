import Addresses
import PinWire
import Pinning

/// A token that may do everything, or what it is granted.
func newToken(
    _ id: String, named name: String = "CI", digest: [UInt8] = sha256([1]),
    until end: Timestamp = noon.adding(seconds: 3600),
    _ grants: [Grant]? = [.everywhere(.admin)], of principal: String? = nil, from networks: [IPNetwork] = []
) -> NewToken {
    NewToken(
        id: id, name: name, digest: digest, expiresAt: end,
        terms: AccessToken.Terms(kind: .general, grants: grants, principal: principal, networks: networks))
}

/// A calendar feed of the shop.
func feed(_ id: String = "cal_9", _ digest: [UInt8] = sha256([9])) -> NewToken {
    NewToken(
        id: id, name: AccessToken.feedName("on call", of: shop), digest: digest, expiresAt: noon.adding(seconds: 3600),
        terms: AccessToken.Terms(kind: .calendar, grants: [Grant(role: RoleName(.viewer), apps: [.one(shop)])]))
}

func pattern(_ text: String) -> AppPattern {
    guard let pattern = try? AppPattern(text) else { preconditionFailure("\(text) names no apps") }
    return pattern
}

func roleName(_ text: String) -> RoleName {
    guard let name = try? RoleName(text) else { preconditionFailure("\(text) is no name of a role") }
    return name
}

func network(_ text: String) -> IPNetwork {
    guard let network = try? IPNetwork(text) else { preconditionFailure("\(text) is no network") }
    return network
}

/// An identity of ``company``.
func identity(_ subject: String, of provider: IdentityProvider = company) -> Identity {
    Identity(issuer: provider.issuer, subject: subject)
}

func issuer(_ text: String) -> Issuer {
    guard let issuer = try? Issuer(text) else { preconditionFailure("\(text) is no issuer") }
    return issuer
}

/// Where people sign in.
let company = IdentityProvider(
    name: roleName("company"), issuer: issuer("https://login.example.com/"), audiences: ["pinledger"],
    algorithms: [.rs256, .edDSA], clientID: "pinledger-cli")

/// A provider at which everyone can have identities.
let github = IdentityProvider(
    name: roleName("github"), issuer: issuer("https://token.actions.githubusercontent.com"), audiences: ["pins"])

let developers = SignInRule(
    name: roleName("developers"), provider: company.name, claims: ["groups": ["Entwicklung", "développement"]],
    kind: .person, grants: [.everywhere(.editor)])

let release = SignInRule(
    name: roleName("release"), provider: github.name, claims: ["sub": ["repo:example/shop:*"], "ref_type": ["tag"]],
    kind: .service, grants: [Grant(role: RoleName(.editor), apps: [.one(shop)])], sessionSeconds: 600)

/// The examples of the stream `access` since there are roles, as ``examples`` has them.
let accessExamples: [String: Entry] = {
    let end = Timestamp(microseconds: 1_770_000_000_250_000)
    let narrow = Grant(
        role: RoleName(.editor), apps: [pattern("com.example.*"), pattern("org.example")],
        hosts: [host("api.example.com"), host("*.example.com")], expiresAt: end)
    let token = newToken("tok_2", named: "CI", digest: sha256([3]), until: end, [narrow])
    var own = newToken("tok_3", named: "phone", digest: sha256([4]), until: end, nil, of: "prn_1")
    own.terms?.networks = [network("10.0.0.0/8"), network("2001:db8::/32")]
    var feed = newToken(
        "cal_1", named: "calendar", digest: sha256([5]), until: end,
        [Grant(role: RoleName(.viewer), apps: [.one(shop)])])
    feed.terms?.kind = .calendar
    var pipeline = newToken(
        "tok_4", named: "build", digest: sha256([6]), until: end, [.everywhere(.viewer)], of: "prn_1")
    pipeline.terms?.kind = .pipeline
    var session = newToken("tok_5", named: "session by company", digest: sha256([7]), until: end, nil, of: "prn_1")
    session.terms?.kind = .session
    session.terms?.origin = SessionOrigin(
        identity: identity("248289761001"), rules: [RuleReference(name: roleName("developers"), revision: 4)])
    var browser = newToken("tok_6", named: "Ada", digest: sha256([10]), until: end, nil, of: "prn_1")
    browser.terms?.kind = .session
    browser.terms?.origin = SessionOrigin(
        identity: identity("248289761001"), rules: [RuleReference(name: roleName("developers"), revision: 4)],
        authenticatedAt: noon, isForBrowser: true)
    var rotated = newToken("tok_5", digest: sha256([9]), until: end)
    rotated.replaced = TokenReplacement(token: "tok_1", overlap: 86_400)
    let events: [(String, AccessEvent)] = [
        ("TokenIssued.granted", .tokenIssued(token)), ("TokenIssued.own", .tokenIssued(own)),
        ("TokenIssued.calendar", .tokenIssued(feed)), ("TokenIssued.pipeline", .tokenIssued(pipeline)),
        ("RoleDefined", .roleDefined(roleName("release-manager"), [.changeApps, .readApps])),
        ("RoleRemoved", .roleRemoved(roleName("release-manager"))),
        ("PrincipalAdded", .principalAdded(id: "prn_1", .person, name: "Ada “Countess” Lovelace")),
        ("PrincipalAdded.service", .principalAdded(id: "prn_2", .service, name: "pipeline")),
        ("PrincipalRenamed", .principalRenamed(id: "prn_1", name: "Ada King")),
        ("PrincipalSuspended", .principalSuspended(id: "prn_1")),
        ("PrincipalReinstated", .principalReinstated(id: "prn_1")),
        ("RoleGranted", .roleGranted(id: "grt_1", principal: "prn_1", .everywhere(.auditor))),
        ("RoleGranted.narrow", .roleGranted(id: "grt_2", principal: "prn_1", narrow)),
        ("GrantRevoked", .grantRevoked(id: "grt_1", principal: "prn_1")),
        (
            "ApprovalRuleSet",
            .approvalRuleSet(
                ApprovalRule(
                    name: roleName("two-people"), apps: [pattern("com.example.*")],
                    permissions: [.weakenProtection, .manageAccess], approvals: 2, roles: [RoleName(.approver)]))
        ),
        (
            "ApprovalRuleSet.all",
            .approvalRuleSet(
                ApprovalRule(name: roleName("keys"), apps: [.all], permissions: [.manageKeys], approvals: 1))
        ),
        ("ApprovalRuleRemoved", .approvalRuleRemoved(roleName("two-people"))),
        ("FreezeSet", .freezeSet(Freeze(id: "frz_1", apps: [.all], from: noon, until: end))),
        ("FreezeRemoved", .freezeRemoved(id: "frz_1")),
        ("IdentityProviderSet", .identityProviderSet(company)),
        ("IdentityProviderSet.programs", .identityProviderSet(github)),
        ("IdentityProviderRemoved", .identityProviderRemoved(roleName("company"))),
        ("SignInRuleSet", .signInRuleSet(developers)), ("SignInRuleSet.service", .signInRuleSet(release)),
        ("SignInRuleRemoved", .signInRuleRemoved(roleName("release"))),
        ("IdentityLinked", .identityLinked(identity("248289761001"), principal: "prn_1")),
        ("IdentityUnlinked", .identityUnlinked(id: identity("248289761001").id, principal: "prn_1")),
        ("TokenIssued.session", .tokenIssued(session)), ("TokenIssued.rotated", .tokenIssued(rotated)),
        (
            "ApprovalKeyAdded",
            .approvalKeyAdded(ApprovalKey(kid: "kid-1", publicKey: sha256([3])), principal: "prn_1")
        ),
        ("ApprovalKeyRemoved", .approvalKeyRemoved(kid: "kid-1", principal: "prn_1")),
        ("TokenIssued.browser", .tokenIssued(browser)),
    ]
    let plain = Origin(actor: Actor(kind: .token, id: "tok_0", name: "Ann"))
    let ada = Origin(actor: Actor(kind: .token, id: "tok_3", name: "Ada", principalID: "prn_1"))
    return Dictionary(
        uniqueKeysWithValues: events.enumerated().map { index, example in
            let entry = Entry(
                position: Int64(1200 + index), stream: .access, streamVersion: Int64(index + 1), time: noon,
                event: .access(example.1), origin: index.isMultiple(of: 2) ? plain : ada
            )
            return (example.0, entry)
        }
    )
}()
