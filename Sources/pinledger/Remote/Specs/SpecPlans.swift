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

        /// Whether anything would be recorded.
        var changes: Bool {
            self.refusal == nil && !(self.answer["events"]?.arrayValue ?? []).isEmpty
        }
    }

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
                    self.plans.append(Plan(spec: spec, answer: ["events": []]))
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

    /// The plan as a file that `pinledger apply --plan FILE` takes: what would be done, and nothing of what it is about that is refused.
    var json: JSON {
        .members([
            "pinledger_plan": 1,
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
                isPruned: try m.required("prune").bool(), reason: try m.optional("reason")?.string(),
                isForced: try m.required("force").bool())
            for field in try m.required("apps").elements(atMost: 100_000) {
                let plan = try field.object { (m) throws(JSONDefect) in
                    let spec = try m.required("spec")
                    guard let members = spec.value.objectValue else { throw spec.defect("must be an object") }
                    return Plan(
                        spec: SpecFiles.Spec(app: try m.required("app").string(), members: members),
                        hash: try m.required("plan_hash").string(), answer: [:])
                }
                plans.plans.append(plan)
            }
            return plans
        }
    }

    private init(isPruned: Bool, reason: String?, isForced: Bool) {
        self.isPruned = isPruned
        self.reason = reason
        self.isForced = isForced
    }
}

extension SpecPlans {
    /// Shows the plans: what would be recorded, what would differ, and what stays.
    func show(_ output: RemoteOptions.OutputForm) {
        guard output == .table else {
            return Console.print(
                JSON.object([
                    "apps": .array(
                        self.plans.map { plan in
                            .members([
                                "app": .string(plan.spec.app),
                                "status": .string(
                                    plan.refusal != nil ? "refused" : plan.changes ? "changes" : "up_to_date"),
                                "error": plan.refusal.map { .string($0.message) },
                                "answer": plan.answer,
                            ])
                        })
                ]).canonicalText)
        }
        for plan in self.plans {
            if let refusal = plan.refusal {
                Console.print("\(plan.spec.app): refused")
                for line in refusal.message.split(separator: "\n") { Console.print("  \(line)") }
                if let advice = refusal.advice { Console.print("  \(advice)") }
            } else if plan.changes {
                Console.print("\(plan.spec.app):")
                for line in Self.lines(of: plan.answer) { Console.print("  \(line)") }
            }
            for kept in plan.answer["remainder"]?.arrayValue ?? [] {
                Console.print("  stays (\(plan.spec.app)): \(kept.text("detail"))")
            }
        }
        let same = self.plans.count - self.changed.count - self.refused.count
        Console.print(
            "\(self.changed.count) to change, \(same) up to date"
                + (self.refused.isEmpty ? "." : ", \(self.refused.count) refused."))
    }

    private static func lines(of answer: JSON) -> [String] {
        // A proposal's events are those of the change; what it does is in its preview.
        let preview = answer["change"]?["preview"]
        let events = (preview?["events"] ?? answer["events"])?.arrayValue ?? []
        let differences =
            answer["difference"]?.arrayValue
            ?? (preview?["differences"]?.arrayValue ?? []).flatMap { $0["difference"]?.arrayValue ?? [] }
        let findings = (preview?["guard_rail_findings"] ?? answer["guard_rail_findings"])?.arrayValue ?? []
        return events.map { "+ \(EventLine.text(of: $0))" }
            + differences.compactMap(DifferenceLine.text).map { "~ \($0)" }
            + FindingReport.lines(findings)
    }
}
