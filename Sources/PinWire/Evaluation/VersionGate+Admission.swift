extension VersionGate {
    /// The gate's result for a device: ``DeviceDecision/Reason/versionGateIn``, or why the device is not in.
    ///
    /// A device whose version is unknown or malformed is not in where the gate bounds versions; one whose build is
    /// unknown is not in where it bounds builds.
    func admission(of device: Device) -> DeviceDecision.Reason {
        if self.minimum != nil || self.maximum != nil || !self.excluded.isEmpty {
            guard device.appVersion != nil else { return .versionUnknown }
            guard let version = device.version else { return .versionInvalid }
            if let minimum = self.minimum, version < minimum { return .versionBelow }
            if let maximum = self.maximum, maximum < version { return .versionAbove }
            if self.excluded.contains(version) { return .versionExcluded }
        }
        if let minimum = self.minimumBuild {
            guard let build = device.build else { return .buildUnknown }
            if build < minimum { return .buildBelow }
        }
        return .versionGateIn
    }
}
