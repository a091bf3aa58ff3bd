import PinWire
import Pinning

/// What applying a ``SharedSpec`` would do: its steps, in order, each with the server's answer to a dry run.
struct SharedPlan {
    /// How changes are planned: as `--prune`, `--reason`, `--force` and `--propose` say.
    struct Terms {
        var prunes: Bool
        var reason: String?
        var isForced: Bool
        var proposes: Bool
    }

    let spec: SharedSpec
    private(set) var steps: [SharedStep] = []
    /// What the spec leaves out, and stays: one sentence each.
    private(set) var remainder: [String] = []
    /// The version of each stream that was compared.
    private(set) var versions: [SharedStep.Stream: EpochNumber] = [:]
    private let prunes: Bool

    /// Compares the server with the spec, and rehearses each step.
    init(_ spec: SharedSpec, _ terms: Terms, _ client: APIClient) async throws {
        self.spec = spec
        self.prunes = terms.prunes
        guard !spec.isEmpty else { return }
        if spec.sections["fleet"] != nil { self.fleet(try await client.get("/v1/fleet")) }
        if spec.hasAccess { try self.access(try await client.get("/v1/access")) }
        if let webhooks = spec.webhooks { try self.webhooks(webhooks, try await client.get("/v1/webhooks")) }
        for index in self.steps.indices { try await self.rehearse(index, terms, client) }
    }

    var before: [SharedStep] { self.steps.filter { $0.changes && !$0.isAfterApps } }
    var after: [SharedStep] { self.steps.filter { $0.changes && $0.isAfterApps } }
    var refused: [SharedStep] {
        self.steps.filter { step in if case .refused = step.outcome { true } else { false } }
    }

    /// SHA-256 of what the plan fixes, as hexadecimal digits: the same where it would do the same.
    var digest: String {
        Hex.encode(sha256(JSON.array(self.steps.filter(\.changes).map(\.fixed)).canonicalBytes))
    }

    // MARK: Comparing

    private mutating func fleet(_ fleet: JSON) {
        if let issuer = self.spec.issuer {
            self.steps.append(
                SharedStep(kind: .issuer, action: .set, name: issuer, members: ["issuer": .string(issuer)]))
        }
        let lowered = Set((fleet["lowered_guard_rails"]?.arrayValue ?? []).compactMap(Self.railCode))
        guard let wanted = self.spec.loweredRails.map({ Set($0) }) else {
            if !lowered.isEmpty {
                self.remainder.append("The spec does not mention lowered_guard_rails, which is set.")
            }
            return
        }
        for code in wanted.symmetricDifference(lowered).sorted() {
            self.steps.append(
                SharedStep(
                    kind: .guardRail, action: .set, name: code, id: code,
                    members: ["lowered": .bool(wanted.contains(code))]))
        }
    }

    /// The code of a lowered guard rail, which the API shows by itself or with what it does.
    static func railCode(_ value: JSON) -> String? { value.stringValue ?? value["code"]?.stringValue }

    private mutating func access(_ access: JSON) throws {
        let roles = (access["roles"]?.arrayValue ?? []).filter { $0["built_in"] != true }
        self.set(self.spec.roles, .role)
        try self.principals(access["principals"]?.arrayValue ?? [])
        self.set(self.spec.identityProviders, .identityProvider)
        self.set(self.spec.signInRules, .signInRule)
        self.set(self.spec.approvalRules, .approvalRule)
        guard self.spec.approvalRules == nil || access["approval_rules"] != nil else {
            throw CommandFailure(
                "approval_rules cannot be compared without the permission changes.read on all apps",
                advice: "Leave them out, or have the token's principal granted a role with it.", status: .unauthorized)
        }
        self.leftOut(self.spec.signInRules, access["sign_in_rules"], "rule", .signInRule)
        self.leftOut(self.spec.approvalRules, access["approval_rules"], "rule", .approvalRule)
        self.leftOut(self.spec.identityProviders, access["identity_providers"], "provider", .identityProvider)
        self.leftOut(self.spec.roles, .array(roles), "role", .role)
    }

    private mutating func set(_ entries: [SharedSpec.Entry]?, _ kind: SharedStep.Kind) {
        for entry in entries ?? [] {
            self.steps.append(
                SharedStep(kind: kind, action: .set, name: entry.id, id: entry.id, members: entry.members))
        }
    }

