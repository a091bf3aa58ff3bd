import PinWire
import Pinning

/// Reads the `ssl_pinning_config` of Firebase-style remote configuration into commands.
///
/// Both shapes are known: hosts with pins and rollouts, and the kill switch with `target_hosts` for pins built into the
/// app; with and without the envelope; percentages in either spelling. Where the old clients' behaviour and the document
/// differ (a device outside a rollout lost all pinning there), the finding says so. Everything wrong is found at once.
struct RemoteConfigImport {
    var plan = ImportPlan()
    private(set) var config: [String: JSON] = [:]
    private(set) var pointer = JSONPointer()

    /// The plan for a file.
    ///
    /// - Parameters:
    ///   - json: The file's content.
    ///   - pointer: Its place in the file.
    ///   - id: The app of the import.
    ///   - app: That app's state; nil where it has to be created.
    static func plan(
        _ json: JSON, at pointer: JSONPointer = JSONPointer(), for id: AppID, _ app: App?,
        isPublicSuffix: (String) -> Bool
    ) -> ImportPlan {
        var reader = RemoteConfigImport()
        reader.pointer = pointer
        reader.read(json, id, app, isPublicSuffix)
        return reader.plan
    }

    mutating func say(
        _ severity: ImportFinding.Severity, _ at: JSONPointer, _ message: String, _ advice: String
    ) {
        self.plan.say(severity, .value(at), message, advice)
    }

    private mutating func read(_ json: JSON, _ id: AppID, _ app: App?, _ isPublicSuffix: (String) -> Bool) {
        guard self.open(json) else { return }
        let known = [
            "enabled", "rollout_percentage", "rolloutPercentage", "min_app_version", "minAppVersion", "hosts",
            "target_hosts", "rollout_strategy", "fallback", "monitoring",
        ]
        guard self.config.keys.contains(where: known.contains) else {
            self.say(
                .fatal, self.pointer, "has no member of ssl_pinning_config",
                "Choose the file's format, or give it the shape of ssl_pinning_config: \(Self.list(known)).")
            return
        }
        self.noteUnknown(self.config, known, self.pointer)

        if app == nil {
            self.plan.commands.append(.create(displayName: id.text))
            self.plan.steps.append("create the app \(id)")
        }
        let isEnabled = self.flag("enabled", in: self.config, at: self.pointer, default: true)
        let share = self.percentage(in: self.config, at: self.pointer)
        let gate = self.gate()
        let strategy = self.strategy()
        if let gate {
            self.plan.commands.append(.setVersionGate(gate))
            self.plan.steps.append("let candidates reach app versions from \(gate.minimum?.text ?? "any")")
        }
        if let share, share < 10_000, self.config["hosts"] != nil {
            var rollout = strategy
            rollout.basisPoints = share
            self.plan.commands.append(.setRollout(rollout))
            self.plan.steps.append("roll every candidate out to \(Self.percent(share)) of devices")
        }
        self.fallback()
        self.monitoring()
        self.hosts(isEnabled: isEnabled, share: share, gate: gate, strategy, app, isPublicSuffix)
        let isSimple = (self.config["hosts"] ?? .null) == .null
        self.plan.declare(.remoteConfig, ClientSettings(schema: isSimple ? .simple : .advanced), in: app)
    }

    /// Finds the configuration inside its envelope, where there is one.
    private mutating func open(_ json: JSON) -> Bool {
        var json = json
        if let inner = json["ssl_pinning_config"] {
            self.pointer = self.pointer.appending("ssl_pinning_config")
            json = inner
            // Remote Config keeps a parameter's JSON as a string.
            if let text = inner.stringValue {
                do { json = try JSON(text: text) } catch {
                    self.say(
                        .fatal, self.pointer, "is a string that does not hold JSON: \(error)",
                        "Export the parameter again.")
                    return false
                }
            }
        }
        guard case .object(let members) = json else {
            self.say(
                .fatal, self.pointer, "must be an object, and is \(json.kind)",
                "Give the file the shape of ssl_pinning_config.")
            return false
        }
        self.config = members
        return true
    }

