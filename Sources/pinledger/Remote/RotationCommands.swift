import ArgumentParser
import Foundation
import PinWire
import Pinning

struct RotationCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotation", abstract: "Replace hosts' key step by step, without locking out clients.",
        discussion: """
            Phases: deliver (the next key is published and clients fetch it) -> switch (you change the key on the \
            servers) -> settle (the next key is the primary, the old one is still accepted) -> clean_up (the old key \
            is retired) -> done. `advance` ends a phase; it is refused while the phase waits for something. A rotation \
            survives restarts.

            For a compromised key, `start --emergency` begins with the switch, and `advance` revokes the old key.
            """,
        subcommands: [Start.self, Status.self, Advance.self, Abort.self]
    )

    /// A rotation that the app has.
    struct Target: ParsableArguments {
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @Argument(help: "The rotation's name.", completion: .rotations) var rotation: String

        var path: String { "\(RotationCommands.path(self.app))/\(APIClient.escaped(self.rotation))" }
    }

    static func path(_ app: String) -> String { "/v1/apps/\(APIClient.escaped(app))/rotations" }

    struct Start: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "start", abstract: "Start a rotation: publish the next key as a backup.",
            discussion: """
                pinledger rotation start com.example.app api.example.com --next next.csr

                The next key is a file (certificate, signing request, public key) or a pin that the hosts already have.
                """
        )
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @Argument(help: "The hosts whose key is replaced.") var hosts: [String]
        @Option(help: "The next key: a file or a pin.") var next: String
        @Option(help: "The rotation's name. Default: the current time.") var name: String?
        @Flag(help: "The served key is compromised.") var emergency = false
        @Option(help: "With --emergency: the compromised key. Default: every primary.") var compromised: String?
        @OptionGroup var goals: RotationGoalOptions
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let goals = try self.goals.members()
            var members: [String: JSON] = [
                "rotation": .string(self.name ?? Self.name(at: Node.clock())),
                "kind": self.emergency ? "emergency" : "planned",
                "hosts": .array(self.hosts.map { .string($0) }),
                "next": .object(try KeyInput(self.next).members),
            ]
            members["compromised"] = try self.compromised.map { .string(try KeyInput.existing($0).description) }
            if !goals.isEmpty { members["goals"] = .object(goals) }
            try await self.remote.withClient { client in
                let answer = try await client.change("POST", RotationCommands.path(self.app), members, self.change)
                ChangeReport.print(answer, self.remote.output)
                guard self.remote.output.isTable, answer["dry_run"] != true, answer["change"] == nil else { return }
                Console.print("Next: pinledger rotation status \(self.app)")
            }
        }

        /// A name made of the time: `2026-01-31.120000`.
        private static func name(at now: Timestamp) -> String {
            Timestamp(seconds: now.seconds).rfc3339.replacing(":", with: "").replacing("T", with: ".")
                .replacing("Z", with: "")
        }
    }

    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status",
            abstract: "Show how far rotations are, what they wait for, and what --force would break.",
            discussion: "pinledger rotation status com.example.app")
        @Argument(help: "The app's id.", completion: .apps) var app: String
        @Argument(help: "One rotation. Default: all.", completion: .rotations) var rotation: String?
        @OptionGroup var watching: WatchOption
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            try await self.watching.with(self.remote) { client in
                let base = RotationCommands.path(self.app)
                let json = try await client.get(self.rotation.map { "\(base)/\(APIClient.escaped($0))" } ?? base)
                guard self.remote.output.isTable else { return Console.print(json, self.remote.output) }
                let rotations = json["rotations"]?.arrayValue ?? [json]
                if rotations.isEmpty { Console.error("None.") }
                for (place, rotation) in rotations.enumerated() {
                    if place > 0 { Console.print("") }
                    RotationReport.print(rotation)
                }
            }
        }
    }

    struct Advance: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "advance", abstract: "End the current phase of a rotation and begin the next.",
            discussion: """
                pinledger rotation advance com.example.app spring-2027 --from deliver

                Refused while the phase waits for something. --force with --reason ends it anyway; the ledger records \
                what was overridden.
                """
        )
        @OptionGroup var target: Target
        @Option(help: "Fail unless the rotation is in this phase.") var from: Rotation.Phase?
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let members: [String: JSON] = self.from.map { ["from": .string($0.rawValue)] } ?? [:]
            try await self.remote.change("POST", "\(self.target.path)/advance", members, self.change)
        }
    }

    struct Abort: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "abort", abstract: "Abort a rotation.",
            discussion: """
                pinledger rotation abort com.example.app spring-2027 --reason "wrong key"

                A next key that the rotation added and that is not in service yet is retired. All other pins stay.
                """
        )
        @OptionGroup var target: Target
        @Flag(help: "Keep the next key published.") var keepNext = false
        @OptionGroup var change: ChangeOptions
        @OptionGroup var remote: RemoteOptions

        func run() async throws {
            let members: [String: JSON] = self.keepNext ? ["keep_next": true] : [:]
            try await self.remote.change("POST", "\(self.target.path)/abort", members, self.change)
        }
    }
}

