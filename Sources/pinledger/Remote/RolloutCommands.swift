import ArgumentParser
import PinWire
import Pinning

struct RolloutCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rollout", abstract: "Deliver a candidate policy to devices step by step.",
        subcommands: [
            Start.self, Set.self, Promote.self, Drop.self, RolloutPlanCommands.self, Pause.self, Resume.self,
            Advance.self,
            Jump.self, RollBack.self, Status.self,
        ]
    )

    /// Basis points from a share such as 25, 0.5 or 12.25 per cent.
    static func basisPoints(_ percent: Double) throws -> JSON {
        let points = (percent * 100).rounded()
        guard (0...10_000).contains(points), abs(points - percent * 100) < 1e-6 else {
            throw CommandFailure(
                "\(percent) is not a percentage from 0 to 100 with at most two decimals", status: .usage)
        }
        return .integer(Int64(points))
    }

    struct Start: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "start", abstract: "Start a candidate on a host.",
            discussion: """
                pinledger rollout start com.example.app api.example.com --percent 5 --backup next.csr

                The candidate begins with the baseline's pins, so that devices in the rollout still accept the served \
                key. --no-copy-baseline leaves them out.
                """
        )
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @Argument(help: "The host's name or wildcard pattern.", completion: .hosts) var host: String
        @Option(
            help:
                "Percentage of devices that get the candidate. At 100, without --seed, no rollout is set: devices without an id are in, too."
        )
        var percent: Double
        @Option(
            help: """
                Id that a device's bucket is computed from. May be repeated, in order of preference. Default: \
                install_id, device_id, user_id.
                """)
        var seed: [Rollout.Seed] = []
        @Option(help: "What clients do with a chain that matches no pin.") var mode = PinMode.enforce
        @OptionGroup var pins: NewPinOptions
        @Flag(inversion: .prefixedNo, help: "Begin with the baseline's pins, or without them.") var copyBaseline: Bool?
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            var members: [String: JSON] = ["mode": .string(self.mode.rawValue), "pins": try self.pins.json]
            members["copy_baseline"] = self.copyBaseline.map { .bool($0) }
            let points = try RolloutCommands.basisPoints(self.percent)
            if points != 10_000 || !self.seed.isEmpty {
                let seed = self.seed.isEmpty ? nil : JSON.array(self.seed.map { .string($0.rawValue) })
                members["rollout"] = .members(["basis_points": points, "seed": seed])
            }
            let path = HostCommands.path(self.app, self.host)
            try await self.remote.withClient { client in
                let isEqual = self.isEqual(toBaselineOf: try await client.get(path), members)
                let answer = try await client.change("POST", "\(path)/candidate", members, self.change)
                ChangeReport.print(answer, self.remote.output)
                guard answer["events"]?.arrayValue?.isEmpty == false, answer["change"] == nil else { return }
                let share = Percent.text(basisPoints: Int(points.integerValue ?? 0))
                Console.error("The candidate of \(self.host) goes to \(share) of the devices.")
                guard isEqual else { return }
                Console.error(
                    "It is equal to the baseline, so nothing changes for devices. Change it: `pinledger pin add \(self.app) \(self.host) FILE --policy candidate` or `pinledger host update \(self.app) \(self.host) --policy candidate --mode MODE`."
                )
            }
        }

        /// Whether candidate and baseline give devices the same: mode and active pins, roles included.
        private func isEqual(toBaselineOf host: JSON, _ members: [String: JSON]) -> Bool {
            guard let baseline = host["baseline"], baseline["source"] != "builtin",
                baseline["mode"]?.stringValue == self.mode.rawValue
            else { return false }
            func texts(_ pins: JSON?) -> Swift.Set<String> {
                Swift.Set((pins?.arrayValue ?? []).map { "\($0.text("pin")) \($0.text("role"))" })
            }
            let active = (baseline["pins"]?.arrayValue ?? []).filter { $0["state"] == "active" }
            let given = members["pins"]?.arrayValue ?? []
            // A file's contents are sent unchanged; whether the baseline has its key is left open.
            guard given.allSatisfy({ $0["pin"] != nil }) else { return false }
            let isCopied = self.copyBaseline ?? true
            let candidate = texts(.array(given)).union(isCopied ? texts(.array(active)) : [])
            return candidate == texts(.array(active))
        }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Set the rollout of a host's candidate, or of the whole app.",
            discussion: """
                pinledger rollout set com.example.app api.example.com --percent 25
                pinledger rollout set com.example.app --percent 10 --method geography --country DE

                What the command does not state stays as it is.
                """
        )
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @Argument(help: "The host. Default: the rollout of every candidate of the app.") var host: String?
        @Option(help: "Percentage of devices. Even at 100, a device that knows none of the ids stays outside.")
        var percent: Double?
        @Flag(help: "Clear the rollout: every device gets the candidate.") var clear = false
        @OptionGroup var terms: RolloutTermOptions
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            guard !self.clear || self.percent == nil else {
                throw CommandFailure("give either --percent or --clear", status: .usage)
            }
            let path = self.host.map { HostCommands.path(self.app, $0) } ?? "/v1/apps/\(APIClient.escaped(self.app))"
            let place = self.host.map { host in "host:\((try? HostPattern(host))?.text ?? host)" } ?? "app:\(self.app)"
            try await self.remote.withClient { client in
                var rollout: JSON = .null
                if !self.clear {
                    var members = self.terms.merged(with: try await client.get(path)["rollout"], at: place)
                    if let percent = self.percent { members["basis_points"] = try RolloutCommands.basisPoints(percent) }
                    guard members["basis_points"] != nil else {
                        throw CommandFailure("there is no rollout yet: give --percent", status: .usage)
                    }
                    rollout = .object(members)
                }
                let answer = try await client.change("PATCH", path, ["rollout": rollout], self.change)
                ChangeReport.print(answer, self.remote.output)
            }
        }
    }

    struct Promote: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "promote", abstract: "Promote the candidate: it becomes the baseline.",
            discussion: "pinledger rollout promote com.example.app api.example.com")
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @Argument(help: "The host's name or wildcard pattern.", completion: .hosts) var host: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let path = "\(HostCommands.path(self.app, self.host))/candidate/promote"
            try await self.remote.change("POST", path, self.change)
        }
    }

    struct Drop: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "drop", abstract: "Drop the candidate. All devices get the baseline.",
            discussion: "pinledger rollout drop com.example.app api.example.com")
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @Argument(help: "The host's name or wildcard pattern.", completion: .hosts) var host: String
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let path = "\(HostCommands.path(self.app, self.host))/candidate"
            try await self.remote.change("DELETE", path, self.change)
        }
    }
}
