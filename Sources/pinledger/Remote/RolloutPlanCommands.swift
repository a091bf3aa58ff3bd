import ArgumentParser
import PinWire
import Pinning

/// What has a rollout: an app, or one of its hosts.
struct RolloutTarget: ParsableArguments {
    @Argument var app: String
    @Argument(help: "The host; without it the app's own rollout.") var host: String?

    /// The path of its rollout.
    var path: String {
        (self.host.map { HostCommands.path(self.app, $0) } ?? "/v1/apps/\(APIClient.escaped(self.app))") + "/rollout"
    }
}

struct RolloutPlanCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan", abstract: "A plan by which a rollout goes on by itself.",
        subcommands: [Set.self, Show.self, Clear.self]
    )

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Sets the plan, in place of one that there is.",
            discussion: """
                pinledger rollout plan set com.example.app api.example.com \\
                  --step 1:1h,installs=500 --step 25:1d,approval --step 100:1d --bake 2d --promote

                Each step is a share in per cent and what it waits for before the next one: a time, installs=N signed \
                reports of the candidate, approval by `pinledger rollout advance APP HOST`. Without --at it begins at once.
                """
        )
        @OptionGroup var target: RolloutTarget
        @Option(help: ArgumentHelp("A share and what it waits for; several in order.", valueName: "percent:hold"))
        var step: [String]
        @Option(help: "How long the last step is left alone at the end, such as 1d.") var bake: String?
        @Option(help: "When it begins, such as 2026-02-01T06:00:00Z, 2026-02-01 or 2d (from now).") var at: String?
        @Flag(help: "Promote the candidate at the end.") var promote = false
        @Option(help: "hold or revert: what happens where too few installs report, twice as long as was to be waited.")
        var onInconclusive: String?
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            var members: [String: JSON] = ["steps": .array(try self.step.map(Self.step))]
            members["bake_seconds"] = try self.bake.map { .integer(try TimeInput.seconds($0)) }
            members["starts_at"] = try self.at.map { .string(try TimeInput.rfc3339($0, .ahead)) }
            if self.promote { members["at_end"] = "promote" }
            members["on_inconclusive"] = self.onInconclusive.map { .string($0) }
            try await self.remote.change("PUT", "\(self.target.path)/plan", members, self.change)
        }

        /// `25:1d,installs=500,approval`
        private static func step(_ text: String) throws -> JSON {
            let parts = text.split(separator: ":", maxSplits: 1)
            guard let percent = parts.first.flatMap({ Double($0) }) else {
                throw CommandFailure("\(text) is no step such as 25:1d,installs=500", status: .usage)
            }
            var members: [String: JSON] = ["basis_points": try RolloutCommands.basisPoints(percent)]
            for hold in parts.count == 2 ? parts[1].split(separator: ",") : [] {
                if hold == "approval" {
                    members["approval"] = true
                } else if hold.hasPrefix("installs=") {
                    guard let count = Int64(hold.dropFirst(9)) else {
                        throw CommandFailure("\(hold) names no number of installs", status: .usage)
                    }
                    members["installs"] = .integer(count)
                } else {
                    members["for_seconds"] = .integer(try TimeInput.seconds(String(hold)))
                }
            }
            return .object(members)
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Shows how far a plan is, and what it waits for.")
        @OptionGroup var target: RolloutTarget
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let json = try await client.get("\(self.target.path)/plan")
                guard self.remote.output == .table else { return Console.print(json.canonicalText) }
                RolloutReport.print(plan: json)
            }
        }
    }

    struct Clear: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Takes the plan away; the share stays where it is.")
        @OptionGroup var target: RolloutTarget
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws { try await self.remote.change("DELETE", "\(self.target.path)/plan", self.change) }
    }
}

