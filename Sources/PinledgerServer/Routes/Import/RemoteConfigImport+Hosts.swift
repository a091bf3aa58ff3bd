import PinWire
import Pinning

extension RemoteConfigImport {
    mutating func hosts(
        isEnabled: Bool, share: Int?, gate: VersionGate?, _ strategy: Rollout, _ app: App?,
        _ isPublicSuffix: (String) -> Bool
    ) {
        let pointer = self.pointer.appending("hosts")
        var seen: Set<HostPattern> = []
        func isNew(_ host: HostPattern) -> String? {
            if !seen.insert(host).inserted { return "names \(host) a second time" }
            if isPublicSuffix(host.name) {
                return "names \(host.name), which \(host.sharedNameReason)"
            }
            return nil
        }
        if let value = self.config["hosts"], value != .null {
            guard case .object(let members) = value else {
                self.say(
                    .fatal, pointer, "must be an object of hosts, and is \(value.kind)", "Write each host as a member.")
                return
            }
            for name in members.keys.sorted() {
                let at = pointer.appending(name)
                guard let host = self.pattern(name, at), let value = members[name] else { continue }
                if let why = isNew(host) {
                    self.say(.fatal, at, why, "Remove it here.")
                    continue
                }
                self.host(
                    host, value, at, isEnabled: isEnabled, appShare: share ?? 10_000, gate: gate, strategy,
                    present: app?.hosts[host])
            }
        }
        let targets = self.names(self.config["target_hosts"], self.pointer.appending("target_hosts"))
        for (name, at) in targets {
            guard let host = self.pattern(name, at) else { continue }
            if let why = isNew(host) {
                self.say(.fatal, at, why, "Remove it here.")
                continue
            }
            if let present = app?.hosts[host] {
                let policy = present[.baseline]
                let isSame =
                    present[.candidate] == nil && !present.includesSubdomains
                    && (isEnabled ? policy == nil : policy?.mode == .off && policy?.activePins.isEmpty == true)
                self.compare(
                    host, at,
                    isSame
                        ? nil
                        : policy.map { "its mode is \($0.mode.rawValue), with pins of its own" }
                            ?? "it has the pins built into the app\(present[.candidate] == nil ? "" : " and a candidate")"
                )
                continue
            }
            self.plan.commands.append(.addHost(host, includesSubdomains: false, mode: isEnabled ? nil : .off, pins: []))
            self.plan.steps.append(
                isEnabled
                    ? "add \(host) with the pins built into the app"
                    : "add \(host) with pinning off, because enabled is false"
            )
        }
        guard seen.isEmpty, self.plan.fatal.isEmpty else { return }
        // Other files have members of these names too, such as `enabled`; an app made of one would pin nothing. That holds
        // for a configuration whose kill switch is thrown, too: without hosts there is nothing to record as off.
        self.say(
            .fatal, self.pointer, "names no host, neither in hosts nor in target_hosts, so there is nothing to import",
            "Choose a file that has hosts, and its format. If pinning is off, name the hosts in target_hosts for which it is."
        )
    }

    /// Compares a host that the app has already with the file's.
    private mutating func compare(_ host: HostPattern, _ at: JSONPointer, _ difference: String?) {
        if let difference {
            self.say(
                .fatal, at, "names \(host), which the app already has: \(difference)",
                "Change the host first, or remove it from the file.")
        } else {
            self.say(
                .note, at, "names \(host), which the app already has with the same pins and mode",
                "Nothing needs to be done.")
        }
    }

    private mutating func host(
        _ host: HostPattern, _ value: JSON, _ pointer: JSONPointer, isEnabled: Bool, appShare: Int, gate: VersionGate?,
        _ strategy: Rollout, present: Host?
    ) {
        guard case .object(let members) = value else {
            self.say(
                .fatal, pointer, "must be an object, and is \(value.kind)",
                "Give it enabled, pins and rollout_percentage.")
            return
        }
        self.noteUnknown(members, ["enabled", "pins", "rollout_percentage", "rolloutPercentage"], pointer)
        let isHostEnabled = self.flag("enabled", in: members, at: pointer, default: true)
        let share = self.percentage(in: members, at: pointer) ?? 10_000
        let mode: PinMode = isEnabled && isHostEnabled ? .enforce : .off
        guard let pins = self.pins(members["pins"], pointer.appending("pins"), mode: mode) else { return }

        if let present {
            let isForAll = mode == .off || (share == 10_000 && appShare == 10_000 && gate == nil)
            let stated = ImportedHost(
                pattern: host, includesSubdomains: false, mode: mode, pins: pins, place: .value(pointer))
            let isRollingOut = present[.candidate] != nil
            var difference = stated.difference(from: present, isForAll ? .baseline : .candidate)
            if difference == nil, isForAll, isRollingOut { difference = "a candidate is being rolled out" }
            if difference == nil, !isForAll, present[.baseline] != nil {
                difference = "its baseline has pins of its own"
            }
            if difference == nil, !isForAll, (present.rollout?.basisPoints ?? 10_000) != share {
                difference = "its candidate reaches another share of devices"
            }
            self.compare(host, pointer, difference)
            return
        }
        let words = "\(pins.count) pins, mode \(mode.rawValue)"
        if mode == .off, members["enabled"] != nil || !isEnabled {
            self.say(
                .note, pointer.appending("enabled"), "is false: the host is recorded with its pins and the mode off",
                "Set the mode to enforce to begin; for a temporary stop use the kill switch."
            )
        }
        // A mode of off is off for every device: a rollout has no effect.
        if mode == .off || (share == 10_000 && appShare == 10_000 && gate == nil) {
            self.plan.commands.append(.addHost(host, includesSubdomains: false, mode: mode, pins: pins))
            self.plan.steps.append("add \(host) with \(words), for every device")
            return
        }
        // Devices outside keep the app's built-in pins: never no pinning at all.
        self.plan.commands.append(.addHost(host, includesSubdomains: false, mode: nil, pins: []))
        self.plan.commands.append(.startCandidate(host, mode: mode, copiesBaseline: false, pins: pins))
        if share < 10_000 {
            var rollout = strategy
            rollout.basisPoints = share
            self.plan.commands.append(.setHostRollout(host, rollout))
        }
        let effective = appShare * share / 10_000
        self.plan.steps.append(
            "add \(host) with the built-in pins as baseline and a candidate of \(words), "
                + "reaching \(Self.percent(effective)) of devices in all"
        )
        self.say(
            .note, pointer,
            "reaches \(Self.percent(effective)) of devices; all others keep the pins built into the app",
            "(The old clients turned pinning off for devices outside the app's rollout or below its minimum version.)"
        )
    }

