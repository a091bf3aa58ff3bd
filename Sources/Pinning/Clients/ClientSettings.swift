/// What an app's owner decides about one kind of client. Members that do not concern the kind are refused where they are
/// read.
package struct ClientSettings: Hashable, Sendable {
    /// Of Dynapins: which of its two protocols, and so which key.
    package var dynapins: DynapinsProtocol
    /// Of Dynapins: for how long a client goes by an answer, in seconds.
    package var ttlSeconds: Int64
    /// Of Wultra: whether installs understand 2.x's members `depth` and `domainsConfig`.
    package var understandsDomains: Bool
    /// Of Wultra: for how long an entry is trusted at most, in days, whatever its certificate says; nil for as long as
    /// the certificate. Clients go on trusting what was removed until then.
    package var entryDays: Int64?
    /// Of Wultra: which versions of the app are asked to update.
    package var versionRules: [ClientVersionRule]
    /// Of Wultra: what people are told who should update.
    package var texts: [ClientText]
    /// Of remote configuration: which of the two schemas.
    package var schema: RemoteConfigSchema
    /// Of remote configuration: the parameter's name.
    package var parameter: String

    package init(
        dynapins: DynapinsProtocol = .es256, ttlSeconds: Int64 = 3600, understandsDomains: Bool = false,
        entryDays: Int64? = nil, versionRules: [ClientVersionRule] = [], texts: [ClientText] = [],
        schema: RemoteConfigSchema = .advanced, parameter: String = "ssl_pinning_config"
    ) {
        self.dynapins = dynapins
        self.ttlSeconds = ttlSeconds
        self.understandsDomains = understandsDomains
        self.entryDays = entryDays
        self.versionRules = versionRules
        self.texts = texts
        self.schema = schema
        self.parameter = parameter
    }
}

/// The protocols that Dynapins SDKs speak; the app has one key built in, and so one protocol.
package enum DynapinsProtocol: String, CaseIterable, Sendable, Hashable {
    /// Up to 0.1: a flat object signed with Ed25519.
    case ed25519
    /// Since 0.2: a compact JWS signed with ECDSA on P-256.
    case es256
}

/// The schemas of the value under `ssl_pinning_config`.
package enum RemoteConfigSchema: String, CaseIterable, Sendable, Hashable {
    /// `enabled`, `target_hosts`, `min_app_version`.
    case simple
    /// Hosts with their pins and percentages.
    case advanced
}

/// Which versions of an app are asked to update, on one platform.
package struct ClientVersionRule: Hashable, Sendable {
    /// Names the rule for ever.
    package var id: Int64
    /// `IOS` or `ANDROID`.
    package var platform: String
    /// The rule holds for this major version of the operating system; nil for those without a rule of their own.
    package var majorOSVersion: Int64?
    /// Older versions are suggested to update, or have to.
    package var suggestedVersion: String?
    package var requiredVersion: String?
    package var messageKey: String?

    package init(
        id: Int64, platform: String, majorOSVersion: Int64? = nil, suggestedVersion: String? = nil,
        requiredVersion: String? = nil, messageKey: String? = nil
    ) {
        self.id = id
        self.platform = platform
        self.majorOSVersion = majorOSVersion
        self.suggestedVersion = suggestedVersion
        self.requiredVersion = requiredVersion
        self.messageKey = messageKey
    }
}

/// A text in one language.
package struct ClientText: Hashable, Sendable {
    package var key: String
    /// Two lower-case letters (ISO 639-1).
    package var language: String
    package var text: String

    package init(key: String, language: String, text: String) {
        self.key = key
        self.language = language
        self.text = text
    }
}
