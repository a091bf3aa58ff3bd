import PinWire

extension Event {
    /// Reads an event's data in place; nil where ``init(type:schema:data:)`` has to judge.
    init?(
        type: UnsafeBufferPointer<UInt8>, data scanner: inout CanonicalScanner, _ names: inout RecentNames
    ) {
        if let event = AppEvent(type: type, data: &scanner, &names) {
            self = .app(event)
            return
        }
        // The rarer events are read as JSON values; only the data, not the whole entry.
        guard let data = scanner.object(),
            let json = try? JSON(parsing: data, limits: JSONLimits(depth: 15, nodes: 100_000)),
            let event = try? Event(type: String(decoding: type, as: UTF8.self), schema: 1, data: json),
            event.dataBytes.elementsEqual(data)
        else { return nil }
        self = event
    }
}

extension AppEvent {
    /// The frequent events. Nil, with the scanner back where it was, for all others.
    fileprivate init?(
        type: UnsafeBufferPointer<UInt8>, data scanner: inout CanonicalScanner, _ names: inout RecentNames
    ) {
        let saved = scanner
        guard let event = Self.scan(type, &scanner, &names), scanner.skip("}") else {
            scanner = saved
            return nil
        }
        self = event
    }

    private static func scan(
        _ type: UnsafeBufferPointer<UInt8>, _ scanner: inout CanonicalScanner, _ names: inout RecentNames
    ) -> AppEvent? {
        if type.matches("PinStaged") {
            guard let host = scanner.host("{\"host\":", &names) else { return nil }
            var note: String?
            if scanner.skip(",\"note\":") {
                note = scanner.plainText()
                guard note != nil else { return nil }
            }
            guard let (pin, slot) = scanner.pinAndPolicy(), let role = scanner.role() else { return nil }
            return .pinStaged(host, slot, pin, role, note: note)
        }
        if type.matches("PinActivated") { return scanner.place(&names).map { .pinActivated($0.host, $0.slot, $0.pin) } }
        if type.matches("PinRetired") { return scanner.place(&names).map { .pinRetired($0.host, $0.slot, $0.pin) } }
        if type.matches("PinRevoked") { return scanner.place(&names).map { .pinRevoked($0.host, $0.slot, $0.pin) } }
        if type.matches("PinRoleSet") {
            guard let place = scanner.place(&names), let role = scanner.role() else { return nil }
            return .pinRoleSet(place.host, place.slot, place.pin, role)
        }
        if type.matches("HostAdded") {
            guard let host = scanner.host("{\"host\":", &names), scanner.skip(",\"include_subdomains\":"),
                let subdomains = scanner.bool()
            else { return nil }
            guard scanner.skip(",\"mode\":") else {
                return .hostAdded(host, includesSubdomains: subdomains, mode: nil)
            }
            return scanner.mode().map { .hostAdded(host, includesSubdomains: subdomains, mode: $0) }
        }
        if type.matches("HostSubdomainsSet") {
            guard let host = scanner.host("{\"host\":", &names), scanner.skip(",\"include_subdomains\":"),
                let subdomains = scanner.bool()
            else { return nil }
            return .hostSubdomainsSet(host, includesSubdomains: subdomains)
        }
        if type.matches("ModeSet") {
            guard let host = scanner.host("{\"host\":", &names), scanner.skip(",\"mode\":"), let mode = scanner.mode(),
                scanner.skip(",\"policy\":"), let slot = scanner.slot()
            else { return nil }
            return .modeSet(host, slot, mode)
        }
        if type.matches("CandidateStarted") {
            guard let host = scanner.host("{\"host\":", &names), scanner.skip(",\"mode\":"), let mode = scanner.mode()
            else {
                return nil
            }
            return .candidateStarted(host, mode: mode)
        }
        if type.matches("CandidatePromoted") {
            return scanner.host("{\"host\":", &names).map { .candidatePromoted($0) }
        }
        if type.matches("CandidateDropped") { return scanner.host("{\"host\":", &names).map { .candidateDropped($0) } }
        if type.matches("HostRemoved") { return scanner.host("{\"host\":", &names).map { .hostRemoved($0) } }
        if type.matches("AppCreated") || type.matches("AppRenamed") {
            guard scanner.skip("{\"display_name\":"), let name = scanner.plainText() else { return nil }
            return type.matches("AppCreated") ? .appCreated(displayName: name) : .appRenamed(displayName: name)
        }
        if type.matches("KillSwitchEngaged") {
            guard scanner.skip("{\"expires_at\":"), let expiry = scanner.timestamp() else { return nil }
            guard scanner.skip(",") else { return .killSwitchEngaged(nil, expiresAt: expiry) }
            return scanner.host("\"host\":", &names).map { .killSwitchEngaged($0, expiresAt: expiry) }
        }
        if type.matches("KillSwitchReleased") {
            if let host = scanner.host("{\"host\":", &names) { return .killSwitchReleased(host) }
            return scanner.skip("{") ? .killSwitchReleased(nil) : nil
        }
        if type.matches("MonitoringSet") {
            guard scanner.skip("{\"monitoring\":{\"auto_disable\":"), let auto = scanner.bool(),
                scanner.skip(",\"enabled\":"), let isEnabled = scanner.bool(),
                scanner.skip(",\"failure_threshold_bp\":"), let threshold = scanner.natural(),
                (1...9999).contains(threshold), scanner.skip("}")
            else { return nil }
            return .monitoringSet(
                Monitoring(isEnabled: isEnabled, failureThreshold: Int(threshold), autoDisables: auto)
            )
        }
        if type.matches("AppRolloutSet") {
            return scanner.rollout("{\"rollout\":").map { .appRolloutSet($0) }
        }
        if type.matches("HostRolloutSet") {
            guard let host = scanner.host("{\"host\":", &names) else { return nil }
            return scanner.rollout(",\"rollout\":").map { .hostRolloutSet(host, $0) }
        }
        return nil
    }
}

