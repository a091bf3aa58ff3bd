import ArgumentParser

/// The flags of a node's settings.
struct NodeOptions: JoinedArguments {
    private var file = SettingsFileOption()
    var flags = SettingFlags<ServerProgram>()
    private(set) var trust = TrustOption()

    init() {}

    init(joining decoder: any Decoder) throws {
        self.file = try SettingsFileOption(from: decoder)
        self.flags = try SettingFlags(from: decoder)
        self.trust = try TrustOption(from: decoder)
    }

    var groups: [any ParsableArguments] { [self.file, self.flags, self.trust] }

    /// The node's settings, with the file that a flag or a variable names.
    func settings() throws -> Settings { try self.file.settings(of: .server, self.flags.values) }
}
