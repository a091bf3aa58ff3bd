import ArgumentParser
import PinWire
import Pinning

/// The owner of a rollout: an app, or one of its hosts.
struct RolloutTarget: ParsableArguments {
    @Argument(help: "The app's id.", completion: .apps) var app: String
    @Argument(help: "The host. Default: the app's own rollout.", completion: .hosts) var host: String?

    /// The path of its rollout.
    var path: String {
        (self.host.map { HostCommands.path(self.app, $0) } ?? "/v1/apps/\(APIClient.escaped(self.app))") + "/rollout"
    }
}

struct RolloutPlanCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan", abstract: "Manage the plan that moves a rollout forward by itself.",
        subcommands: [Set.self, Show.self, Clear.self]
    )

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Set a rollout's plan. It replaces the current plan.",
            discussion: """
                pinledger rollout plan set com.example.app api.example.com \\
                  --step 1:1h,installs=500 --step 25:1d,approval --step 100:1d --bake 2d --promote

                Each step is a share in percent and what to wait for before the next step: a time, installs=N signed \
                reports of the candidate, or approval with `pinledger rollout advance APP HOST`. Without --at the plan \
                begins at once.
                """
        )
        @OptionGroup var target: RolloutTarget
        @Option(
            help: ArgumentHelp("A share and what to wait for. May be repeated, in order.", valueName: "percent:hold"))
        var step: [String]
        @Option(help: "How long to wait after the last step, such as 1d.") var bake: String?
        @Option(help: "When the plan begins: 2026-02-01T06:00:00Z, 2026-02-01 or 2d (from now).") var at: String?
        @Flag(help: "Promote the candidate at the end.") var promote = false
        @Option(help: "Action if too few installs have reported after twice the hold time.")
        var onInconclusive: RolloutPlan.Inconclusive?
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            var members: [String: JSON] = ["steps": .array(try self.step.map(Self.step))]
            members["bake_seconds"] = try self.bake.map { .integer(try TimeInput.seconds($0)) }
            members["starts_at"] = try self.at.map { .string(try TimeInput.rfc3339($0, .ahead)) }
            if self.promote { members["at_end"] = "promote" }
            members["on_inconclusive"] = self.onInconclusive.map { .string($0.rawValue) }
            try await self.remote.change("PUT", "\(self.target.path)/plan", members, self.change)
        }

        /// `25:1d,installs=500,approval`
        private static func step(_ text: String) throws -> JSON {
            let parts = text.split(separator: ":", maxSplits: 1)
            guard let percent = parts.first.flatMap({ Double($0) }) else {
                throw CommandFailure(
                    "--step \(text) is not of the form PERCENT:HOLD, such as 25:1d,installs=500", status: .usage)
            }
            var members: [String: JSON] = ["basis_points": try RolloutCommands.basisPoints(percent)]
            for hold in parts.count == 2 ? parts[1].split(separator: ",") : [] {
                if hold == "approval" {
                    members["approval"] = true
                } else if hold.hasPrefix("installs=") {
                    guard let count = Int64(hold.dropFirst(9)) else {
                        throw CommandFailure(
                            "\(hold) is not a number of installs, such as installs=500", status: .usage)
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
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show how far a plan is and what it waits for.",
            discussion: "pinledger rollout plan show com.example.app api.example.com")
        @OptionGroup var target: RolloutTarget
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.withClient { client in
                let json = try await client.get("\(self.target.path)/plan")
                guard self.remote.output.isTable else { return Console.print(json, self.remote.output) }
                RolloutReport.print(plan: json)
            }
        }
    }

    struct Clear: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "clear", abstract: "Clear the plan. The share stays as it is.",
            discussion: "pinledger rollout plan clear com.example.app api.example.com")
        @OptionGroup var target: RolloutTarget
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws { try await self.remote.change("DELETE", "\(self.target.path)/plan", self.change) }
    }
}

