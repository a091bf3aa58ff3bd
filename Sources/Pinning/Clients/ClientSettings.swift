/// What an app's owner decides about one kind of client. Members that do not concern the kind are refused where they are
/// read.
package struct ClientSettings: Hashable, Sendable {
    /// Of Dynapins: which of its two protocols, and so which key.
    package var dynapins: DynapinsProtocol
    /// Of Dynapins: for how long a client goes by an answer, in seconds.
    package var ttlSeconds: Int64
    /// Of Dynapins: whether `/cert-fingerprint` is answered, of the protocol ``DynapinsProtocol/ed25519`` alone. Its
    /// signature covers a key's hash and neither domain nor time.
    package var servesFingerprint: Bool
    /// Of Wultra: whether installs understand 2.x's members `depth` and `domainsConfig`.
    package var understandsDomains: Bool
    /// Of Wultra: for how long an entry is trusted at most, in days, whatever its certificate says; nil for as long as
    /// the certificate. Clients go on trusting what was removed until then.
    package var entryDays: Int64?
    /// Of Wultra: which versions of the app are asked to update.
    package var versionRules: [ClientVersionRule]
    /// Of Wultra: what people are told who should update.
    package var texts: [ClientText]
    /// Of Wultra: certificates that are not given out any more, in order. See ``withholds(_:at:)``.
    package var withheld: [WithheldCertificate]
    /// Of remote configuration: which of the two schemas.
    package var schema: RemoteConfigSchema
    /// Of remote configuration: the parameter's name.
    package var parameter: String
    /// Of remote configuration: what installs compare with a key's pin.
    package var hash: RemoteConfigHash
    /// Of remote configuration: the id of the Firebase project that is kept in step; nil where none is.
    package var firebaseProject: String?
    /// Of remote configuration: the one app of a Firebase project that the pins are for, such as
    /// `1:1234567890:ios:0a1b2c3d`; nil for all of them.
    package var firebaseApp: FirebaseAppID?

    package init(
        dynapins: DynapinsProtocol = .es256, ttlSeconds: Int64 = 3600, servesFingerprint: Bool = false,
        understandsDomains: Bool = false, entryDays: Int64? = nil, versionRules: [ClientVersionRule] = [],
        texts: [ClientText] = [], withheld: [WithheldCertificate] = [],
        schema: RemoteConfigSchema = .advanced, parameter: String = "ssl_pinning_config",
        hash: RemoteConfigHash = .spki, firebaseProject: String? = nil, firebaseApp: FirebaseAppID? = nil
    ) {
        self.dynapins = dynapins
        self.ttlSeconds = ttlSeconds
        self.servesFingerprint = servesFingerprint
        self.understandsDomains = understandsDomains
        self.entryDays = entryDays
        self.versionRules = versionRules
        self.texts = texts
        self.withheld = withheld
        self.schema = schema
        self.parameter = parameter
        self.hash = hash
        self.firebaseProject = firebaseProject
        self.firebaseApp = firebaseApp
    }

    /// Version rules, texts and withheld certificates that one app may have of each.
    package static let ruleLimit = 200

    /// Why something is not a setting, as the end of a sentence about it.
    package struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String
    }

    /// Adds a rule for versions in its place.
    ///
    /// - Throws: ``Malformed`` where its id is none or another's, and where there are as many as may be.
    package mutating func add(_ rule: ClientVersionRule) throws(Malformed) {
        guard ClientVersionRule.ids.contains(rule.id) else {
            let ids = ClientVersionRule.ids
            throw Malformed(description: "must have an id from \(ids.lowerBound) to \(ids.upperBound)")
        }
        guard !self.versionRules.contains(where: { $0.id == rule.id }) else {
            throw Malformed(description: "has the id of another rule")
        }
        guard self.versionRules.count < Self.ruleLimit else {
            throw Malformed(
                description: "is one too many: an app may have at most \(Self.ruleLimit); delete another first")
        }
        let place = self.versionRules.firstIndex { rule.id < $0.id } ?? self.versionRules.endIndex
        self.versionRules.insert(rule, at: place)
    }

    /// Adds a text in its place.
    ///
    /// - Throws: ``Malformed`` where its key is there in its language, and where there are as many as may be.
    package mutating func add(_ text: ClientText) throws(Malformed) {
        guard !self.texts.contains(where: text.isAnother) else {
            throw Malformed(description: "has the same key and language as another text")
        }
        guard self.texts.count < Self.ruleLimit else {
            throw Malformed(
                description: "is one too many: an app may have at most \(Self.ruleLimit); delete another first")
        }
        let place = self.texts.firstIndex { ClientText.precedes(text, $0) } ?? self.texts.endIndex
        self.texts.insert(text, at: place)
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

/// What clients of remote configuration compare with a key's pin.
package enum RemoteConfigHash: String, CaseIterable, Sendable, Hashable {
    /// SHA-256 of the SubjectPublicKeyInfo: the pin itself.
    case spki
    /// SHA-256 of the raw key, the contents of the SubjectPublicKeyInfo's BIT STRING: what clients compute that hash
    /// `SecKeyCopyExternalRepresentation` and nothing before it. Known only of keys that somebody showed.
    case rawKey = "raw_key"
}
