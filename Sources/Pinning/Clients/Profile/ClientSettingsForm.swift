package import PinWire

/// How a kind's settings are written and read; a kind without any has the empty object.
struct ClientSettingsForm: Sendable {
    /// Every setting that concerns the kind, spelled out.
    var json: @Sendable (ClientSettings) -> JSON = { _ in [:] }
    /// Reads into settings that have their defaults.
    var read: @Sendable (inout JSONMembers, inout ClientSettings) throws(JSONDefect) -> Void = { (_, _) in }
}

extension ClientSettings {
    /// The settings that concern a kind of client, every one of them spelled out.
    package func json(of kind: ClientKind) -> JSON { kind.profile(self).settings.json(self) }

    /// Reads settings of a kind of client; what is not there keeps its default.
    package init(_ field: JSONField, of kind: ClientKind) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            var settings = ClientSettings()
            try kind.profile().settings.read(&m, &settings)
            return settings
        }
    }
}
