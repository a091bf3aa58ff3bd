package import PinWire
package import Pinning

/// Which devices get which value: an ordered list of conditions, of which the first that holds decides, and the value
/// for all others.
///
/// Kill switches for everything, the app and its versions come first, so that nothing wins over them, and then the
/// pins' own end. A host's kill switch is in the value, since a parameter is one value for all hosts: there is a stage
/// for each end of one, which holds until then. All of them know their end, and the conditions after them hold once
/// they are over. A stage has the choices of the app's gate, the app's rollout and those rollouts of hosts that a value
/// cannot express by itself (see ``RemoteConfigValue``): one condition for each combination of these rollouts. Rollouts
/// of one salt are nested, as everywhere.
///
/// Firebase draws by an id of its own: a device may be inside here and outside in the native document. Conditions are
/// exact to the basis point, which is ten thousand of Firebase's units; a share in a value is rounded down, and one of
/// less than a per cent becomes a condition.
///
/// A condition's name follows from its purpose: the kill switch, or the hosts whose candidate it gives. It stays the
/// same while the share or the end changes and others come and go, since other parameters of a project may use it.
///
/// A lack of room holds up no kill switch: then the rollouts are left out, and devices that would have to be chosen get
/// the baseline.
package struct RemoteConfigRules: Sendable {
    package struct Rule: Hashable, Sendable {
        /// Letters, digits, spaces, dots, hyphens and underscores; unique.
        package var name: String
        package var tests: [RemoteConfigTest]
        package var value: OrderedJSON
        /// Whether it turns all pinning off, for all devices or for versions of the app.
        package var isKill = false
        /// Whether it chooses the devices of a rollout, which get the baseline without it.
        package var isRollout = false
    }

    package let rules: [Rule]
    package let otherwise: OrderedJSON
    package let parameter: String
    /// The document's version, for the template's description.
    package let version: Int64
    package let app: AppID
    /// The Firebase app to which the client template is limited.
    package let firebaseApp: FirebaseAppID?
    /// Why rollouts are left out; nil where all are there.
    package let withheld: RemoteConfigRefusal?

    /// The most groups of devices by hosts' rollouts.
    package static let groupLimit = 16
    /// The most conditions of one template: the service allows 500 in old projects and more in new ones.
    package static let ruleLimit = 500
    /// The most ends of hosts' kill switches that are distinguished. Later ones wait for the last.
    package static let stageLimit = 8

    /// - Parameters:
    ///   - view: The view of a device without known attributes.
    ///   - settings: The schema, the parameter's name and the hash.
    ///   - firebaseApp: The Firebase app, where a project has several. The parameter's default value then leaves all
    ///     others their built-in value.
    package init(
        _ view: ClientView, settings: ClientSettings, firebaseApp: FirebaseAppID? = nil
    ) throws(RemoteConfigRefusal) {
        let (content, withheld) = try Self.fitting(view, RemoteConfigRenderer(view, settings))
        let prefix = RemoteConfigPart.prefix(of: view.app)
        var seen: [String: Int] = [:]
        self.rules = content.rules.map { rule in
            var rule = rule
            let count = (seen[rule.name] ?? 0) + 1
            seen[rule.name] = count
            rule.name = "\(prefix)\(rule.name)\(count > 1 ? " \(count)" : "")"
            return rule
        }
        self.withheld = withheld
        self.otherwise = content.otherwise
        self.parameter = settings.parameter
        self.version = view.document.version
        self.app = view.app
        self.firebaseApp = firebaseApp
    }

    /// Rules in order, and the value for devices that match none.
    private struct Content: Hashable {
        var rules: [Rule]
        var otherwise: OrderedJSON

        /// - Throws: Where it is more than a template may have.
        func checkSize() throws(RemoteConfigRefusal) {
            guard self.rules.count < RemoteConfigRules.ruleLimit else {
                throw .tooManyConditions(self.rules.count, limit: RemoteConfigRules.ruleLimit)
            }
            let size = self.rules.reduce(self.otherwise.bytes().count) { $0 + $1.value.bytes().count }
            guard size <= RemoteConfigQuota.characters else {
                throw .tooLarge(size, limit: RemoteConfigQuota.characters)
            }
        }

        /// Whether both give devices the same, whatever the names of the conditions.
        func isSame(as other: Content) -> Bool {
            self.otherwise == other.otherwise
                && self.rules.elementsEqual(other.rules) { $0.tests == $1.tests && $0.value == $1.value }
        }
    }

    /// As much as there is room for, and why that is not everything.
    private static func fitting(
        _ view: ClientView, _ renderer: RemoteConfigRenderer
    ) throws(RemoteConfigRefusal) -> (Content, withheld: RemoteConfigRefusal?) {
        if view.isPastPins { return (Content(rules: [], otherwise: renderer.killed), nil) }
        let refusal: RemoteConfigRefusal
        do throws(RemoteConfigRefusal) { return (try Self.content(renderer), nil) } catch { refusal = error }
        do throws(RemoteConfigRefusal) { return (try Self.content(renderer.withholdingRollouts), refusal) } catch {
            // A part without room must not hold up a kill switch that hides it.
            guard view.isEverythingOff else { throw error }
            return (Content(rules: [], otherwise: renderer.killed), error)
        }
    }

    /// Everything, with as many ends of hosts' kill switches as there is room for: receiving a kill switch matters more
    /// than receiving its end, which the next template has.
    private static func content(_ renderer: RemoteConfigRenderer) throws(RemoteConfigRefusal) -> Content {
        let ends = Set(renderer.hosts.compactMap(\.switchedOffUntil)).sorted()
        let told = ends.count <= Self.stageLimit ? ends : ends.prefix(Self.stageLimit - 1) + ends.suffix(1)
        for ends in [told, Array(told.suffix(1))] where !ends.isEmpty {
            if let content = try? Self.content(renderer, ends) { return content }
        }
        return try Self.content(renderer, [])
    }

    /// - Parameter ends: The distinguished ends, in order. A host's kill switch ends with the first that is not before
    ///   its own; after the last, if there is one, none is left.
    private static func content(
        _ renderer: RemoteConfigRenderer, _ ends: [Timestamp]
    ) throws(RemoteConfigRefusal) -> Content {
        var rules = Self.kills(renderer.view, renderer.killed)
        if let end = renderer.view.document.pinsValidUntil {
            rules.append(Rule(name: "expired", tests: [.since(end)], value: renderer.killed, isKill: true))
        }
        var renderer = renderer
        var stage = try Self.stage(renderer)
        for end in ends {
            let switchedOff = Self.switchedOff(renderer)
            renderer = renderer.after(end)
            let next = try Self.stage(renderer)
            if !stage.isSame(as: next) {
                rules += stage.rules.map { rule in
                    var rule = rule
                    rule.tests.append(.before(end))
                    return rule
                }
                let name = Self.name("kill switch hosts", switchedOff)
                rules.append(Rule(name: name, tests: [.before(end)], value: stage.otherwise))
                try Content(rules: rules, otherwise: next.otherwise).checkSize()
            }
            stage = next
        }
        let content = Content(rules: rules + stage.rules, otherwise: stage.otherwise)
        try content.checkSize()
        return content
    }

    /// The rules while the same hosts are switched off.
    private static func stage(_ renderer: RemoteConfigRenderer) throws(RemoteConfigRefusal) -> Content {
        let groups = try RemoteConfigGroups(
            renderer.hosts, renderer.view.document, renderer.schema, isWithholding: renderer.isWithholding)
        // The last group has no tests where there is neither a gate nor a rollout of the app.
        let everybody = groups.inside.first { $0.alternatives == [[]] }
        var rules: [Rule] = []
        for group in groups.inside where group.alternatives != [[]] && !renderer.isWithholding {
            let value = renderer.value(group.exposures)
            let key = group.chosen.map(\.text) + ["but"] + Self.switchedOff(renderer)
            for (place, tests) in group.alternatives.enumerated() {
                let name = Self.name("candidate", key + (place > 0 ? ["\(place)"] : []))
                rules.append(Rule(name: name, tests: tests, value: value, isRollout: true))
            }
        }
        let otherwise = renderer.value(everybody?.exposures ?? groups.outside)
        // Trailing rules that change nothing.
        while let last = rules.last, last.value == otherwise { rules.removeLast() }
        return Content(rules: rules, otherwise: otherwise)
    }

    /// The hosts whose own kill switch is in force, in their order.
    private static func switchedOff(_ renderer: RemoteConfigRenderer) -> [String] {
        renderer.hosts.filter(\.isSwitchedOff).map(\.pattern.text)
    }

    /// A kind of condition and eight digits of its purpose.
    private static func name(_ kind: String, _ key: [String]) -> String {
        "\(kind) \(Hex.encode(sha256(Array(key.joined(separator: "\n").utf8))).prefix(8))"
    }

    /// Kill switches in force for everything, the app and versions of it, the widest first.
    private static func kills(_ view: ClientView, _ value: OrderedJSON) -> [Rule] {
        let wide = view.killSwitchesInForce.filter { $0.scope == "everything" || $0.scope == "app" }.map {
            Rule(name: "kill switch \($0.scope)", tests: [.before($0.expiresAt)], value: value, isKill: true)
        }
        let narrow = view.killSwitchesInForce.filter { $0.scope == "app_versions" }.flatMap { one -> [Rule] in
            // Without a range it would be the scope `app`, which was not stated.
            guard let versions = one.versions, !versions.isOpen else { return [] }
            return RemoteConfigTest.alternatives(of: versions).enumerated().map { place, tests in
                let name = Self.name(
                    "kill switch versions", [versions.json.canonicalText] + (place > 0 ? ["\(place)"] : []))
                return Rule(name: name, tests: tests + [.before(one.expiresAt)], value: value, isKill: true)
            }
        }
        return wide + narrow
    }
}
