import Foundation
import PinWire
import Pinning

/// What applying specs would do, app by app and for what they share: the server's answers to dry runs.
struct SpecPlans {
    struct Plan {
        var spec: SpecFiles.Spec
        /// The hash of the events that would be recorded. Nil for a proposal, whose approvals name its content, and for a refusal.
        var hash: String?
        var answer: JSON
        var refusal: CommandFailure?

        /// What stays although the spec says otherwise, or nothing.
        var remainder: [JSON] { self.answer["remainder"]?.arrayValue ?? [] }

        /// Whether the spec says something that the app is not, and that applying it does not change.
        var differs: Bool {
            self.refusal == nil
                && self.remainder.contains {
                    !["host", "pin", "candidate", "client", "setting"].contains($0.text("kind"))
                }
        }

        /// Whether anything would be recorded.
        var changes: Bool {
            self.refusal == nil && !(self.answer["events"]?.arrayValue ?? []).isEmpty
        }
    }

    /// The server that was asked.
    var server: String
    var terms: SharedPlan.Terms
    /// Nil where the specs say nothing of what apps share.
    var shared: SharedPlan?
    var plans: [Plan] = []

    var changed: [Plan] { self.plans.filter(\.changes) }
    var refused: [Plan] { self.plans.filter { $0.refusal != nil } }

    /// Asks the server what the specs would do.
    init(
        _ specs: (apps: [SpecFiles.Spec], shared: SharedSpec), _ terms: SharedPlan.Terms, _ client: APIClient
    ) async throws {
        self.server = client.base
        self.terms = terms
        if !specs.shared.isEmpty { self.shared = try await SharedPlan(specs.shared, terms, client) }
        let prunes = terms.prunes
        for spec in specs.apps {
            var options = ChangeOptions.none
            options.dryRun = true
            options.reason = terms.reason
            options.force = terms.isForced
            options.proposal.propose = terms.proposes
            do {
                let answer = try await client.change(
                    "PUT", Self.path(spec.app, prunes: prunes), spec.members, options)
                self.plans.append(Plan(spec: spec, hash: answer["plan_hash"]?.stringValue, answer: answer))
            } catch let failure as CommandFailure {
                // The server, the way to it, or the token fails for all of them.
                guard let problem = failure.problem, failure.isOfOneChange else { throw failure }
                guard problem != "/problems/change_without_effect" else {
                    // What stays is told by itself, and asks for no approval.
                    options.proposal.propose = false
                    let answer = try await client.change(
                        "PUT", Self.path(spec.app, prunes: prunes), spec.members, options)
                    self.plans.append(Plan(spec: spec, answer: answer))
                    continue
                }
                self.plans.append(Plan(spec: spec, answer: [:], refusal: failure))
            }
        }
    }

    static func path(_ app: String, prunes: Bool) -> String {
        "/v1/apps/\(APIClient.escaped(app))/spec\(prunes ? "?prune=true" : "")"
    }

    // MARK: In a file

    /// The plan as a file that `pinledger apply --plan FILE` takes: what would be done, and on which server.
    var json: JSON {
        .members([
            "pinledger_plan": 2,
            "server": .string(self.server),
            "prune": .bool(self.terms.prunes),
            "force": .bool(self.terms.isForced),
            "reason": self.terms.reason.map { .string($0) },
            "shared": self.shared.map {
                ["spec": .object($0.spec.sections), "digest": .string($0.digest)]
            },
            "apps": .array(
                self.changed.map { plan in
                    .members([
                        "app": .string(plan.spec.app), "spec": .object(plan.spec.members),
                        "plan_hash": plan.hash.map { .string($0) },
                    ])
                }),
        ])
    }

