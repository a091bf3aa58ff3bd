extension VersionGate {
    /// What a gate says of a device.
    enum Admission: Hashable {
        case inside
        case outside(DeviceDecision.Reason)
        /// The gate bounds what is unknown of the device, or malformed: it is not in.
        case unknown(DeviceDecision.Reason)

        var reason: DeviceDecision.Reason {
            switch self {
            case .inside: .versionGateIn
            case .outside(let reason), .unknown(let reason): reason
            }
        }
    }

    /// The gate's result for a device.
    ///
    /// A device whose version is unknown or malformed is not in where the gate bounds versions; one whose build is
    /// unknown is not in where it bounds builds.
    func admission(of device: Device) -> Admission {
        if self.minimum != nil || self.maximum != nil || !self.excluded.isEmpty {
            guard device.appVersion != nil else { return .unknown(.versionUnknown) }
            guard let version = device.version else { return .unknown(.versionInvalid) }
            if let minimum = self.minimum, version < minimum { return .outside(.versionBelow) }
            if let maximum = self.maximum, maximum < version { return .outside(.versionAbove) }
            if self.excluded.contains(version) { return .outside(.versionExcluded) }
        }
        if let minimum = self.minimumBuild {
            guard let build = device.build else { return .unknown(.buildUnknown) }
            if build < minimum { return .outside(.buildBelow) }
        }
        return .inside
    }
}
