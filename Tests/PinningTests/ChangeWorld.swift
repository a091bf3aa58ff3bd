import PinWire
import Pinning
import Testing

/// A ledger with people who propose, approve and apply changes.
struct ChangeWorld {
    var state = LedgerState()
    var now = noon

    /// The people and programs, each with a token of its own.
    enum Party: String, CaseIterable {
        /// Change apps.
        case ada, dan
        /// Approve everything; `eve` approves for the apps `com.example.*` alone.
        case bob, eve
        /// May do everything.
        case root
        /// A service account that changes apps.
        case pipeline
        /// A token with an editor's role that belongs to no principal.
        case stray
        /// Sees nothing of the shop.
        case other

        var actor: Actor {
            Actor(
                kind: .token, id: "tok_\(self.rawValue)", name: self.rawValue,
                principalID: self == .stray ? nil : "prn_\(self.rawValue)")
        }

        fileprivate var grant: Grant {
            switch self {
            case .ada, .dan, .pipeline, .stray: .everywhere(.editor)
            case .bob: .everywhere(.approver)
            case .eve: Grant(role: RoleName(.approver), apps: [pattern("com.example.*")])
            case .root: .everywhere(.admin)
            case .other: Grant(role: RoleName(.admin), apps: [pattern("org.example.*")])
            }
        }
    }

    static let rule = ApprovalRule(
        name: roleName("two-people"), apps: [pattern("com.example.*")],
        permissions: [.changeApps, .weakenProtection, .overrideGuardRails], approvals: 1)

    init(rules: [ApprovalRule] = [Self.rule]) throws {
        try self.record(
            .app(
                shop,
                [
                    .create(displayName: "Shop"),
                    .addHost(api, includesSubdomains: false, mode: .reportOnly, pins: [new(1), new(2, .backup)]),
                ]))
        for (place, party) in Party.allCases.enumerated() {
            let (digest, end) = (sha256([UInt8(place)]), noon.adding(seconds: 90 * 86_400))
            let isAlone = party == .stray
            if !isAlone {
                try self.record(
                    .access(
                        .addPrincipal(
                            id: "prn_\(party.rawValue)", party == .pipeline ? .service : .person, name: party.rawValue))
                )
                try self.record(
                    .access(
                        .grantRole(id: "grt_\(party.rawValue)", principal: "prn_\(party.rawValue)", party.grant)))
            }
            try self.record(
                .access(
                    .issueToken(
                        newToken(
                            "tok_\(party.rawValue)", digest: digest, until: end, isAlone ? [party.grant] : nil,
                            of: isAlone ? nil : "prn_\(party.rawValue)"))))
        }
        for rule in rules { try self.record(.access(.setApprovalRule(rule))) }
    }

    func context(_ actor: Actor?, _ why: String? = "ticket 7") -> DecisionContext {
        var context = PinningTests.context(why, at: self.now)
        context.commander = actor
        // The operator at the database sets the scene.
        context.isForced = actor == nil
        if let actor { context.actor = actor.kind }
        return context
    }

    /// Decides on a command and takes in its events one by one, as a node does that follows the ledger.
    @discardableResult
    mutating func record(
        _ command: Command, as actor: Actor? = nil, because why: String? = "ticket 7"
    ) throws -> Decision {
        let decision = try self.state.decide(command, in: self.context(actor, why))
        var led = self.state
        for effect in decision.effects {
            for event in effect.events { self.take(event, of: effect.stream) }
            led.take(effect.after)
        }
        for event in decision.events { self.take(event, of: command.stream) }
        led.take(decision.after)
        #expect(led.changes == self.state.changes && led.apps == self.state.apps && led.access == self.state.access)
        return decision
    }

    private mutating func take(_ event: Event, of stream: StreamID) {
        let isTaken = self.state.apply(event, of: stream, at: self.now)
        #expect(isTaken)
    }

    @discardableResult
    mutating func act(_ command: ChangeCommand, as party: Party, because why: String? = "ticket 7") throws -> Decision {
        try self.record(.change(command), as: party.actor, because: why)
    }

    /// Why a command is refused; nil where it is not.
    func refusal(_ command: Command, as actor: Actor?, because why: String? = "ticket 7") -> Refusal? {
        do throws(Refusal) { _ = try self.state.decide(command, in: self.context(actor, why)) } catch { return error }
        return nil
    }

    func refusal(of command: ChangeCommand, as party: Party, because why: String? = "ticket 7") -> Refusal? {
        self.refusal(.change(command), as: party.actor, because: why)
    }

