import PinWire

extension ClientProfile {
    /// The simple schema has no pins; those of the advanced one are compared with the server's own key.
    static func remoteConfig(_ settings: ClientSettings) -> ClientProfile {
        let isAdvanced = settings.schema == .advanced
        return ClientProfile(
            title: "Firebase Remote Config",
            isServed: true,
            comparison: isAdvanced ? .ownKey : .builtin,
            hashesRawKeys: isAdvanced && settings.hash == .rawKey,
            names: .exact(
                NameLimit { host, _ in
                    "These clients compare exact names, and never match \(host.pattern): it is not pinned."
                }),
            unpinned: .builtin,
            canTurnOff: true,
            versionKillSwitch: .inConditions,
            hasRollouts: true,
            settings: ClientSettingsForm(
                json: { settings in
                    .members([
                        "schema": .string(settings.schema.rawValue), "parameter": .string(settings.parameter),
                        "hash": .string(settings.hash.rawValue),
                        "firebase_project": settings.firebaseProject.map { .string($0) },
                        "firebase_app": settings.firebaseApp.map { .string($0.text) },
                    ])
                },
                read: Self.readRemoteConfig),
            findings: RemoteConfigLimits.findings)
    }

    @Sendable private static func readRemoteConfig(
        _ m: inout JSONMembers, into settings: inout ClientSettings
    ) throws(JSONDefect) {
        if let schema = m.optional("schema") { settings.schema = try schema.oneOf(RemoteConfigSchema.self) }
        if let parameter = m.optional("parameter") { settings.parameter = try parameter.parameterName() }
        if let hash = m.optional("hash") { settings.hash = try hash.oneOf(RemoteConfigHash.self) }
        settings.firebaseProject = try m.optional("firebase_project")?.firebaseProject()
        settings.firebaseApp = try m.optional("firebase_app")?.parse(FirebaseAppID.init(_:))
    }
}

extension JSONField {
    /// The name of a parameter as Firebase has them: a letter or an underscore, then letters, digits and underscores, at
    /// most 256 characters.
    fileprivate func parameterName() throws(JSONDefect) -> String {
        let text = try self.string()
        let bytes = Array(text.utf8)
        func isLetter(_ byte: UInt8) -> Bool { (65...90).contains(byte & 0xDF) && byte < 0x80 || byte == 0x5F }
        guard let first = bytes.first, isLetter(first), bytes.count <= 256,
            bytes.allSatisfy({ isLetter($0) || (48...57).contains($0) })
        else { throw self.defect("must be the name of a parameter: letters, digits and underscores") }
        return text
    }

    /// The id of a project as Google has them: 6 to 30 lower-case letters, digits and hyphens, a letter first.
    fileprivate func firebaseProject() throws(JSONDefect) -> String {
        let text = try self.string()
        guard (6...30).contains(text.utf8.count), (97...122).contains(text.utf8.first ?? 0), !text.hasSuffix("-"),
            text.utf8.allSatisfy({ (97...122).contains($0) || (48...57).contains($0) || $0 == 0x2D })
        else { throw self.defect("must be the id of a project: 6 to 30 lower-case letters, digits and hyphens") }
        return text
    }
}