extension CanonicalScanner {
    /// `introduction` and a host pattern; nil, with nothing read, for anything else.
    fileprivate mutating func host(_ introduction: StaticString, _ names: inout RecentNames) -> HostPattern? {
        let start = self
        guard self.skip(introduction), let text = self.plainBytes(), let host = names.host(text) else {
            self = start
            return nil
        }
        return host
    }

    fileprivate mutating func place(_ names: inout RecentNames) -> (host: HostPattern, slot: PolicySlot, pin: Pin)? {
        guard let host = self.host("{\"host\":", &names), let (pin, slot) = self.pinAndPolicy() else { return nil }
        return (host, slot, pin)
    }

    fileprivate mutating func pinAndPolicy() -> (Pin, PolicySlot)? {
        guard self.skip(",\"pin\":"), let pin = self.pin(), self.skip(",\"policy\":"), let slot = self.slot() else {
            return nil
        }
        return (pin, slot)
    }

    fileprivate mutating func slot() -> PolicySlot? {
        if self.skip("\"baseline\"") { return .baseline }
        if self.skip("\"candidate\"") { return .candidate }
        return nil
    }

    fileprivate mutating func role() -> PinRole? {
        guard self.skip(",\"role\":") else { return nil }
        if self.skip("\"primary\"") { return .primary }
        if self.skip("\"backup\"") { return .backup }
        if self.skip("\"emergency\"") { return .emergency }
        return nil
    }

    fileprivate mutating func mode() -> PinMode? {
        if self.skip("\"enforce\"") { return .enforce }
        if self.skip("\"report_only\"") { return .reportOnly }
        if self.skip("\"off\"") { return .off }
        return nil
    }

    /// A rollout by percentage of devices, without lists: by far the most common.
    fileprivate mutating func rollout(_ introduction: StaticString) -> Rollout? {
        guard self.skip(introduction), self.skip("{\"basis_points\":"), let share = self.natural(), share <= 10_000,
            self.skip(",\"method\":\"percentage\",")
        else { return nil }
        var rollout = Rollout(basisPoints: Int(share))
        if self.skip("\"salt\":") {
            guard let salt = self.plainText(), (1...128).contains(salt.utf8.count), salt.isPrintableASCII,
                self.skip(",")
            else { return nil }
            rollout.salt = salt
        }
        guard let seed = self.seed(), self.skip(",\"sticky\":"), let isSticky = self.bool(), self.skip("}") else {
            return nil
        }
        rollout.seed = seed
        rollout.isSticky = isSticky
        return rollout
    }

    /// The ids that a rollout draws from, if they are those that the API and imports give one that names none.
    private mutating func seed() -> [Rollout.Seed]? {
        if self.skip("\"seed\":[\"install_id\",\"device_id\",\"user_id\"]") { return [.installID, .deviceID, .userID] }
        if self.skip("\"seed\":[\"device_id\"]") { return [.deviceID] }
        return nil
    }
}
