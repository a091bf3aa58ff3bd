import ArgumentParser
import Foundation
import PinWire

/// Makes apps, and what they share, what declared state says.
struct ApplyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Apply specs: make apps, and what they share, what files say.",
        discussion: """
            pinledger apply --file pins/ --reason "the next key of the shop"
            pinledger apply --plan plan.json
            pinledger apply --file pins/ --propose --reason "the next key of the shop"

            The command plans first, as `pinledger plan` does. If any part is refused, it records nothing. Each app is \
            one change, which is refused if the app was changed after the plan. So is each entry of `fleet`, `access` and \
            `webhooks`. With --propose all of it becomes one proposed change.
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
            let parts = plans.parts(all: self.plan != nil)
            guard !parts.isEmpty else {
                if !self.remote.output.isTable { Console.print(JSON.object(["apps": []]), self.remote.output) }
                return
            }
            if !self.yes, self.plan == nil { try self.confirm(parts) }
            if self.propose {
                try await self.propose(parts, of: plans, client)
            } else {
                try await self.apply(parts, of: plans, client)
            }
        }
    }

    private func plans(_ client: APIClient) async throws -> SpecPlans {
        guard let plan else {
            return try await SpecPlans(
                try await self.specs.specs(client),
                SharedPlan.Terms(
                    prunes: self.specs.prune, reason: self.reason, isForced: self.force, proposes: self.propose),
                client)
        }
        guard self.specs.file.isEmpty, !self.specs.prune, !self.specs.archiveOthers, self.reason == nil, !self.force,
            !self.propose
        else {
            throw CommandFailure(
                "--plan goes with none of --file, --prune, --archive-others, --reason, --force and --propose",
                advice: "The plan has them already: plan again with them.", status: .usage)
        }
        return try await SpecPlans(path: plan, client)
    }

    /// Asks for confirmation on a terminal. A script is not asked: its command is explicit.
    private func confirm(_ parts: [SpecPlans.Part]) throws {
        guard isatty(STDIN_FILENO) == 1 else { return }
        guard self.remote.output.isTable else {
            throw CommandFailure("--output \(self.remote.output) on a terminal needs --yes", status: .usage)
        }
        let noun = parts.allSatisfy(\.isApp) ? "app" : "entry"
        let nouns = noun == "app" ? "apps" : "entries"
        Console.error("Type yes to change \(parts.count == 1 ? "this \(noun)" : "these \(parts.count) \(nouns)"):")
        guard readLine()?.trimmingCharacters(in: .whitespaces) == "yes" else {
            throw CommandFailure("nothing was changed", advice: "Give --yes to skip the question.")
        }
    }

    private func apply(_ parts: [SpecPlans.Part], of plans: SpecPlans, _ client: APIClient) async throws {
        var answers: [(part: SpecPlans.Part, answer: JSON)] = []
        // The ids of principals that were added, by their names.
        var ids: [String: String] = [:]
        // What others change in between is not overwritten: each entry is for the version that the one before it made.
        var versions = plans.shared?.versions ?? [:]
        for part in parts {
            do {
                guard let path = part.path(ids) else { throw CommandFailure("the server did not name the principal") }
                var options = plans.options
                options.ifVersion = part.stream.flatMap { versions[$0] }
                let (answer, version) = try await client.versionedChange(part.method, path, part.body, options)
                if let stream = part.stream { versions[stream] = version }
                guard answer["dry_run"] == false else { throw CommandFailure("the server recorded nothing") }
                answers.append((part, answer))
                if let name = part.principal {
                    ids[name] = answer["events"]?.arrayValue?.first?["data"]?["principal_id"]?.stringValue
                }
                guard self.remote.output.isTable else { continue }
                Console.print("\(part.name): recorded.")
                // It is shown this once.
                if let secret = answer["secret"]?.stringValue { Console.print("  secret: \(secret)") }
            } catch let failure as CommandFailure {
                if !answers.isEmpty { self.print(answers) }
                throw CommandFailure(
                    "\(part.name): \(failure.message)",
                    advice: Self.advice(answers.count, of: parts, failure), status: failure.status)
            }
        }
        self.print(answers)
    }

    /// Shows them where the output is for programs.
    private func print(_ answers: [(part: SpecPlans.Part, answer: JSON)]) {
        guard !self.remote.output.isTable else { return }
        func list(_ key: String, _ answers: [(part: SpecPlans.Part, answer: JSON)]) -> JSON {
            .array(answers.map { [key: .string($0.part.name), "answer": $0.answer] })
        }
        var members = ["apps": list("app", answers.filter(\.part.isApp))]
        let shared = answers.filter { !$0.part.isApp }
        if !shared.isEmpty { members["shared"] = list("entry", shared) }
        Console.print(JSON.object(members), self.remote.output)
    }

    private static func advice(_ done: Int, of parts: [SpecPlans.Part], _ failure: CommandFailure) -> String {
        // Without an answer nobody knows.
        guard failure.problem != nil else { return "Plan again to see what was recorded, and what is left to do." }
        let nouns = parts.allSatisfy(\.isApp) ? "apps" : "entries"
        let recorded =
            done == 0
            ? "Nothing is recorded." : "\(done) of \(parts.count) \(nouns) are recorded: plan again for the others."
        return [failure.advice, recorded].compactMap { $0 }.joined(separator: " ")
    }

    /// Gathers all of it in one draft, which is then opened for approvals.
    private func propose(_ parts: [SpecPlans.Part], of plans: SpecPlans, _ client: APIClient) async throws {
        let draft = try await DraftedChange.gather(parts, client) { part, draft in
            var options = plans.options
            options.proposal.addTo = draft
            guard let path = part.path([:]) else { throw CommandFailure("\(part.name) cannot be proposed") }
            return DraftedChange.Part(
                name: part.name, method: part.method, path: path, body: part.body, options: options)
        }
        try await draft.propose(client)
        let change = try await client.get(ChangeCommands.path(draft.id))
        guard self.remote.output.isTable else { return Console.print(change, self.remote.output) }
        ChangeText.print(change)
    }
}
