/// A limit of some kind of client, by its name. The names never change: they stand in findings that others store.
package enum ClientLimit: String, CaseIterable, Sendable, Hashable {
    // How many pins, and which.

    /// Fewer than two pins: TrustKit, and everything built on it, throws when it is started.
    case singlePin = "single_pin"
    /// One pin, where the format's author asks for a second one in reserve.
    case backupRecommended = "backup_recommended"
    /// A host has no usable pin, and the client refuses it or leaves it alone.
    case nothingPublished = "nothing_published"
    /// Only the first pin is compared.
    case firstPinOnly = "first_pin_only"
    /// Pins in reserve are ignored until they come first.
    case backupsIgnored = "backups_ignored"
    /// The format demands a primary and a backup, and one pin has to stand for both.
    case primaryAndBackup = "primary_and_backup"
    /// The format has places for three pins.
    case pinPlaces = "pin_places"
    /// The format carries no pins: those built into the app hold.
    case pinsNotCarried = "pins_not_carried"
    /// Some versions of the client hash something else than the SubjectPublicKeyInfo, which no pin matches; or all get
    /// that hash, and it is unknown for a key.
    case hashNeverMatches = "hash_never_matches"
    /// Pins of authorities never match: only the server's own certificate is compared.
    case leafOnly = "leaf_only"
    /// The pins of all hosts hold for each of them.
    case keysPooled = "keys_pooled"
    /// The pins of every pattern that covers a name hold for it, and not only those of the nearest.
    case patternsAddUp = "patterns_add_up"
    /// Installs do not have the next key of a rotation built in, or it is unknown.
    case nextKeyNotBuiltIn = "next_key_not_built_in"
    /// The newest built-in pins have none of the primary keys.
    case builtInPinsOutdated = "built_in_pins_outdated"

    // Certificates, for clients that compare these.

    /// No certificate of a pin's key is known.
    case certificateUnknown = "certificate_unknown"
    /// Every known certificate of a pin's key has expired.
    case certificateExpired = "certificate_expired"
    /// A served certificate of a pin's key is not one of the known ones.
    case certificateRenewed = "certificate_renewed"
    /// Whole certificates are compared, which change with each renewal.
    case wholeCertificate = "whole_certificate"
    /// A certificate without a common name, by which the client finds its pins.
    case commonNameMissing = "common_name_missing"
    /// A certificate's common name is not the host's name to the letter.
    case commonNameDiffers = "common_name_differs"
    /// The host of a certificate is not compared: it is trusted for every name for which it is valid.
    case hostNotCompared = "host_not_compared"

    // Names.

    /// A pattern with a wildcard.
    case wildcard
    /// Names any number of labels below a host.
    case subdomains
    /// Only names one label below a host are covered, not those further below.
    case subdomainsOneLabel = "subdomains_one_label"
    /// A name below a wider pattern has no pins, which the format cannot say.
    case cannotExcept = "cannot_except"
    /// A name that is not below a public suffix, or that ends in none, at which TrustKit throws when it is started.
    case publicSuffix = "public_suffix"
    /// Only the first host of a process takes effect.
    case firstHostOnly = "first_host_only"
    /// The client is set up with one host, and refuses connections to all others.
    case oneHostOnly = "one_host_only"
    /// The first pins of a process hold until it ends.
    case pinsFrozen = "pins_frozen"
    /// One block of the configuration holds one domain.
    case oneDomainEach = "one_domain_each"

    // Changes and their time.

    /// A kill switch does not reach the client.
    case killSwitch = "kill_switch"
    /// A kill switch for some versions of the app does not reach the client.
    case versionKillSwitch = "version_kill_switch"
    /// The mode `off` does not reach the client.
    case modeOff = "mode_off"
    /// The mode `report_only` does not exist.
    case reportOnly = "report_only"
    /// Enforcing is an option, and not the default.
    case enforceDefault = "enforce_default"
    /// A rollout does not exist, or not for this host: the baseline holds until the candidate is promoted.
    case rollout
    /// Only percentages decide who is in a rollout.
    case rolloutMethod = "rollout_method"
    /// A rollout's share is a whole number of per cent.
    case wholePercentages = "whole_percentages"
    /// One draw of a device decides about all its rollouts.
    case sharedBucket = "shared_bucket"
    /// Devices are drawn by another algorithm than that of this server and its own clients.
    case otherBuckets = "other_buckets"
    /// A version gate on candidates does not exist.
    case versionGate = "version_gate"
    /// `pins_valid_until` does not exist: pins are enforced after it.
    case pinsValidUntil = "pins_valid_until"
    /// After `pins_valid_until` installs that were not updated go without pins.
    case unprotectedAfterExpiry = "unprotected_after_expiry"
    /// A removed pin or certificate stays trusted until it expires.
    case removalDelayed = "removal_delayed"
    /// An empty list changes nothing.
    case emptyList = "empty_list"
    /// Changes arrive once a week.
    case weeklyUpdate = "weekly_update"
    /// Changes take effect when the system forgets its TLS sessions.
    case sessionCache = "session_cache"

    // Trust.

    /// The served data are not signed.
    case unsigned
    /// The signed data name neither host nor time: an answer can be replayed for another host, without a limit.
    case replayable
    /// The key that verifies signatures is built into the app.
    case signingKeyFixed = "signing_key_fixed"
    /// The certificate is checked on another connection than the one that is used.
    case checkedBeforehand = "checked_beforehand"
    /// Older systems ignore the configuration.
    case olderSystems = "older_systems"

    /// The limit in a few words.
    package var title: String {
        switch self {
        case .singlePin: "Two pins are required"
        case .backupRecommended: "A second pin is recommended"
        case .nothingPublished: "No pin is published"
        case .firstPinOnly: "Only the first pin is compared"
        case .backupsIgnored: "Pins in reserve are ignored"
        case .primaryAndBackup: "A primary and a backup are required"
        case .pinPlaces: "At most three pins fit"
        case .pinsNotCarried: "Pins are not included"
        case .hashNeverMatches: "Some versions hash something else"
        case .leafOnly: "Only the server's own certificate is checked"
        case .keysPooled: "Pins apply to every host"
        case .patternsAddUp: "Pins of all patterns add up"
        case .nextKeyNotBuiltIn: "The next key is not built in"
        case .builtInPinsOutdated: "Built-in pins are out of date"
        case .certificateUnknown: "The certificate is unknown"
        case .certificateExpired: "The certificate has expired"
        case .certificateRenewed: "The certificate was replaced"
        case .wholeCertificate: "Whole certificates are compared"
        case .commonNameMissing: "The certificate has no common name"
        case .commonNameDiffers: "The common name is not the host's"
        case .hostNotCompared: "Certificates are trusted for other hosts too"
        case .wildcard: "Wildcards are not supported"
        case .subdomains: "Subdomains are not supported"
        case .subdomainsOneLabel: "Subdomains are one label deep"
        case .cannotExcept: "Exceptions are not supported"
        case .publicSuffix: "The name must be below a public suffix"
        case .firstHostOnly: "Only the first host takes effect"
        case .oneHostOnly: "Only one host can be reached"
        case .pinsFrozen: "New pins wait for the next start"
        case .oneDomainEach: "Only one domain per block"
        case .killSwitch: "The kill switch does not arrive"
        case .versionKillSwitch: "A kill switch for versions does not arrive"
        case .modeOff: "Off is not supported"
        case .reportOnly: "Report-only is not supported"
        case .enforceDefault: "Enforcing is not the default"
        case .rollout: "Rollouts are not supported"
        case .rolloutMethod: "Rollouts support percentages only"
        case .wholePercentages: "Percentages are whole"
        case .sharedBucket: "One bucket decides all rollouts"
        case .otherBuckets: "Other devices are selected"
        case .versionGate: "A version gate is not supported"
        case .pinsValidUntil: "The end of the pins is not supported"
        case .unprotectedAfterExpiry: "Pinning ends with its date"
        case .removalDelayed: "Removed entries stay trusted"
        case .emptyList: "An empty list changes nothing"
        case .weeklyUpdate: "Changes take up to a week"
        case .sessionCache: "TLS sessions outlive changes"
        case .unsigned: "Answers are not signed"
        case .replayable: "Answers can be replayed for other hosts"
        case .signingKeyFixed: "The signing key is built in"
        case .checkedBeforehand: "The check is another connection's"
        case .olderSystems: "Older systems ignore it"
        }
    }
}
