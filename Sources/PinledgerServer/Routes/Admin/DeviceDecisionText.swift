import PinWire

extension DeviceDecision {
    /// The decision about a host name, each step with a sentence that explains it.
    func json(for name: String) -> JSON {
        guard case .object(var members) = self.json else { return self.json }
        members["name"] = .string(name)
        members["trace"] = .array(
            self.trace.map { step in
                guard case .object(var members) = step.json else { return step.json }
                members["detail"] = .string(step.sentence)
                return .object(members)
            })
        return .object(members)
    }
}

extension DeviceDecision.Step {
    /// The step's text, for people.
    var sentence: String {
        switch self.reason {
        case .hostExact: "The app has a host with exactly this name."
        case .hostWildcard: "A wildcard of the app matches this name."
        case .hostSubdomain: "A host of the app that includes its subdomains matches this name."
        case .hostUnknown: "No host of the app matches this name: it is not pinned."
        case .hostBuiltin: "No host of the app matches this name, but the app has built-in pins for it."

        case .killSwitchNone: "No kill switch is engaged for this host."
        case .killSwitchEngaged: "A kill switch is engaged\(self.until): pinning is off, regardless of all other rules."
        case .killSwitchExpired: "A kill switch has expired and no longer applies."
        case .killSwitchAhead: "A kill switch was engaged only after this instant."
        case .killSwitchOtherVersions: "A kill switch is engaged for other versions of the app."
        case .killSwitchVersionUnknown:
            "A kill switch is engaged for some versions of the app, but the device's version is unknown: it stays pinned."

        case .documentFresh: "The document is fresh."
        case .documentStale: "The document is stale and should be fetched again; it applies until then."
        case .pinsExpired: "`pins_valid_until` has passed: clients no longer enforce pins."

        case .candidateNone: "The host has no candidate: every device gets the baseline."
        case .candidateThere: "The host has a candidate: the next rules decide whether the device gets it."
        case .serverDecided: "The server decided, and the document has the result."

        case .versionGateNone: "The app has no version gate."
        case .versionGateIn: "The version gate admits this version of the app."
        case .versionBelow: "The app's version is below the gate's minimum: the baseline."
        case .versionAbove: "The app's version is above the gate's maximum: the baseline."
        case .versionExcluded: "The gate excludes this version of the app: the baseline."
        case .versionUnknown:
            "The device's app version is unknown, and the gate requires it: the baseline."
        case .versionInvalid: "The device's app version is malformed, so the gate cannot admit it: the baseline."
        case .buildBelow: "The app's build is below the gate's minimum: the baseline."
        case .buildUnknown:
            "The device's app build is unknown, and the gate requires it: the baseline."

        case .rolloutNone: "No rollout is set: every device is included."
        case .rolloutExcluded: "The device's id is on the rollout's exclusion list: the baseline."
        case .rolloutWhitelisted: "The device's id is on the rollout's whitelist: it is included."
        case .rolloutNotWhitelisted: "The rollout includes only whitelisted devices, and this one is not: the baseline."
        case .countryUnknown: "The rollout is by country, and the device's country is unknown: the baseline."
        case .countryOutside: "The rollout does not name the device's country: the baseline."
        case .seedMissing: "The device has none of the ids in the rollout's seed: the baseline."
        case .rolloutIn: "The device's lot\(self.lot) is in."
        case .rolloutOut: "The device's lot\(self.lot) is out: the baseline."

        case .policyEnforce: "The \(self.policy) enforces its pins."
        case .policyReportOnly: "The \(self.policy) reports mismatches and enforces nothing."
        case .policyOff: "The \(self.policy) is off: the host is not pinned."
        case .policyBuiltin: "The baseline is the pins built into the app."
        }
    }

    private var until: String { self.killSwitch.map { " until \($0.expiresAt.rfc3339)" } ?? "" }
    private var policy: String { self.arm?.rawValue ?? PolicyArm.baseline.rawValue }

    private var lot: String {
        guard let draw = self.draw else { return "" }
        return " (bucket \(draw.bucket) of 10000 by \(draw.seed.rawValue), in below \(draw.basisPoints))"
    }
}