extension RolloutCommands {
    struct Pause: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "pause", abstract: "Pause a plan. Devices keep what they have.",
            discussion: "pinledger rollout pause com.example.app api.example.com --reason \"crash reports\"")
        @OptionGroup var target: RolloutTarget
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws { try await self.remote.change("POST", "\(self.target.path)/pause", self.change) }
    }

    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "resume", abstract: "Resume a plan that is paused, or that reports hold at its step.",
            discussion: """
                pinledger rollout resume com.example.app api.example.com

                If reports paused or hold the plan, its step restarts, and earlier reports no longer count.
                """
        )
        @OptionGroup var target: RolloutTarget
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws { try await self.remote.change("POST", "\(self.target.path)/resume", self.change) }
    }

    struct Advance: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "advance", abstract: "Approve the current step.",
            discussion: """
                pinledger rollout advance com.example.app api.example.com --step 2

                The step still waits for its other conditions. `jump` skips them.
                """
        )
        @OptionGroup var target: RolloutTarget
        @Option(help: "Fail unless the plan is at this step.") var step: Int64?
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let members: [String: JSON] = self.step.map { ["step": .integer($0)] } ?? [:]
            try await self.remote.change("POST", "\(self.target.path)/advance", members, self.change)
        }
    }

    struct Jump: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "jump",
            abstract: "Jump to any earlier or later step of the plan. Ignores what the step waits for.",
            discussion: "pinledger rollout jump com.example.app api.example.com --step 3")
        @OptionGroup var target: RolloutTarget
        @Option(help: "Number of the step, from 1.") var step: Int64
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.remote.change(
                "POST", "\(self.target.path)/jump", ["step": .integer(self.step)], self.change)
        }
    }

    struct RollBack: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "roll-back",
            abstract: "Roll back: no device gets the candidate any more. The candidate stays for inspection.",
            discussion: """
                pinledger rollout roll-back com.example.app api.example.com --reason "failures on 3.1"

                Listed ids are removed, too. A new plan or a new rollout starts again.
                """
        )
        @OptionGroup var target: RolloutTarget
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws { try await self.remote.change("POST", "\(self.target.path)/roll-back", self.change) }
    }

    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status",
            abstract: "Show the share of devices that get candidates, and the progress of plans.",
            discussion: "pinledger rollout status com.example.app")
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @OptionGroup var watching: WatchOption
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.watching.with(self.remote) { client in
                let json = try await client.get("/v1/apps/\(APIClient.escaped(self.app))/rollouts")
                guard self.remote.output.isTable else { return Console.print(json, self.remote.output) }
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
                place["rollout"].map { "\($0.text("method")), \(Self.percent($0["basis_points"]))" } ?? "all devices"
            Console.print("\(place["host"]?.stringValue ?? app): \(share)")
            if let time = place["rolled_back_at"]?.stringValue { Console.print("  rolled back at \(time)") }
            if let exposure = place["exposure"] { Console.print("  \(exposure.said("sentence"))") }
            if let plan = place["plan"] { Self.print(plan: plan, indent: "  ") }
        }
    }

    static func print(plan: JSON, indent: String = "") {
        let state = plan["paused"] == nil ? plan.text("phase") : "paused"
        Console.print(
            "\(indent)plan: \(Self.line(of: plan))  \(state) since \(plan["paused"]?.time("since") ?? plan.time("since"))"
        )
        for wait in plan["waits_for"]?.arrayValue ?? [] {
            let mark = ["yes": "[x]", "no": "[ ]"][wait.text("met")] ?? "[?]"
            Console.print("\(indent)\(mark) \(wait.text("what")): \(wait.said("detail"))")
        }
        if let next = plan["next"] {
            let what = next["step"] == nil ? next.text("move") : "step \(next.text("step"))"
            Console.print("\(indent)next: \(what)")
        }
        if let obstacle = plan["obstacle"] {
            Console.print("\(indent)Not possible, not even with --force: \(obstacle.said("detail"))")
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