    func digest(_ id: String) throws -> [UInt8] { try #require(self.state.changes[id]).contentDigest }

    mutating func approve(_ id: String, as party: Party) throws {
        try self.act(.approve(id: id, contentDigest: try self.digest(id)), as: party)
    }

    /// Adds a backup pin: what nobody can object to.
    static let addition = Command.app(shop, [.addPin(api, .baseline, new(5, .backup))])
    static let weakening = Command.app(shop, [.setMode(api, .baseline, .off)])

    static func draft(_ commands: Command..., notBefore: Timestamp? = nil) -> ChangeDraft {
        ChangeDraft(commands: commands, notBefore: notBefore)
    }

    /// Every refusal that is about changes, rules and freezes.
    static func refusals() throws -> [Refusal] {
        var refusals: [Refusal?] = []
        var world = try ChangeWorld()
        let root = Party.root.actor
        func numbered(_ number: Int) -> Command {
            .access(
                .setApprovalRule(
                    ApprovalRule(
                        name: roleName("r\(number)"), apps: [.all], permissions: [.manageKeys], approvals: 1)))
        }
        func freeze(_ number: Int, _ apps: AppPattern = .one(appID("org.example"))) -> Command {
            .access(
                .setFreeze(Freeze(id: "frz_\(number)", apps: [apps], from: noon, until: noon.adding(seconds: 60))))
        }
        refusals.append(world.refusal(.access(.removeApprovalRule(roleName("none"))), as: root))
        var many = rule
        many.approvals = 5
        refusals.append(world.refusal(.access(.setApprovalRule(many)), as: root))
        let theirs = ApprovalRule(
            name: roleName("theirs"), apps: [pattern("org.example.*")], permissions: [.changeApps], approvals: 1)
        refusals.append(world.refusal(.access(.setApprovalRule(theirs)), as: Party.other.actor))
        refusals.append(world.refusal(.access(.removeFreeze(id: "none")), as: root))
        refusals.append(world.refusal(addition, as: Party.ada.actor))
        refusals.append(
            world.refusal(of: create("chg_1", .webhooks(.rotateSecret(id: "whk_1", secretID: "whs_1"))), as: .root))
        refusals.append(world.refusal(of: create("chg_1", addition), as: .stray))
        refusals.append(world.refusal(of: create("chg_1"), as: .ada))
        refusals.append(world.refusal(of: create("chg_1", .app(shop, [.rename("Shop")])), as: .ada))
        try world.act(create("chg_1", addition), as: .ada)
        let digest = try world.digest("chg_1")
        refusals.append(world.refusal(of: create("chg_1", addition), as: .ada))
        refusals.append(world.refusal(of: .withdraw(id: "chg_1"), as: .bob))
        refusals.append(world.refusal(of: .apply(id: "chg_1", bypassesApprovals: false), as: .ada))
        refusals.append(world.refusal(of: .approve(id: "chg_1", contentDigest: digest), as: .ada))
        refusals.append(world.refusal(of: .approve(id: "chg_1", contentDigest: digest), as: .pipeline))
        refusals.append(world.refusal(of: .approve(id: "chg_1", contentDigest: sha256([0])), as: .bob))
        func add(_ number: UInt8, to party: Party) -> Command {
            .access(
                .addApprovalKey(
                    ApprovalKey(kid: "k\(number)", publicKey: sha256([number])),
                    principal: party.actor.principalID ?? ""))
        }
        for number in 1...5 { try world.record(add(UInt8(number), to: .bob)) }
        refusals.append(world.refusal(of: .approve(id: "chg_1", contentDigest: digest), as: .bob))
        let unknown = ApprovalSignature(kid: "k9", bytes: [])
        refusals.append(world.refusal(of: .approve(id: "chg_1", contentDigest: digest, signature: unknown), as: .bob))
        refusals.append(world.refusal(add(1, to: .eve), as: nil))
        refusals.append(world.refusal(add(6, to: .bob), as: nil))
        refusals.append(world.refusal(of: .review(id: "chg_1"), as: .bob))
        try world.act(.reject(id: "chg_1"), as: .bob)
        refusals.append(world.refusal(of: .withdraw(id: "chg_1"), as: .ada))
        refusals.append(world.refusal(of: .withdraw(id: "chg_0"), as: .ada))
        try world.act(create("chg_2", addition, isDraft: true), as: .ada)
        refusals.append(world.refusal(of: .apply(id: "chg_2", bypassesApprovals: false), as: .ada))

        var open = try ChangeWorld(rules: [])
        let later = draft(weakening, notBefore: noon.adding(seconds: 60))
        try open.act(.create(id: "chg_1", later, isDraft: false), as: .ada)
        refusals.append(open.refusal(of: .apply(id: "chg_1", bypassesApprovals: false), as: .ada))
        try open.act(create("chg_2", weakening), as: .ada)
        try open.record(weakening)
        refusals.append(open.refusal(of: .apply(id: "chg_2", bypassesApprovals: false), as: .ada))
        for number in 0..<98 { try open.act(create("chg_a\(number)", addition), as: .ada) }
        refusals.append(open.refusal(of: create("chg_b", addition), as: .ada))
        try open.record(freeze(0, .all))
        refusals.append(open.refusal(freeze(0), as: root))
        refusals.append(open.refusal(addition, as: Party.ada.actor))
        for number in 1..<Freeze.limit { try open.record(freeze(number)) }
        refusals.append(open.refusal(freeze(Freeze.limit), as: root))
        for number in 0..<Access.approvalRuleLimit { try open.record(numbered(number)) }
        refusals.append(open.refusal(numbered(Access.approvalRuleLimit), as: nil))

        var crowd = try ChangeWorld(rules: [])
        try crowd.act(create("chg_1", addition), as: .ada)
        for number in 1..<ProposedChange.peopleLimit {
            let author = Actor(kind: .local, id: "u\(number)", name: "u")
            let commands = number.isMultiple(of: 2) ? [addition] : [weakening]
            try crowd.record(
                .change(.edit(id: "chg_1", base: try crowd.digest("chg_1"), ChangeDraft(commands: commands))),
                as: author)
        }
        refusals.append(
            crowd.refusal(
                .change(.edit(id: "chg_1", base: try crowd.digest("chg_1"), draft(addition, weakening))), as: root))
        #expect(refusals.allSatisfy { $0 != nil })
        return refusals.compactMap { $0 }
    }

    static func create(_ id: String, _ commands: Command..., isDraft: Bool = false) -> ChangeCommand {
        .create(id: id, ChangeDraft(commands: commands), isDraft: isDraft)
    }
}