    /// Reads ``json``, and plans what apps share once more: it must be what was planned.
    ///
    /// - Throws: ``CommandFailure``.
    init(path: String, _ client: APIClient) async throws {
        let file = try YAMLFile(path: path)
        guard file.json["pinledger_plan"] == 2 else {
            throw CommandFailure(
                "\(path) is no plan of this version of pinledger",
                advice: "Write one with `pinledger plan --out FILE`.",
                status: .usage)
        }
        let shared: (spec: SharedSpec, digest: String)?
        (self, shared) = try file.read { (m) throws(JSONDefect) in
            _ = try m.required("pinledger_plan")
            var plans = SpecPlans(
                server: try m.required("server").string(),
                terms: SharedPlan.Terms(
                    prunes: try m.required("prune").bool(), reason: try m.optional("reason")?.string(),
                    isForced: try m.required("force").bool(), proposes: false))
            let shared = try m.optional("shared").mapped { (field) throws(JSONDefect) in
                try field.object { (m) throws(JSONDefect) in
                    (
                        try m.required("spec").object { (m) throws(JSONDefect) in try SharedSpec(&m) },
                        try m.required("digest").string()
                    )
                }
            }
            for field in try m.required("apps").elements(atMost: 100_000) {
                let plan = try field.object { (m) throws(JSONDefect) in
                    let spec = try m.required("spec")
                    guard let members = spec.value.objectValue else { throw spec.defect("must be an object") }
                    let hash = try m.required("plan_hash")
                    guard Hex.decode(try hash.string())?.count == 32 else {
                        throw hash.defect("must be 64 hexadecimal digits")
                    }
                    return Plan(
                        spec: SpecFiles.Spec(app: try m.required("app").string(), members: members),
                        hash: try hash.string(), answer: [:])
                }
                plans.plans.append(plan)
            }
            return (plans, shared)
        }
        guard let shared, self.server == client.base else { return }
        self.shared = try await SharedPlan(shared.spec, self.terms, client)
        guard self.shared?.digest == shared.digest else {
            throw CommandFailure(
                "fleet, access or webhooks are not what they were when the plan was made",
                advice: "Plan again, and look at the new plan. Nothing is recorded.", status: .conflict)
        }
    }

    private init(server: String, terms: SharedPlan.Terms) {
        self.server = server
        self.terms = terms
    }
}

extension SpecPlans {
    /// Shows the plans: what would be recorded, what would differ, and what stays.
    func show(_ output: OutputForm) {
        guard output.isTable else {
            return Console.print(
                JSON.object(
                    [
                        "apps": .array(
                            self.plans.map { plan in
                                .members([
                                    "app": .string(plan.spec.app),
                                    "status": .string(
                                        plan.refusal != nil
                                            ? "refused"
                                            : plan.changes ? "changes" : plan.differs ? "differs" : "up_to_date"
                                    ),
                                    "error": plan.refusal.map { .string($0.message) },
                                    "answer": plan.answer,
                                ])
                            })
                    ].merging(self.shared.map { ["shared": $0.json] } ?? [:]) { mine, _ in mine }), output)
        }
        self.shared?.show()
        for plan in self.plans {
            if let refusal = plan.refusal {
                Self.show(refusal, of: plan.spec.app)
            } else if plan.changes {
                Console.line("\(plan.spec.app):")
                for line in Self.lines(of: plan.answer) { Console.line("  \(line)") }
            }
            for kept in plan.remainder { Console.line("  stays (\(plan.spec.app)): \(kept.said("detail"))") }
        }
        let differing = self.plans.count { !$0.changes && $0.differs }
        let steps = self.shared?.steps ?? []
        let changed = self.changed.count + steps.count(where: \.changes)
        let refused = self.refused.count + (self.shared?.refused.count ?? 0)
        let same = self.plans.count + steps.count - changed - refused - differing
        var parts = ["\(changed) to change", "\(same) up to date"]
        if differing > 0 { parts.append("\(differing) not as the specs say, which stay") }
        if refused > 0 { parts.append("\(refused) refused") }
        Console.print(parts.joined(separator: ", ") + ".")
    }

    static func show(_ refusal: CommandFailure, of name: String) {
        Console.line("\(name): refused")
        for line in refusal.message.split(separator: "\n") { Console.line("  \(line)") }
        // What the API calls `errors` is in the message.
        if let advice = refusal.advice, !advice.contains("`errors`") { Console.line("  \(advice)") }
    }

    static func lines(of answer: JSON) -> [String] {
        // A proposal's events are those of the change; what it does is in its preview.
        let preview = answer["change"]?["preview"]
        let events = (preview?["events"] ?? answer["events"])?.arrayValue ?? []
        let differences =
            answer["difference"]?.arrayValue
            ?? (preview?["differences"]?.arrayValue ?? []).flatMap { $0["difference"]?.arrayValue ?? [] }
        let findings = (preview?["guard_rail_findings"] ?? answer["guard_rail_findings"])?.arrayValue ?? []
        // The whole of a new app follows from the events.
        let telling = differences.filter { $0.text("pointer") != "" }
        return events.map { "+ \(EventLine.text(of: $0))" } + DifferenceLine.lines(telling)
            + FindingReport.lines(findings)
    }
}