    /// Removes what a given list leaves out where the plan prunes, and else says that it stays.
    private mutating func leftOut(
        _ entries: [SharedSpec.Entry]?, _ present: JSON?, _ key: String, _ kind: SharedStep.Kind
    ) {
        let mentioned = Set((entries ?? []).map(\.id))
        for id in (present?.arrayValue ?? []).map({ $0.text(key) }).sorted() where !mentioned.contains(id) {
            if self.prunes, entries != nil {
                self.steps.append(SharedStep(kind: kind, action: .remove, name: id, id: id))
            } else {
                self.remainder.append("The spec does not mention the \(kind.noun) \(id).")
            }
        }
    }

    private mutating func principals(_ present: [JSON]) throws {
        var removals: [SharedStep] = []
        for wanted in self.spec.principals ?? [] {
            let known = present.filter { $0.text("name") == wanted.name }
            guard known.count < 2 else {
                throw CommandFailure(
                    "\(known.count) principals have the name \(wanted.name)",
                    advice: "Rename one with `pinledger access rename \(known[1].text("principal_id")) NAME`.")
            }
            let principal = known.first
            if let principal, principal.text("kind") != wanted.kind {
                throw CommandFailure(
                    "the principal \(wanted.name) is a \(principal.text("kind")), and not a \(wanted.kind)",
                    advice: "Give the other one a name of its own: the kind of a principal does not change.")
            }
            if principal == nil {
                self.steps.append(
                    SharedStep(
                        kind: .principal, action: .add, name: wanted.name,
                        members: ["name": .string(wanted.name), "kind": .string(wanted.kind)]))
            }
            guard let grants = wanted.grants else { continue }
            var extra = (principal?["grants"]?.arrayValue ?? []).map { (json: $0, grant: ComparableGrant($0)) }
            for grant in grants {
                let comparable = ComparableGrant(grant)
                if let place = extra.firstIndex(where: { $0.grant == comparable }) {
                    extra.remove(at: place)
                    continue
                }
                self.steps.append(
                    SharedStep(
                        kind: .grant, action: .add, name: wanted.name, id: principal?.text("principal_id"),
                        members: grant.objectValue ?? [:]))
            }
            for (grant, _) in extra {
                let id = grant.text("grant_id")
                if self.prunes {
                    removals.append(SharedStep(kind: .grant, action: .remove, name: "\(wanted.name): \(id)", id: id))
                } else {
                    self.remainder.append(
                        "The spec does not mention the grant \(id) of \(wanted.name): \(grant.text("role")).")
                }
            }
        }
        self.steps += removals
        // Without the tokens of one that is left out, its job or person stops: that takes a person who says so.
        let mentioned = Set((self.spec.principals ?? []).map(\.name))
        for principal in present
        where !mentioned.contains(principal.text("name")) && principal["grants"]?.arrayValue?.isEmpty == false {
            self.remainder.append("The spec does not mention the principal \(principal.text("name")), which stays.")
        }
    }

    private mutating func webhooks(_ wanted: [SharedSpec.Entry], _ answer: JSON) throws {
        let present = answer["webhooks"]?.arrayValue ?? []
        for entry in wanted {
            let known = present.filter { $0.text("url") == entry.id }
            guard known.count < 2 else {
                throw CommandFailure(
                    "\(known.count) webhooks have the address \(entry.id)",
                    advice: "Remove one with `pinledger webhook remove \(known[1].text("webhook_id"))`.")
            }
            var members = entry.members
            if known.isEmpty { members["url"] = .string(entry.id) }
            self.steps.append(
                SharedStep(
                    kind: .webhook, action: known.isEmpty ? .add : .set, name: entry.id,
                    id: known.first?.text("webhook_id"), members: members))
        }
        let mentioned = Set(wanted.map(\.id))
        for webhook in present where !mentioned.contains(webhook.text("url")) {
            if self.prunes {
                self.steps.append(
                    SharedStep(
                        kind: .webhook, action: .remove, name: webhook.text("url"), id: webhook.text("webhook_id")))
            } else {
                self.remainder.append("The spec does not mention the webhook \(webhook.text("url")).")
            }
        }
    }

    // MARK: Rehearsing

