/// An operator's settings for one kind of client. Members that do not concern the kind are refused when they are read.
package struct ClientSettings: Hashable, Sendable {
    /// Dynapins: which of its two protocols, and so which key.
    package var dynapins: DynapinsProtocol
    /// Dynapins: how long a client uses an answer, in seconds.
    package var ttlSeconds: Int64
    /// Dynapins: whether `/cert-fingerprint` is answered, only with the protocol ``DynapinsProtocol/ed25519``. Its
    /// signature covers a key's hash and neither domain nor time.
    package var servesFingerprint: Bool
    /// Wultra: whether installs understand 2.x's members `depth` and `domainsConfig`.
    package var understandsDomains: Bool
    /// Wultra: how long an entry is trusted at most, in days, whatever its certificate says; nil for as long as the
    /// certificate. Clients trust removed certificates until then.
    package var entryDays: Int64?
    /// Wultra: the versions of the app that should update.
    package var versionRules: [ClientVersionRule]
    /// Wultra: the texts for people who should update.
    package var texts: [ClientText]
    /// Wultra: certificates that are no longer served, in order. See ``withholds(_:at:)``.
    package var withheld: [WithheldCertificate]
    /// Remote configuration: which of the two schemas.
    package var schema: RemoteConfigSchema
    /// Remote configuration: the parameter's name.
    package var parameter: String
    /// Remote configuration: the hash that installs compare with a key's pin.
    package var hash: RemoteConfigHash
    /// Remote configuration: the id of the Firebase project that is kept in step; nil where none is.
    package var firebaseProject: String?
    /// Remote configuration: the one app of a Firebase project that gets the pins, such as `1:1234567890:ios:0a1b2c3d`;
    /// nil for all of them.
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

    /// True where installs that were made for other settings find their answers and read them: the name, form and hash are the same.
    func reachesInstalls(of other: ClientSettings) -> Bool {
        self.dynapins == other.dynapins && (self.servesFingerprint || !other.servesFingerprint)
            && self.schema == other.schema && self.parameter == other.parameter && self.hash == other.hash
    }

    /// The most version rules, texts and withheld certificates of one app, each.
    package static let ruleLimit = 200

    /// Why a setting is malformed, as the end of a sentence about it.
    package struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String
    }

    /// Adds a rule for versions in its place.
    ///
    /// - Throws: ``Malformed`` where its id is malformed or taken, and where there are as many as may be.
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

/// The protocols of Dynapins SDKs; the app has one key built in, and so one protocol.
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

/// The hash that clients of remote configuration compare with a key's pin.
package enum RemoteConfigHash: String, CaseIterable, Sendable, Hashable {
    /// SHA-256 of the SubjectPublicKeyInfo: the pin itself.
    case spki
    /// SHA-256 of the raw key, the contents of the SubjectPublicKeyInfo's BIT STRING, as computed by clients that hash
    /// only `SecKeyCopyExternalRepresentation`. Known only for uploaded keys.
    case rawKey = "raw_key"
}
