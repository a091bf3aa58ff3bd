import Foundation
import PinWire

/// What applying specs would do, app by app: the server's answers to dry runs.
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
    var isPruned: Bool
    var reason: String?
    var isForced: Bool
    var plans: [Plan] = []

    var changed: [Plan] { self.plans.filter(\.changes) }
    var refused: [Plan] { self.plans.filter { $0.refusal != nil } }

    /// Asks the server what the specs would do.
    init(
        _ specs: [SpecFiles.Spec], prunes: Bool, reason: String?, isForced: Bool, proposes: Bool, _ client: APIClient
    ) async throws {
        self.server = client.base
        self.isPruned = prunes
        self.reason = reason
        self.isForced = isForced
        for spec in specs {
            var options = ChangeOptions.none
            options.dryRun = true
            options.reason = reason
            options.force = isForced
            options.propose = proposes
            do {
                let answer = try await client.change(
                    "PUT", Self.path(spec.app, prunes: prunes), spec.members, options)
                self.plans.append(Plan(spec: spec, hash: answer["plan_hash"]?.stringValue, answer: answer))
            } catch let failure as CommandFailure {
                // The server, the way to it, or the token fails for all of them.
                guard let problem = failure.problem, ![.tooMany, .unreachable].contains(failure.status),
                    !["/problems/token_missing", "/problems/token_malformed", "/problems/token_invalid"].contains(
                        problem)
                else { throw failure }
                guard problem != "/problems/change_without_effect" else {
                    // What stays is told by itself, and asks for no approval.
                    options.propose = false
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
            "pinledger_plan": 1,
            "server": .string(self.server),
            "prune": .bool(self.isPruned),
            "force": .bool(self.isForced),
            "reason": self.reason.map { .string($0) },
            "apps": .array(
                self.changed.map { plan in
                    .members([
                        "app": .string(plan.spec.app), "spec": .object(plan.spec.members),
                        "plan_hash": plan.hash.map { .string($0) },
                    ])
                }),
        ])
    }

    /// Reads ``json``.
    ///
    /// - Throws: ``CommandFailure``.
    init(path: String) throws {
        let file = try YAMLFile(path: path)
        guard file.json["pinledger_plan"] == 1 else {
            throw CommandFailure(
                "\(path) is no plan of this version of pinledger",
                advice: "Write one with `pinledger plan --out FILE`.",
                status: .usage)
        }
        self = try file.read { (m) throws(JSONDefect) in
            _ = try m.required("pinledger_plan")
            var plans = SpecPlans(
                server: try m.required("server").string(), isPruned: try m.required("prune").bool(),
                reason: try m.optional("reason")?.string(),
                isForced: try m.required("force").bool())
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
            return plans
        }
    }

    private init(server: String, isPruned: Bool, reason: String?, isForced: Bool) {
        self.server = server
        self.isPruned = isPruned
        self.reason = reason
        self.isForced = isForced
    }
}

extension SpecPlans {
    /// Shows the plans: what would be recorded, what would differ, and what stays.
    func show(_ output: OutputForm) {
        guard output.isTable else {
            return Console.print(
                JSON.object([
                    "apps": .array(
                        self.plans.map { plan in
                            .members([
                                "app": .string(plan.spec.app),
                                "status": .string(
                                    plan.refusal != nil
                                        ? "refused" : plan.changes ? "changes" : plan.differs ? "differs" : "up_to_date"
                                ),
                                "error": plan.refusal.map { .string($0.message) },
                                "answer": plan.answer,
                            ])
                        })
                ]), output)
        }
        for plan in self.plans {
            if let refusal = plan.refusal {
                Console.line("\(plan.spec.app): refused")
                for line in refusal.message.split(separator: "\n") { Console.line("  \(line)") }
                // What the API calls `errors` is in the message.
                if let advice = refusal.advice, !advice.contains("`errors`") { Console.line("  \(advice)") }
            } else if plan.changes {
                Console.line("\(plan.spec.app):")
                for line in Self.lines(of: plan.answer) { Console.line("  \(line)") }
            }
            for kept in plan.remainder { Console.line("  stays (\(plan.spec.app)): \(kept.text("detail"))") }
        }
        let differing = self.plans.count { !$0.changes && $0.differs }
        let same = self.plans.count - self.changed.count - self.refused.count - differing
        var parts = ["\(self.changed.count) to change", "\(same) up to date"]
        if differing > 0 { parts.append("\(differing) not as the specs say, which stay") }
        if !self.refused.isEmpty { parts.append("\(self.refused.count) refused") }
        Console.print(parts.joined(separator: ", ") + ".")
    }

    private static func lines(of answer: JSON) -> [String] {
        // A proposal's events are those of the change; what it does is in its preview.
        let preview = answer["change"]?["preview"]
        let events = (preview?["events"] ?? answer["events"])?.arrayValue ?? []
        let differences =
            answer["difference"]?.arrayValue
            ?? (preview?["differences"]?.arrayValue ?? []).flatMap { $0["difference"]?.arrayValue ?? [] }
        let findings = (preview?["guard_rail_findings"] ?? answer["guard_rail_findings"])?.arrayValue ?? []
        // The whole of a new app follows from the events; its version and time from there being any.
        let telling = differences.filter { !["", "/version", "/updated_at"].contains($0.text("pointer")) }
        return events.map { "+ \(EventLine.text(of: $0))" } + telling.compactMap(DifferenceLine.text).map { "~ \($0)" }
            + FindingReport.lines(findings)
    }
}
