package import PinWire
package import Pinning

/// Something that an app's state says and a rendered configuration does not.
package struct RemoteConfigGap: Hashable, Sendable {
    /// What is missing. The raw values are stable: others may store and compare them.
    package enum Kind: String, CaseIterable, Sendable, Hashable {
        /// The host reports and does not enforce, which these clients do not know.
        case reportOnly = "report_only"
        /// A host's one pin stands in two places.
        case singlePin = "single_pin"
        /// A host that enforces has no pin that can be written, and is left out.
        case noPins = "no_pins"
        /// The host has more pins than there are places.
        case pinsLeftOut = "pins_left_out"
        /// Of some of the host's keys only the pin is known, and the clients want the raw key's hash.
        case rawKeyUnknown = "raw_key_unknown"
        /// Clients compare host names letter by letter.
        case wildcard
        case subdomains
        /// Devices get the baseline although some should get the candidate.
        case candidateWithheld = "candidate_withheld"
        /// A rollout's share was rounded down to whole per cent.
        case shareRounded = "share_rounded"
        /// A rollout reaches less than one per cent, and so nobody.
        case shareTooSmall = "share_too_small"
        /// Ids on a rollout's whitelist are treated as all others.
        case whitelistLost = "whitelist_lost"
        /// A kill switch for some versions of the app.
        case versionKillSwitch = "version_kill_switch"
        /// A kill switch for one host whose end is not in the configuration.
        case killSwitchOutlives = "kill_switch_outlives"
        /// The simple schema enforces the app's own pins instead of the document's.
        case pinsNotCarried = "pins_not_carried"
        /// The simple schema can pin only what the app has pins for, and it is not known to have any for the host.
        case builtinPinsUnknown = "builtin_pins_unknown"
    }

    package var kind: Kind
    /// Nil for what concerns the app as a whole.
    package var host: HostPattern?

    package init(_ kind: Kind, _ host: HostPattern? = nil) {
        self.kind = kind
        self.host = host
    }

    package var severity: ClientFinding.Severity {
        switch self.kind {
        case .noPins, .builtinPinsUnknown, .versionKillSwitch, .wildcard: .breaks
        case .reportOnly, .singlePin, .pinsLeftOut, .rawKeyUnknown, .subdomains, .candidateWithheld, .shareTooSmall,
            .killSwitchOutlives, .pinsNotCarried:
            .differs
        case .shareRounded, .whitelistLost: .notice
        }
    }

    /// What is the matter, as a sentence.
    package var detail: String {
        switch self.kind {
        case .reportOnly:
            "The host only reports; these clients know enforcing and nothing else, and do not look at its pins."
        case .singlePin: "The host has one pin, which stands as its primary and its backup."
        case .noPins: "The host enforces and has no pin that can be written; it is left out, and is not pinned."
        case .pinsLeftOut: "The host has more pins than the three that these clients have places for."
        case .rawKeyUnknown: "Of some of the host's keys only the pin is known, which is not the hash of the raw key."
        case .wildcard: "Clients that compare host names letter by letter never match a wildcard."
        case .subdomains: "Names below the host are not pinned."
        case .candidateWithheld: "Every device gets the baseline; who is to get the candidate cannot be said here."
        case .shareRounded: "The rollout's share is rounded down to whole per cent."
        case .shareTooSmall: "The rollout reaches less than one per cent of devices, and none of these clients."
        case .whitelistLost: "Ids on the rollout's whitelist are drawn like all others."
        case .versionKillSwitch: "A kill switch for some versions of the app is not in effect here."
        case .killSwitchOutlives:
            "The host's kill switch stays in effect here until the configuration is rendered again."
        case .pinsNotCarried: "The app's own pins are enforced instead of the document's."
        case .builtinPinsUnknown: "The app is not known to have pins for the host, which is left out and not pinned."
        }
    }

    /// What to do instead, as a sentence.
    package var remedy: String {
        switch self.kind {
        case .reportOnly: "Set the mode to enforce when the reports of other clients are good."
        case .singlePin: "Add a backup pin of another key."
        case .noPins: "Give the host a primary and a backup pin."
        case .pinsLeftOut: "Retire pins that are not needed, until three are left."
        case .rawKeyUnknown: "Give the certificate, the request or the public key along with the pin."
        case .wildcard, .subdomains: "Add each name as a host of its own."
        case .candidateWithheld: "Use the template, whose conditions choose devices, or promote the candidate."
        case .shareRounded: "Choose whole percentages while these clients are in use."
        case .shareTooSmall: "Use the template, or choose one per cent or more."
        case .whitelistLost: "Give testers a build of their own."
        case .versionKillSwitch: "Use the template, whose conditions know the app's version."
        case .killSwitchOutlives: "Publish the configuration again when the kill switch is released or has expired."
        case .pinsNotCarried: "Use the advanced schema once the app reads it."
        case .builtinPinsUnknown: "Name the host among the fallback's hosts if the app has pins for it."
        }
    }
}