/// What the phases of a rotation wait for.
struct RotationGoalOptions: ParsableArguments {
    @Option(help: "Percentage of clients that must have the next key before the switch.") var adoption: Double?
    @Option(help: "Shortest time before the switch, such as 1h.") var minimumWait: String?
    @Option(help: "Time after which the switch is allowed whatever the share of clients, such as 25h.")
    var sufficientWait: String?
    @Option(help: "How long the next key must be served before the old one is retired, such as 1d.")
    var settling: String?

    /// The members of the API's goals; none for the default ones.
    func members() throws -> [String: JSON] {
        var goals: [String: JSON] = [:]
        goals["adoption_basis_points"] = try self.adoption.map { try RolloutCommands.basisPoints($0) }
        for (name, text) in [
            ("minimum_wait_seconds", self.minimumWait), ("sufficient_wait_seconds", self.sufficientWait),
            ("settling_seconds", self.settling),
        ] {
            goals[name] = try text.map { .integer(try TimeInput.seconds($0)) }
        }
        return goals
    }
}

/// A rotation for people.
enum RotationReport {
    static func print(_ rotation: JSON) {
        let name = rotation.text("rotation")
        let hosts = rotation["hosts"]?.arrayValue?.compactMap(\.stringValue).joined(separator: ", ") ?? ""
        Console.print("\(name) (\(rotation.text("kind"))): \(hosts)")
        Console.print("  \(Self.line(of: rotation))")
        for lockOut in rotation["locked_out"]?.arrayValue ?? [] {
            Console.print("  CLIENTS ARE LOCKED OUT NOW: \(lockOut.said("detail"))")
            Console.print("    \(lockOut.said("remedy"))")
        }
        Console.print("  next key  \(rotation.text("next"))")
        for old in rotation["old"]?.arrayValue ?? [] { Console.print("  old key   \(old.stringValue ?? "-")") }
        for wait in rotation["waits_for"]?.arrayValue ?? [] {
            let mark = ["yes": "[x]", "no": "[ ]"][wait.text("met")] ?? "[?]"
            Console.print("  \(mark) \(wait.text("what")): \(wait.said("detail"))")
        }
        Console.print("  \(rotation.said("advice"))")
        guard let next = rotation["next_phase"]?.stringValue else { return }
        if rotation["ready"] == true {
            Console.print("  Ready for \(next): \(rotation.text("command"))")
        } else if let obstacle = rotation["obstacle"] {
            Console.print("  Not possible, not even with --force: \(obstacle.said("detail"))")
        } else {
            Console.print("  Not ready for \(next). If forced now:")
        }
        FindingReport.print(rotation["findings"]?.arrayValue ?? [], indent: "    ")
    }

    /// The phases on one line, the current one in brackets.
    private static func line(of rotation: JSON) -> String {
        let current = rotation.text("phase")
        var phases = rotation.text("kind") == "planned" ? ["deliver", "switch", "settle"] : ["switch"]
        phases += ["clean_up", current == "aborted" ? "aborted" : "done"]
        return phases.map { $0 == current ? "[\($0)]" : $0 }.joined(separator: " -> ")
            + "  since \(rotation.time("phase_since"))"
    }
}
