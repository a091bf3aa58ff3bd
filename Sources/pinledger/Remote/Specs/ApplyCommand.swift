import ArgumentParser
import Foundation
import PinWire

/// Makes apps what declared state says.
struct ApplyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Apply specs: make apps what files say.",
        discussion: """
            pinledger apply --file pins/ --reason "the next key of the shop"
            pinledger apply --plan plan.json
            pinledger apply --file pins/ --propose --reason "the next key of the shop"

            The command plans first, as `pinledger plan` does. If any part is refused, it records nothing. Each app is \
            one change, which is refused if the app was changed after the plan. With --propose all of it becomes one \
            proposed change.
            """)
    @OptionGroup var specs: SpecOptions
    @Option(
        help: ArgumentHelp("Apply this plan, which `pinledger plan --out FILE` wrote, and no other.", valueName: "file")
    )
    var plan: String?
    @Option(help: ArgumentHelp("Reason for the changes. The ledger keeps it permanently.", valueName: "text"))
    var reason: String?
    @Flag(help: "Override rules that can be overridden. Needs --reason.") var force = false
    @Flag(
        help:
            "Propose one change instead of making the changes: others look at it first, and approve it where a rule asks for that. Needs --reason."
    )
    var propose = false
    @Flag(help: "Do not ask for confirmation.") var yes = false
    @OptionGroup var remote: RemoteOptions

    func run() async throws {
        try await self.remote.withClient { client in
            let plans = try await self.plans(client)
            if self.remote.output.isTable, self.plan == nil { plans.show(.table) }
            guard plans.server == client.base else {
                throw CommandFailure(
                    "the plan is for \(plans.server), and not for \(client.base)",
                    advice: "Name that server, or plan again for this one.", status: .usage)
            }
            try plans.checkNoneIsRefused()
            let wanted = self.plan == nil ? plans.changed : plans.plans
            guard !wanted.isEmpty else {
                if !self.remote.output.isTable { Console.print(JSON.object(["apps": []]), self.remote.output) }
                return
            }
            if !self.yes, self.plan == nil { try self.confirm(wanted.count) }
            if self.propose {
                try await self.propose(wanted, of: plans, client)
            } else {
                try await self.apply(wanted, of: plans, client)
            }
        }
    }

    private func plans(_ client: APIClient) async throws -> SpecPlans {
        guard let plan else {
            return try await SpecPlans(
                try await self.specs.specs(client), prunes: self.specs.prune, reason: self.reason,
                isForced: self.force, proposes: self.propose, client)
        }
        guard self.specs.file.isEmpty, !self.specs.prune, !self.specs.archiveOthers, self.reason == nil, !self.force,
            !self.propose
        else {
            throw CommandFailure(
                "--plan goes with none of --file, --prune, --archive-others, --reason, --force and --propose",
                advice: "The plan has them already: plan again with them.", status: .usage)
        }
        return try SpecPlans(path: plan)
    }

    /// Asks for confirmation on a terminal. A script is not asked: its command is explicit.
    private func confirm(_ count: Int) throws {
        guard isatty(STDIN_FILENO) == 1 else { return }
        guard self.remote.output.isTable else {
            throw CommandFailure("--output \(self.remote.output) on a terminal needs --yes", status: .usage)
        }
        Console.error("Type yes to change \(count == 1 ? "this app" : "these \(count) apps"):")
        guard readLine()?.trimmingCharacters(in: .whitespaces) == "yes" else {
            throw CommandFailure("nothing was changed", advice: "Give --yes to skip the question.")
        }
    }

    private func apply(_ wanted: [SpecPlans.Plan], of plans: SpecPlans, _ client: APIClient) async throws {
        var answers: [JSON] = []
        for plan in wanted {
            var options = ChangeOptions.none
            options.reason = plans.reason
            options.force = plans.isForced
            var path = SpecPlans.path(plan.spec.app, prunes: plans.isPruned)
            if let hash = plan.hash { path += "\(path.contains("?") ? "&" : "?")plan_hash=\(hash)" }
            do {
                let answer = try await client.change("PUT", path, plan.spec.members, options)
                guard answer["dry_run"] == false else { throw CommandFailure("the server recorded nothing") }
                answers.append(["app": .string(plan.spec.app), "answer": answer])
            } catch let failure as CommandFailure {
                if !answers.isEmpty { self.print(answers) }
                throw CommandFailure(
                    "\(plan.spec.app): \(failure.message)",
                    advice: Self.advice(answers.count, of: wanted.count, failure), status: failure.status)
            }
            if self.remote.output.isTable { Console.print("\(plan.spec.app): recorded.") }
        }
        self.print(answers)
    }

    /// Shows them where the output is for programs.
    private func print(_ answers: [JSON]) {
        guard !self.remote.output.isTable else { return }
        Console.print(JSON.object(["apps": .array(answers)]), self.remote.output)
    }

    private static func advice(_ done: Int, of count: Int, _ failure: CommandFailure) -> String {
        // Without an answer nobody knows.
        guard failure.problem != nil else { return "Plan again to see what was recorded, and what is left to do." }
        let recorded =
            done == 0 ? "Nothing is recorded." : "\(done) of \(count) apps are recorded: plan again for the others."
        return [failure.advice, recorded].compactMap { $0 }.joined(separator: " ")
    }

    /// Gathers all of it in one draft, which is then opened for approvals.
    private func propose(_ wanted: [SpecPlans.Plan], of plans: SpecPlans, _ client: APIClient) async throws {
        let draft = try await DraftedChange.gather(wanted, client) { plan, draft in
            var options = ChangeOptions.none
            options.reason = plans.reason
            options.force = plans.isForced
            options.addTo = draft
            return DraftedChange.Part(
                name: plan.spec.app, method: "PUT", path: SpecPlans.path(plan.spec.app, prunes: plans.isPruned),
                body: plan.spec.members, options: options)
        }
        try await draft.propose(client)
        let change = try await client.get(ChangeCommands.path(draft.id))
        guard self.remote.output.isTable else { return Console.print(change, self.remote.output) }
        ChangeText.print(change)
    }
}
