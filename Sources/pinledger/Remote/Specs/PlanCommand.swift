import ArgumentParser
import Foundation
import Handbook
import PinWire

/// What declared state would change.
struct PlanCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Show what applying specs would change, and record nothing.",
        discussion: """
            pinledger plan --file pins/
            pinledger plan --file pins/ --prune --detailed-exitcode
            pinledger plan --file shop.yaml --out plan.json
            pinledger apply --plan plan.json

            A file has a list `apps` of specs, as `pinledger export yaml` writes them, or what all apps share: `fleet`, \
            `access`, `webhooks`. A pin is a digest (`pin`), or a file with a certificate, a signing request or a public \
            key (`file`, next to the YAML file). `pinledger handbook declared-state` explains it.

            With --detailed-exitcode the exit code is 0 if the server is what the files say, 2 if it is not, and 1 or \
            more than 2 if the plan failed.
            """)
    @OptionGroup var specs: SpecOptions
    @Option(
        help: ArgumentHelp("Write the plan to this file, for `pinledger apply --plan FILE`.", valueName: "file"))
    var out: String?
    @Option(help: ArgumentHelp("Reason for the changes, which some of them need.", valueName: "text"))
    var reason: String?
    @Flag(help: "Override rules that can be overridden. Needs --reason.") var force = false
    @Flag(help: "Plan for a proposal: show also what needs approvals.") var propose = false
    @Flag(help: "End with 2 if the server is not what the files say.") var detailedExitcode = false
    @Flag(help: "Print the JSON Schema of the files, and plan nothing.") var schema = false
    @OptionGroup var remote: RemoteOptions

    func run() async throws {
        guard !self.schema else { return Console.write(Handbook.specsSchema) }
        guard self.out == nil || !self.propose else {
            throw CommandFailure(
                "give --out or --propose, not both", advice: "What is proposed is fixed by the change itself.",
                status: .usage)
        }
        // A plan of before must not be taken for this one.
        if let out, FileManager.default.fileExists(atPath: out) {
            do { try FileManager.default.removeItem(atPath: out) } catch {
                throw CommandFailure("\(out) cannot be replaced: \(error.localizedDescription)")
            }
        }
        do {
            let plans = try await self.remote.withClient { client in
                try await SpecPlans(
                    try await self.specs.specs(client),
                    SharedPlan.Terms(
                        prunes: self.specs.prune, reason: self.reason, isForced: self.force, proposes: self.propose),
                    client)
            }
            plans.show(self.remote.output)
            try plans.checkNoneIsRefused()
            if let out {
                let text = plans.json.canonicalText + "\n"
                do { try Data(text.utf8).write(to: URL(fileURLWithPath: out), options: .atomic) } catch {
                    throw CommandFailure("\(out) cannot be written: \(error.localizedDescription)")
                }
            }
            if self.detailedExitcode,
                plans.plans.contains(where: { $0.changes || $0.differs })
                    || plans.shared?.steps.contains(where: \.changes) == true
            {
                throw ExitCode(Self.differs)
            }
        } catch var failure as CommandFailure where self.detailedExitcode && failure.status == .usage {
            // A pipeline would take it for a difference.
            failure.status = .failure
            throw failure
        }
    }

    /// The exit code of a plan that is not empty, as Terraform has it.
    private static let differs: Int32 = 2
}

extension SpecPlans {
    /// Throws where the server refuses a part.
    func checkNoneIsRefused() throws {
        var refusals = (self.shared?.refused ?? []).compactMap { step in
            if case .refused(let refusal) = step.outcome { (name: step.title, refusal: refusal) } else { nil }
        }
        refusals += self.refused.compactMap { plan in plan.refusal.map { (name: plan.spec.app, refusal: $0) } }
        guard let first = refusals.first?.refusal else { return }
        let names = refusals.map(\.name)
        throw CommandFailure(
            "refused: \(names.prefix(5).joined(separator: ", "))\(names.count > 5 ? " and \(names.count - 5) more" : "")",
            advice: "See above what is wrong. Nothing is recorded.", status: first.status)
    }
}
