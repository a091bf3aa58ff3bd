package import PinWire
package import Pinning

/// Why no template is rendered.
package enum RemoteConfigRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was given is not the id of a Firebase app.
    case malformedFirebaseApp
    /// Rollouts with lots of their own would need more values than a template is to have: each doubles them.
    case tooManyRollouts(values: Int, limit: Int)
    case tooManyConditions(Int, limit: Int)
    /// All values together, in bytes.
    case tooLarge(Int, limit: Int)

    package var description: String {
        switch self {
        case .malformedFirebaseApp: "must be the id of a Firebase app, such as 1:1234567890:ios:0a1b2c3d4e5f"
        case .tooManyRollouts(let values, let limit):
            "the hosts' rollouts part devices into \(values) groups, and a template has at most \(limit): give "
                + "rollouts that go on at the same time one salt, or let some of them end first"
        case .tooManyConditions(let count, let limit):
            "the template would have \(count) conditions, and may have \(limit): leave out fewer versions"
        case .tooLarge(let count, let limit): "the values would have \(count) bytes, and may have \(limit)"
        }
    }
}

/// Which devices get which value: an ordered list of conditions, of which the first that holds settles it, and the
/// value for all others.
///
/// Kill switches for everything, the app and its versions come first, so that nothing wins over them, and then the pins'
/// own end. A host's kill switch is in the value, since a parameter is one value for all hosts: there is a stage for each
/// end of one, which holds until then. All of them know their end, and what follows them is what holds once they are
/// over. A stage has what the app's gate, the app's rollout and those rollouts of hosts choose that a value cannot carry
/// by itself (see ``RemoteConfigValue``): one condition for each combination of these rollouts. Rollouts of one salt are
/// nested, as everywhere.
///
/// Firebase draws the lots, from an id of its own: a device may be inside here and outside in the native document.
/// Conditions are exact to the basis point, which is ten thousand of Firebase's units; a share that a value carries is
/// rounded down, and one of less than a per cent becomes a condition.
package struct RemoteConfigRules: Sendable {
    package struct Rule: Hashable, Sendable {
        /// Letters, digits, spaces, dots, hyphens and underscores; unique.
        package var name: String
        package var tests: [RemoteConfigTest]
        package var value: OrderedJSON
        /// Whether it turns all pinning off, for everybody or for versions of the app.
        package var isKill = false
    }

    package let rules: [Rule]
    package let otherwise: OrderedJSON
    package let parameter: String
    /// The document's version, for the template's description.
    package let version: Int64
    package let app: AppID
    /// The Firebase app that the client template is limited to.
    package let firebaseApp: String?

    /// Groups of devices that hosts' rollouts may part.
    package static let groupLimit = 16
    /// Conditions of one template: the service takes 500 in old projects and more in new ones.
    package static let ruleLimit = 500
    /// Bytes of all values: the service refuses templates of which these exceed a million characters.
    package static let sizeLimit = 1_000_000
    /// Ends of hosts' kill switches that are told apart. Of more the later ones wait for the last.
    package static let stageLimit = 8

    /// - Parameters:
    ///   - view: of a device of which nothing is known.
    ///   - settings: the schema, the parameter's name and the hash.
    ///   - firebaseApp: where a project has several apps, the one that this is for. The parameter's default value then
    ///     leaves all others what they have built in.
    package init(
        _ view: ClientView, settings: ClientSettings, firebaseApp: String? = nil
    ) throws(RemoteConfigRefusal) {
        if let firebaseApp {
            guard Self.isFirebaseApp(firebaseApp) else { throw .malformedFirebaseApp }
        }
        let renderer = RemoteConfigRenderer(view, settings)
        let content: Content
        if view.isPastPins {
            content = Content(rules: [], otherwise: renderer.killed)
        } else {
            do { content = try Self.content(renderer) } catch {
                // What has no room must not hold up a kill switch that nothing of it shows under.
                guard view.isEverythingOff else { throw error }
                content = Content(rules: [], otherwise: renderer.killed)
            }
        }
        let prefix = RemoteConfigPart.prefix(of: view.app)
        self.rules = content.rules.enumerated().map { place, rule in
            Rule(
                name: "\(prefix)\(place + 1) \(rule.name)", tests: rule.tests, value: rule.value, isKill: rule.isKill)
        }
        self.otherwise = content.otherwise
        self.parameter = settings.parameter
        self.version = view.document.version
        self.app = view.app
        self.firebaseApp = firebaseApp
    }

    /// Rules in order, and the value for whom none holds.
    private struct Content: Hashable {
        var rules: [Rule]
        var otherwise: OrderedJSON

        /// - Throws: where it is more than a template may have.
        func checkSize() throws(RemoteConfigRefusal) {
            guard self.rules.count < RemoteConfigRules.ruleLimit else {
                throw .tooManyConditions(self.rules.count, limit: RemoteConfigRules.ruleLimit)
            }
            let size = self.rules.reduce(self.otherwise.bytes().count) { $0 + $1.value.bytes().count }
            guard size <= RemoteConfigRules.sizeLimit else {
                throw .tooLarge(size, limit: RemoteConfigRules.sizeLimit)
            }
        }
    }

    /// Everything, with as many ends of hosts' kill switches as there is room for: to be told of a kill switch matters
    /// more than to be told of its end, which the next template knows.
    private static func content(_ renderer: RemoteConfigRenderer) throws(RemoteConfigRefusal) -> Content {
        let ends = Set(renderer.hosts.compactMap(\.switchedOffUntil)).sorted()
        let told = ends.count <= Self.stageLimit ? ends : ends.prefix(Self.stageLimit - 1) + ends.suffix(1)
        for ends in [told, Array(told.suffix(1))] where !ends.isEmpty {
            if let content = try? Self.content(renderer, ends) { return content }
        }
        return try Self.content(renderer, [])
    }

    /// - Parameter ends: the ends that are told, in order. A host's kill switch ends by the first that is not before its
    ///   own; after the last, if there is one, none is left.
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
            renderer = renderer.after(end)
            let next = try Self.stage(renderer)
            if stage != next {
                for rule in stage.rules {
                    rules.append(Rule(name: rule.name, tests: rule.tests + [.before(end)], value: rule.value))
                }
                rules.append(Rule(name: "kill switch", tests: [.before(end)], value: stage.otherwise))
                try Content(rules: rules, otherwise: next.otherwise).checkSize()
            }
            stage = next
        }
        let content = Content(rules: rules + stage.rules, otherwise: stage.otherwise)
        try content.checkSize()
        return content
    }

    /// What holds while the same hosts are switched off.
    private static func stage(_ renderer: RemoteConfigRenderer) throws(RemoteConfigRefusal) -> Content {
        let groups = try RemoteConfigGroups(renderer.hosts, renderer.view.document, renderer.schema)
        // The last group has no tests where there is neither a gate nor a rollout of the app.
        let everybody = groups.inside.first { $0.alternatives == [[]] }
        var rules: [Rule] = []
        for group in groups.inside where group.alternatives != [[]] {
            let value = renderer.value(group.exposures)
            for tests in group.alternatives { rules.append(Rule(name: "candidate", tests: tests, value: value)) }
        }
        let otherwise = renderer.value(everybody?.exposures ?? groups.outside)
        // What comes last and changes nothing.
        while let last = rules.last, last.value == otherwise { rules.removeLast() }
        return Content(rules: rules, otherwise: otherwise)
    }

    /// Kill switches in force for everything, the app and versions of it, the widest first.
    private static func kills(_ view: ClientView, _ value: OrderedJSON) -> [Rule] {
        let wide = view.killSwitchesInForce.filter { $0.scope == "everything" || $0.scope == "app" }.map {
            Rule(name: "kill switch", tests: [.before($0.expiresAt)], value: value, isKill: true)
        }
        let narrow = view.killSwitchesInForce.filter { $0.scope == "app_versions" }.flatMap { one -> [Rule] in
            // Without a range it would be the scope `app`, which nobody has said.
            guard let versions = one.versions, !versions.isOpen else { return [] }
            return RemoteConfigTest.alternatives(of: versions).map {
                Rule(name: "kill switch", tests: $0 + [.before(one.expiresAt)], value: value, isKill: true)
            }
        }
        return wide + narrow
    }

    /// Letters, digits and colons, as `1:1234567890:ios:0a1b2c3d`.
    private static func isFirebaseApp(_ id: String) -> Bool {
        (1...128).contains(id.utf8.count)
            && id.utf8.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: ":")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20)
            }
    }
}
