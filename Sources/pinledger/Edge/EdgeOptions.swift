import ArgumentParser

/// The flags of an edge's settings.
struct EdgeOptions: JoinedArguments {
    private var file = SettingsFileOption()
    private var flags = SettingFlags<EdgeProgram>()

    init() {}

    init(joining decoder: any Decoder) throws {
        self.file = try SettingsFileOption(from: decoder)
        self.flags = try SettingFlags(from: decoder)
    }

    var groups: [any ParsableArguments] { [self.file, self.flags] }

    /// The edge's settings, with the file that a flag or a variable names.
    func settings() throws -> Settings { try self.file.settings(of: .edge, self.flags.values) }
}
