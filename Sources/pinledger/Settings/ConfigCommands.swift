import ArgumentParser
import Foundation
import PinWire

struct ConfigCommands: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Check a server's settings, and show where each is from.",
        discussion: """
            Settings come from flags, then variables (PINLEDGER_…), then systemd's credentials, then the file of --config, then \
            defaults. `pinledger handbook configuration` lists them.
            """,
        subcommands: [Check.self, Show.self])

    struct Check: AsyncParsableCommand, JoinedArguments {
        static let configuration = CommandConfiguration(
            commandName: "check",
            abstract: "Check all settings as a starting server does, and the files that they name.",
            discussion: """
                pinledger config check --config /etc/pinledger/pinledger.yaml

                It connects to nothing: `pinledger doctor` checks the database and the server too. Exit codes: 0 usable, 1 a \
                file that is named cannot be used, 2 a wrong setting.
                """)
        private var options = NodeOptions()

        init() {}

        init(joining decoder: any Decoder) throws { self.options = try NodeOptions(from: decoder) }

        var groups: [any ParsableArguments] { [self.options] }

        func run() async throws {
            let settings = try self.options.settings()
            try NodeConfiguration(settings, trustsDatabase: self.options.trust.trustDatabase).checkOperatorsAddress()
            let visible = Self.visiblePassword(settings.effective(.database)).map { [$0] } ?? []
            Self.report(settings.effective, visible)
        }

        /// Says that a program can use its settings, and what is odd about them.
        static func report(_ settings: [EffectiveSetting], _ warnings: [String] = []) {
            for warning in Self.warnings() + warnings { Console.error("warning: \(warning)") }
            let given = settings.count { $0.source != .standard }
            Console.print(
                "The settings are usable: \(given) \(given == 1 ? "is" : "are") given, the others have their defaults.")
        }

        /// Variables that look like a setting's and are none. Others with the prefix may be another program's: Kubernetes sets some
        /// for a service named pinledger.
        static func warnings(of names: some Sequence<String> = Environment.names) -> [String] {
            let known = Set(Setting.allCases.map(\.variable)).union(Self.others)
            let prefix = "PINLEDGER_"
            let words = known.sorted().map { String($0.dropFirst(prefix.count)) }
            return names.filter { $0.hasPrefix(prefix) && !known.contains($0) }.sorted().compactMap { name in
                NearestWord.of(String(name.dropFirst(prefix.count)), in: words).map {
                    "\(name) is no variable of this program: do you mean \(prefix)\($0)?"
                }
            }
        }

        /// What there is to say of a password in a file that other accounts of the machine can read; nil where there is none.
        private static func visiblePassword(_ database: EffectiveSetting?) -> String? {
            guard let database, case .file(let path, _) = database.source, database.shown.contains("=(hidden)") else {
                return nil
            }
            let file = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
            guard let mode = try? FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int,
                mode & 0o007 != 0
            else { return nil }
            return
                "\(path) holds the database's password, and every account of this machine can read it: chmod o= \(path), or put the connection string into a credential"
        }

        /// Variables that are no settings of a node.
        private static let others: Set = [
            "PINLEDGER_CONFIG", "PINLEDGER_SERVER", "PINLEDGER_TOKEN", "PINLEDGER_CA_FILE",
            "PINLEDGER_CLIENT_CERTIFICATE", "PINLEDGER_CLIENT_KEY", "PINLEDGER_ALLOW_HTTP", "PINLEDGER_DATA",
            "PINLEDGER_CONTEXT", "PINLEDGER_PAGER",
        ]
    }

    struct Show: AsyncParsableCommand, JoinedArguments {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show the settings that a server would use, and where each is from.",
            discussion: """
                pinledger config show --config /etc/pinledger/pinledger.yaml --given

                Passwords are not shown.
                """)
        private var report = SettingsReport()
        private var options = NodeOptions()

        init() {}

        init(joining decoder: any Decoder) throws {
            self.report = try SettingsReport(from: decoder)
            self.options = try NodeOptions(from: decoder)
        }

        var groups: [any ParsableArguments] { [self.report, self.options] }

        func run() async throws {
            let settings = try self.options.settings()
            try NodeConfiguration(settings, trustsDatabase: self.options.trust.trustDatabase).checkOperatorsAddress()
            self.report.print(settings.effective)
        }
    }
}

/// The settings of an edge, as `pinledger config` has those of a server.
struct EdgeConfigCommands: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Check an edge's settings, and show where each is from.",
        subcommands: [Check.self, Show.self])

    struct Check: AsyncParsableCommand, JoinedArguments {
        static let configuration = CommandConfiguration(
            commandName: "check", abstract: "Check all settings as a starting edge does, and the files that they name.",
            discussion: """
                pinledger edge config check --config /etc/pinledger/edge.yaml

                It connects to nothing. Exit codes: 0 usable, 1 a file that is named cannot be used, 2 a wrong setting.
                """)
        private var options = EdgeOptions()

        init() {}

        init(joining decoder: any Decoder) throws { self.options = try EdgeOptions(from: decoder) }

        var groups: [any ParsableArguments] { [self.options] }

        func run() async throws {
            let settings = try self.options.settings()
            _ = try EdgeConfiguration(settings)
            ConfigCommands.Check.report(settings.effective)
        }
    }

    struct Show: AsyncParsableCommand, JoinedArguments {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show the settings that an edge would use, and where each is from.",
            discussion: "pinledger edge config show --config /etc/pinledger/edge.yaml --given")
        private var report = SettingsReport()
        private var options = EdgeOptions()

        init() {}

        init(joining decoder: any Decoder) throws {
            self.report = try SettingsReport(from: decoder)
            self.options = try EdgeOptions(from: decoder)
        }

        var groups: [any ParsableArguments] { [self.report, self.options] }

        func run() async throws {
            let settings = try self.options.settings()
            _ = try EdgeConfiguration(settings)
            self.report.print(settings.effective)
        }
    }
}