extension RolloutCommands {
    struct Pause: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Keeps a plan from going on; devices keep what they have.")
        @OptionGroup var target: RolloutTarget
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws { try await self.remote.change("POST", "\(self.target.path)/pause", self.change) }
    }

    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Lets a paused plan go on.")
        @OptionGroup var target: RolloutTarget
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws { try await self.remote.change("POST", "\(self.target.path)/resume", self.change) }
    }

    struct Advance: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Approves of going on from a step that waits for it.",
            discussion: "What else the step waits for it still waits for; `jump` goes on at once."
        )
        @OptionGroup var target: RolloutTarget
        @Option(help: "Refuse unless the plan is at this step.") var step: Int64?
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let members: [String: JSON] = self.step.map { ["step": .integer($0)] } ?? [:]
            try await self.remote.change("POST", "\(self.target.path)/advance", members, self.change)
        }
    }

    struct Jump: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Goes to a step of the plan at once, on or back, whatever is waited for.")
        @OptionGroup var target: RolloutTarget
        @Option(help: "The step, from 1.") var step: Int64
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change(
                "POST", "\(self.target.path)/jump", ["step": .integer(self.step)], self.change)
        }
    }

    struct RollBack: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Takes a rollout back to nobody. The candidate stays, to be looked at.",
            discussion: "Listed ids are taken out too. It goes out again by a new plan or a new rollout."
        )
        @OptionGroup var target: RolloutTarget
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws { try await self.remote.change("POST", "\(self.target.path)/roll-back", self.change) }
    }

    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Shows which share of devices really gets candidates, and how far plans are.")
        @Argument var app: String
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let json = try await client.get("/v1/apps/\(APIClient.escaped(self.app))/rollouts")
                guard self.remote.output == .table else { return Console.print(json.canonicalText) }
                RolloutReport.print(json, app: self.app)
            }
        }
    }
}

/// Rollouts for people.
enum RolloutReport {
    static func print(_ json: JSON, app: String) {
        let places = [json["app"]].compactMap { $0 } + (json["hosts"]?.arrayValue ?? [])
        for place in places {
            let share =
                place["rollout"].map { "\($0.text("method")), \(Self.percent($0["basis_points"]))" } ?? "everybody"
            Console.print("\(place["host"]?.stringValue ?? app): \(share)")
            if let time = place["rolled_back_at"]?.stringValue { Console.print("  rolled back at \(time)") }
            if let exposure = place["exposure"] { Console.print("  \(exposure.text("sentence"))") }
            if let plan = place["plan"] { Self.print(plan: plan, indent: "  ") }
        }
    }

    static func print(plan: JSON, indent: String = "") {
        let state = plan["paused"] == nil ? plan.text("phase") : "paused"
        Console.print(
            "\(indent)plan: \(Self.line(of: plan))  \(state) since \(plan["paused"]?.text("since") ?? plan.text("since"))"
        )
        for wait in plan["waits_for"]?.arrayValue ?? [] {
            let mark = ["yes": "[x]", "no": "[ ]"][wait.text("met")] ?? "[?]"
            Console.print("\(indent)\(mark) \(wait.text("what")): \(wait.text("detail"))")
        }
        if let next = plan["next"] {
            let what = next["step"] == nil ? next.text("move") : "step \(next.text("step"))"
            Console.print("\(indent)next: \(what)")
        }
        if let obstacle = plan["obstacle"] {
            Console.print("\(indent)Not possible, whoever insists: \(obstacle.text("detail"))")
        }
        FindingReport.print(plan["findings"]?.arrayValue ?? [], indent: indent + "  ")
    }

    /// The steps on one line, the current one in brackets.
    private static func line(of plan: JSON) -> String {
        let current = plan["step"]?.integerValue
        let steps = (plan["steps"]?.arrayValue ?? []).enumerated().map { index, step in
            let share = Self.percent(step["basis_points"])
            return current == Int64(index + 1) ? "[\(share)]" : share
        }
        let end = plan.text("at_end") == "promote" ? ["promotion"] : []
        return (steps + end).joined(separator: " -> ")
    }

    private static func percent(_ points: JSON?) -> String { Percent.text(basisPoints: Int(points?.integerValue ?? 0)) }
}
