import ArgumentParser

/// The configuration file of a command that reads settings.
struct SettingsFileOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "YAML file with settings, by the flags' names with underscores (`admin_listen: 127.0.0.1:8441`). Flags and variables win. [env: PINLEDGER_CONFIG]",
            valueName: "file"))
    var config: String?

    /// Reads the file; nil where none is named.
    func read(of program: Setting.Program = .server) throws -> SettingsFile? {
        try (self.config ?? Environment["PINLEDGER_CONFIG"]).map { try SettingsFile(path: $0, of: program) }
    }

    /// The settings of this command.
    ///
    /// - Parameter flags: What the command's own flags give.
    func settings(of program: Setting.Program = .server, _ flags: [Setting: [String]] = [:]) throws -> Settings {
        try Settings(of: program, flags: flags, file: self.read(of: program))
    }

    /// The text of a setting for which the command has a flag of its own.
    func text(_ setting: Setting, _ flag: String?) throws -> String? {
        try self.settings(flag.map { [setting: [$0]] } ?? [:]).text(setting)
    }

    /// The connection string of a command's database.
    func database(_ flag: String?) throws -> String {
        guard let database = try self.text(.database, flag) else {
            throw CommandFailure(
                "no database is given", advice: "Give --database, set PINLEDGER_DATABASE or name it in --config.",
                status: .usage)
        }
        return database
    }

    /// The file with a command's key-encryption key.
    func kekFile(_ flag: String?) throws -> String {
        guard let file = try self.text(.kekFile, flag) else {
            throw CommandFailure(
                "no key-encryption key is given",
                advice: "Give --kek-file, set PINLEDGER_KEK_FILE or name it in --config.",
                status: .usage)
        }
        return file
    }
}