    mutating func noteUnknown(_ members: [String: JSON], _ known: [String], _ pointer: JSONPointer) {
        for name in members.keys.sorted() where !known.contains(name) {
            self.say(
                .warning, pointer.appending(name), "is not a member of ssl_pinning_config and is ignored",
                "Check its spelling; known are \(Self.list(known))."
            )
        }
    }

    /// Members in one spelling of each.
    private static func list(_ known: [String]) -> String {
        known.filter { !$0.contains(where: \.isUppercase) }.joined(separator: ", ")
    }

    mutating func flag(
        _ name: String, in members: [String: JSON], at pointer: JSONPointer, default value: Bool
    ) -> Bool {
        switch members[name] {
        case .bool(let flag)?: return flag
        case nil, .null?:
            self.say(
                .note, pointer.appending(name), "is missing; the default \(value) is used",
                "Set it in the file to be sure.")
        case let other?:
            self.say(
                .fatal, pointer.appending(name), "must be true or false, and is \(other.kind)",
                "Write true or false without quotes.")
        }
        return value
    }

    /// A share in basis points, in either spelling; nil where it is wrong.
    mutating func percentage(in members: [String: JSON], at pointer: JSONPointer) -> Int? {
        let found = ["rollout_percentage", "rolloutPercentage"].filter { members[$0] != nil && members[$0] != .null }
        if found.count == 2, members[found[0]] != members[found[1]] {
            self.say(
                .fatal, pointer.appending(found[1]), "says something else than \(found[0])",
                "Keep one of the two spellings.")
            return nil
        }
        guard let name = found.first, let value = members[name] else {
            self.say(
                .note, pointer.appending("rollout_percentage"), "is missing and taken as 100",
                "Say it in the file to be sure.")
            return 10_000
        }
        let share: Double? =
            switch value {
            case .integer(let whole): Double(whole)
            case .number(let number): number
            default: nil
            }
        guard let share, (0...100).contains(share), let points = Self.basisPoints(share) else {
            self.say(
                .fatal, pointer.appending(name), "must be a number from 0 to 100 with at most two decimals",
                "Write the share of devices in per cent, without quotes."
            )
            return nil
        }
        return points
    }

    /// A share in basis points; nil where it has more than two decimals. (8.2 × 100 is 819.9999999999999.)
    private static func basisPoints(_ percent: Double) -> Int? {
        let points = (percent * 100).rounded()
        return points / 100 == percent ? Int(points) : nil
    }

    static func percent(_ basisPoints: Int) -> String {
        basisPoints % 100 == 0 ? "\(basisPoints / 100) %" : "\(Double(basisPoints) / 100) %"
    }

    private mutating func gate() -> VersionGate? {
        let names = ["min_app_version", "minAppVersion"]
        guard let name = names.first(where: { (self.config[$0] ?? .null) != .null }), let value = self.config[name]
        else {
            return nil
        }
        let pointer = self.pointer.appending(name)
        if let other = names.last, other != name, (self.config[other] ?? .null) != .null, self.config[other] != value {
            self.say(
                .fatal, self.pointer.appending(other), "says something else than \(name)",
                "Keep one of the two spellings.")
            return nil
        }
        guard let text = value.stringValue, let version = try? AppVersion(text) else {
            self.say(
                .fatal, pointer, "must be a version such as \"1.5.0\"", "Write one to four groups of digits, in quotes."
            )
            return nil
        }
        if version.isPreRelease {
            self.say(
                .warning, pointer, "is a pre-release, which comes before \(text.split(separator: "-")[0])",
                "Leave the suffix out unless it is meant.")
        }
        return VersionGate(minimum: version)
    }

