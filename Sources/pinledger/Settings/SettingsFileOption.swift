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
    func settings(of program: Setting.Program = .server) throws -> Settings {
        try Settings(file: self.read(of: program))
    }

    /// The connection string of a command's database.
    func database(_ flag: String?) throws -> String {
        guard let database = try self.settings().text(.database, flag) else {
            throw CommandFailure(
                "no database is given", advice: "Give --database, set PINLEDGER_DATABASE or name it in --config.",
                status: .usage)
        }
        return database
    }

    /// The file with a command's key-encryption key.
    func kekFile(_ flag: String?) throws -> String {
        guard let file = try self.settings().text(.kekFile, flag) else {
            throw CommandFailure(
                "no key-encryption key is given",
                advice: "Give --kek-file, set PINLEDGER_KEK_FILE or name it in --config.",
                status: .usage)
        }
        return file
    }
}
