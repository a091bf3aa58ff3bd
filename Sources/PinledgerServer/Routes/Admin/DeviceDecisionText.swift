import PinWire

extension DeviceDecision {
    /// The decision about a host name, each step with a sentence that says what it means.
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
    /// What the step says, for people.
    var sentence: String {
        switch self.reason {
        case .hostExact: "The app has a host of this very name."
        case .hostWildcard: "A wildcard of the app stands for this name."
        case .hostSubdomain: "A host of the app that includes its subdomains stands for this name."
        case .hostUnknown: "No host of the app stands for this name: it is not pinned."
        case .hostBuiltin: "No host of the app stands for this name, but the app was built with pins for it."

        case .killSwitchNone: "No kill switch is engaged for it."
        case .killSwitchEngaged: "A kill switch is engaged\(self.until): pinning is off, whatever else holds."
        case .killSwitchExpired: "A kill switch has expired, and means nothing any more."
        case .killSwitchAhead: "A kill switch was engaged only later."
        case .killSwitchOtherVersions: "A kill switch is engaged for other versions of the app."
        case .killSwitchVersionUnknown:
            "A kill switch is engaged for some versions of the app, and the device does not say which it has: it stays pinned."

        case .documentFresh: "The document is fresh."
        case .documentStale: "The document is stale and should be fetched anew; it holds until then."
        case .pinsExpired: "The time of `pins_valid_until` is over: clients enforce nothing any more."

        case .candidateNone: "The host has no candidate: everybody gets the baseline."
        case .candidateThere: "The host has a candidate, so that it is asked whether the device gets it."
        case .serverDecided: "The server decided it, and the document holds what it came to."

        case .versionGateNone: "The app has no version gate."
        case .versionGateIn: "The version gate lets this version of the app in."
        case .versionBelow: "The app's version is below the gate's minimum: the baseline."
        case .versionAbove: "The app's version is above the gate's maximum: the baseline."
        case .versionExcluded: "The gate excludes this version of the app: the baseline."
        case .versionUnknown:
            "The device does not say which version of the app it has, which the gate asks for: the baseline."
        case .versionInvalid: "What the device says is no version, so that the gate cannot let it in: the baseline."
        case .buildBelow: "The app's build is below the gate's minimum: the baseline."
        case .buildUnknown:
            "The device does not say which build of the app it has, which the gate asks for: the baseline."

        case .rolloutNone: "There is no rollout here: everybody is in."
        case .rolloutExcluded: "The device's id is on the rollout's exclusion list: the baseline."
        case .rolloutWhitelisted: "The device's id is on the rollout's whitelist: it is in."
        case .rolloutNotWhitelisted: "Only the whitelist lets devices in, and this one is not on it: the baseline."
        case .countryUnknown: "The rollout is by country, and the device's is not known: the baseline."
        case .countryOutside: "The rollout does not name the device's country: the baseline."
        case .seedMissing: "The device has none of the ids that the rollout draws from: the baseline."
        case .rolloutIn: "The device's lot\(self.lot) is in."
        case .rolloutOut: "The device's lot\(self.lot) is out: the baseline."

        case .policyEnforce: "The \(self.policy) enforces its pins."
        case .policyReportOnly: "The \(self.policy) only has clients report."
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