    private mutating func pins(_ value: JSON?, _ pointer: JSONPointer, mode: PinMode) -> [AppCommand.NewPin]? {
        guard let value, value != .null else {
            self.say(.fatal, pointer, "is required", "Give the host a primary and a backup pin.")
            return nil
        }
        guard case .object(let members) = value else {
            self.say(
                .fatal, pointer, "must be an object, and is \(value.kind)", "Write { \"primary\": …, \"backup\": … }.")
            return nil
        }
        var pins: [AppCommand.NewPin] = []
        let before = self.plan.fatal.count
        for name in members.keys.sorted() {
            let at = pointer.appending(name)
            guard let value = members[name], value != .null else { continue }
            guard let role = PinRole(rawValue: name) else {
                self.say(.fatal, at, "is not a role of a pin", "Use primary, backup or emergency.")
                continue
            }
            guard let text = value.stringValue else {
                self.say(.fatal, at, "must be a string, and is \(value.kind)", "Write the pin in quotes.")
                continue
            }
            guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: ";") }) else {
                self.say(
                    .fatal, at, "\"\(text.printable)\" has more in it than a pin, which clients do not take",
                    "Write the pin alone.")
                continue
            }
            let pin: Pin
            do { pin = try UploadedKey(written: text, known: KnownKeys()).pin } catch {
                self.say(.fatal, at, "\"\(text.printable)\": \(error)", ProblemType.pinPlaceholder.entry.advice)
                continue
            }
            if let placeholder = pin.placeholder {
                self.say(
                    .fatal, at, placeholder.sentence(about: pin).dropLastStop, ProblemType.pinPlaceholder.entry.advice)
                continue
            }
            if pins.contains(where: { $0.pin == pin }) {
                self.say(.fatal, at, "is the same pin as another one of this host", "Each role needs a separate key.")
                continue
            }
            pins.append(AppCommand.NewPin(pin: pin, role: role))
        }
        guard self.plan.fatal.count == before else { return nil }
        if mode == .enforce, pins.count < 2 || !pins.contains(where: \.role.isReserve) {
            self.say(
                .fatal, pointer,
                "has \(pins.count) pin\(pins.count == 1 ? "" : "s"), of which "
                    + "\(pins.count(where: \.role.isReserve)) in reserve: the loss of one key would lock every client out",
                "Give the host a primary and a backup pin of two keys."
            )
            return nil
        }
        let order = PinRole.allCases
        return pins.sorted { (order.firstIndex(of: $0.role) ?? 0) < (order.firstIndex(of: $1.role) ?? 0) }
    }

    /// Names in an array, or in one string with commas between them.
    mutating func names(_ value: JSON?, _ pointer: JSONPointer) -> [(String, JSONPointer)] {
        switch value {
        case nil, .null?: return []
        case .string(let text)?:
            return text.split(separator: ",").map { ($0.trimmingCharacters(), pointer) }.filter { !$0.0.isEmpty }
        case .array(let elements)?:
            var names: [(String, JSONPointer)] = []
            for (index, element) in elements.enumerated() {
                let at = pointer.appending(String(index))
                if let text = element.stringValue {
                    names.append((text, at))
                } else {
                    self.say(.fatal, at, "must be a host name in quotes, and is \(element.kind)", "Correct it.")
                }
            }
            return names
        case let other?:
            self.say(
                .fatal, pointer,
                "must be an array of host names, or one string of names separated by commas; it is \(other.kind)",
                "Correct it.")
            return []
        }
    }

    mutating func pattern(_ name: String, _ pointer: JSONPointer) -> HostPattern? {
        do { return try HostPattern(name) } catch {
            self.say(
                .fatal, pointer, "\"\(name.printable)\" \(error)",
                "Write the name as in the certificate, in lower case.")
            return nil
        }
    }
}