    private mutating func rehearse(_ index: Int, _ terms: Terms, _ client: APIClient) async throws {
        let step = self.steps[index]
        if terms.proposes, step.action == .add, let problem = Self.cannotBeProposed(step) {
            self.steps[index].outcome = .refused(problem)
            return
        }
        guard let path = step.path([:]) else { return self.steps[index].outcome = .deferred }
        var options = ChangeOptions.none
        options.dryRun = true
        options.reason = terms.reason
        options.force = terms.isForced
        options.proposal.propose = terms.proposes
        do {
            let (answer, version) = try await client.versionedChange(step.method, path, step.members, options)
            self.steps[index].answer = answer
            let events = answer["events"]?.arrayValue ?? []
            if self.versions[step.stream] == nil, var version {
                version.number -= Int64(events.count)
                self.versions[step.stream] = version
            }
            self.steps[index].outcome = events.isEmpty && step.action == .set ? .same : .changes
        } catch let failure as CommandFailure {
            guard let problem = failure.problem, failure.isOfOneChange else { throw failure }
            if problem == "/problems/change_without_effect" {
                self.steps[index].outcome = .same
            } else if SharedStep.deferrable.contains(problem), self.steps[..<index].contains(where: \.changes) {
                self.steps[index].outcome = .deferred
            } else {
                self.steps[index].outcome = .refused(failure)
            }
        }
    }

    private static func cannotBeProposed(_ step: SharedStep) -> CommandFailure? {
        switch step.kind {
        case .webhook:
            CommandFailure(
                "a new webhook cannot be proposed, since its secret is shown only once",
                advice: "Make it with `pinledger webhook create \(step.name)`, and propose the others.")
        case .grant where step.id == nil:
            CommandFailure(
                "a grant to a principal that is not there yet cannot be proposed",
                advice: "Propose the principal first, without `grants`.")
        case .grant, .issuer, .guardRail, .role, .principal, .identityProvider, .signInRule, .approvalRule: nil
        }
    }
}

/// A grant as it is compared: lists without order, times as moments.
private struct ComparableGrant: Equatable {
    private let role: String
    private let apps: Set<String>
    private let hosts: Set<String>?
    private let end: Timestamp?

    init(_ json: JSON) {
        func texts(_ name: String) -> Set<String>? {
            json[name]?.arrayValue.map { Set($0.compactMap(\.stringValue)) }
        }
        self.role = json.text("role")
        self.apps = texts("apps") ?? []
        self.hosts = texts("hosts")
        self.end = json["expires_at"]?.stringValue.flatMap(Timestamp.init(rfc3339:))
    }
}

extension CommandFailure {
    /// Whether the server refuses one change, and not the caller, and the way to it works.
    var isOfOneChange: Bool {
        guard let problem = self.problem, ![.tooMany, .unreachable].contains(self.status) else { return false }
        return !["/problems/token_missing", "/problems/token_malformed", "/problems/token_invalid"].contains(problem)
    }
}

extension SharedPlan {
    /// Shows the steps, as ``SpecPlans/show(_:)`` shows apps.
    func show() {
        for step in self.steps {
            switch step.outcome {
            case .same: break
            case .refused(let refusal): SpecPlans.show(refusal, of: step.title)
            case .deferred:
                Console.line("\(step.title):")
                Console.line("  + judged when it is applied: it needs what comes before")
            case .changes:
                Console.line("\(step.title):")
                for line in SpecPlans.lines(of: step.answer) { Console.line("  \(line)") }
            }
        }
        for sentence in self.remainder { Console.line("  stays: \(sentence)") }
    }

    /// The steps and what stays, for programs.
    var json: JSON {
        [
            "steps": .array(
                self.steps.map { step in
                    let (status, error): (String, String?) =
                        switch step.outcome {
                        case .same: ("up_to_date", nil)
                        case .changes: ("changes", nil)
                        case .deferred: ("deferred", nil)
                        case .refused(let refusal): ("refused", refusal.message)
                        }
                    return .members([
                        "kind": .string(step.kind.rawValue), "action": .string(step.action.rawValue),
                        "name": .string(step.name), "status": .string(status), "error": error.map { .string($0) },
                        "answer": step.answer,
                    ])
                }),
            "remainder": .array(self.remainder.map { .string($0) }),
        ]
    }
}