    private mutating func strategy() -> Rollout {
        var rollout = Rollout(basisPoints: 10_000)
        let pointer = self.pointer.appending("rollout_strategy")
        guard let value = self.config["rollout_strategy"], value != .null else { return rollout }
        guard case .object(let members) = value else {
            self.say(.fatal, pointer, "must be an object, and is \(value.kind)", "Give it method, seed and sticky.")
            return rollout
        }
        self.noteUnknown(members, ["method", "seed", "sticky"], pointer)
        switch members["method"]?.stringValue {
        case nil where members["method"] == nil, "percentage": break
        case "whitelist":
            rollout.method = .whitelist
            self.say(
                .warning, pointer.appending("method"),
                "is whitelist, and the file names no ids: nobody is in the rollout yet",
                "Set the rollout's whitelist after the import. (The old clients never read this member and used the percentage.)"
            )
        case "geography":
            self.say(
                .fatal, pointer.appending("method"), "is geography, and the file names no countries",
                "Write \"percentage\", which is what the old clients did in any case, and set countries after the import."
            )
        default:
            self.say(
                .fatal, pointer.appending("method"), "must be \"percentage\", \"whitelist\" or \"geography\"",
                "Correct the spelling.")
        }
        switch members["seed"] {
        case nil, .null?: break
        case let value?:
            if let text = value.stringValue, let seed = Rollout.Seed(rawValue: text) {
                rollout.seed = [seed]
            } else {
                self.say(
                    .fatal, pointer.appending("seed"), "must be \"device_id\", \"user_id\" or \"install_id\"",
                    "Correct it. (The old clients put every device into one bucket for any other word.)"
                )
            }
        }
        rollout.isSticky =
            members["sticky"] == nil ? true : self.flag("sticky", in: members, at: pointer, default: true)
        return rollout
    }

    private mutating func fallback() {
        let pointer = self.pointer.appending("fallback")
        guard let value = self.config["fallback"], value != .null else { return }
        guard case .object(let members) = value else {
            self.say(
                .fatal, pointer, "must be an object, and is \(value.kind)",
                "Give it use_builtin_pins and builtin_pin_hosts.")
            return
        }
        self.noteUnknown(members, ["use_builtin_pins", "builtin_pin_hosts"], pointer)
        var fallback = Fallback(usesBuiltinPins: self.flag("use_builtin_pins", in: members, at: pointer, default: true))
        var seen: Set<HostPattern> = []
        for (name, at) in self.names(members["builtin_pin_hosts"], pointer.appending("builtin_pin_hosts")) {
            guard let host = self.pattern(name, at) else { continue }
            if seen.insert(host).inserted {
                fallback.hosts.append(host)
            } else {
                self.say(.warning, at, "names \(host) a second time", "Remove it.")
            }
        }
        fallback.hosts.sort()
        self.plan.commands.append(.setFallback(fallback))
        let hosts = fallback.hosts.map(\.text).joined(separator: ", ")
        self.plan.steps.append(
            fallback.usesBuiltinPins
                ? "fall back to built-in pins\(hosts.isEmpty ? "" : " for \(hosts)") where no document can be had"
                : "use no built-in pins where no document can be had"
        )
    }

    private mutating func monitoring() {
        let pointer = self.pointer.appending("monitoring")
        guard let value = self.config["monitoring"], value != .null else { return }
        guard case .object(let members) = value else {
            self.say(
                .fatal, pointer, "must be an object, and is \(value.kind)",
                "Give it enabled, failure_threshold and auto_disable.")
            return
        }
        self.noteUnknown(members, ["enabled", "failure_threshold", "auto_disable"], pointer)
        var monitoring = Monitoring(isEnabled: self.flag("enabled", in: members, at: pointer, default: false))
        if let threshold = members["failure_threshold"], threshold != .null {
            let share: Double? =
                switch threshold {
                case .integer(let whole): Double(whole)
                case .number(let number): number
                default: nil
                }
            if let share, share > 0, share < 100, let points = Self.basisPoints(share) {
                monitoring.failureThreshold = points
            } else {
                self.say(
                    .fatal, pointer.appending("failure_threshold"),
                    "must be a share in per cent above 0 and below 100 with at most two decimals",
                    "Write for example 5.0 for 5 %."
                )
            }
        }
        if members["auto_disable"] != nil {
            monitoring.autoDisables = self.flag("auto_disable", in: members, at: pointer, default: false)
        }
        if monitoring.autoDisables {
            self.say(
                .warning, pointer.appending("auto_disable"),
                "is true: reports of clients may then lead to a kill switch for one host",
                "Leave it on only if that is meant. (The old clients only logged.)"
            )
        }
        self.plan.commands.append(.setMonitoring(monitoring))
        self.plan.steps.append(
            "\(monitoring.isEnabled ? "ask" : "do not ask") clients for reports, with a failure threshold of \(Self.percent(monitoring.failureThreshold))"
        )
    }
}
