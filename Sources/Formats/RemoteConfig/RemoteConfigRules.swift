package import PinWire
package import Pinning

/// Why no template is rendered.
package enum RemoteConfigRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The parameter's name is none that the service takes.
    case malformedParameter(String)
    /// What was given is not the id of a Firebase app.
    case malformedFirebaseApp
    /// Rollouts with lots of their own would need more values than a template is to have: each doubles them.
    case tooManyRollouts(values: Int, limit: Int)
    case tooManyConditions(Int, limit: Int)
    /// All values together, in bytes.
    case tooLarge(Int, limit: Int)

    package var description: String {
        switch self {
        case .malformedParameter(let name):
            "the parameter's name \"\(name)\" must be a letter or underscore, and then letters, digits and underscores"
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
/// Kill switches come first, so that nothing wins over them. They know their end, and what follows them is what holds
/// once they are over. Then come the pins' own end, and what the app's gate, the app's rollout and those rollouts of
/// hosts choose that a value cannot carry by itself (see ``RemoteConfigValue``): one condition for each combination of
/// these rollouts, since a parameter is one value for all hosts. Rollouts of one salt are nested, as everywhere.
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
        /// Whether it turns pinning off.
        package var isKill: Bool
    }

    package let rules: [Rule]
    package let otherwise: OrderedJSON
    /// What the template does not say.
    package let gaps: [RemoteConfigGap]
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

    /// - Parameters:
    ///   - view: of a device of which nothing is known.
    ///   - settings: the schema and the parameter's name.
    ///   - firebaseApp: where a project has several apps, the one that this is for. The parameter's default value then
    ///     leaves all others what they have built in.
    package init(
        _ view: ClientView, settings: ClientSettings, hash: RemoteConfigHash = .spki, firebaseApp: String? = nil
    ) throws(RemoteConfigRefusal) {
        guard Self.isParameter(settings.parameter) else { throw .malformedParameter(settings.parameter) }
        if let firebaseApp {
            guard Self.isFirebaseApp(firebaseApp) else { throw .malformedFirebaseApp }
        }
        let renderer = RemoteConfigRenderer(view, settings.schema, hash)
        let groups = try RemoteConfigGroups(renderer.hosts, view.document, settings.schema)
        var gaps = groups.gaps
        var rules = Self.kills(view, renderer.killed)
        if let end = view.document.pinsValidUntil {
            rules.append(Rule(name: "expired", tests: [.since(end)], value: renderer.killed, isKill: true))
        }
        for host in renderer.hosts where host.isSwitchedOff {
            gaps.append(RemoteConfigGap(.killSwitchOutlives, host.pattern))
        }
        // The last group has no tests where there is neither a gate nor a rollout of the app.
        let everybody = groups.inside.first { $0.alternatives == [[]] }
        for group in groups.inside where group.alternatives != [[]] {
            let value = renderer.value(group.exposures, &gaps)
            for tests in group.alternatives {
                rules.append(Rule(name: "candidate", tests: tests, value: value, isKill: false))
            }
        }
        var otherwise = renderer.value(everybody?.exposures ?? groups.outside, &gaps)
        // What comes last and changes nothing.
        while let last = rules.last, !last.isKill, last.value == otherwise { rules.removeLast() }
        if let end = view.document.pinsValidUntil, end <= view.now {
            rules = []
            otherwise = renderer.killed
            gaps = []
        }
        let prefix = "pinledger \(Self.label(view.app))"
        for place in rules.indices { rules[place].name = "\(prefix) \(place + 1) \(rules[place].name)" }
        guard rules.count < Self.ruleLimit else { throw .tooManyConditions(rules.count, limit: Self.ruleLimit) }
        let size = rules.reduce(otherwise.bytes().count) { $0 + $1.value.bytes().count }
        guard size <= Self.sizeLimit else { throw .tooLarge(size, limit: Self.sizeLimit) }
        self.rules = rules
        self.otherwise = otherwise
        self.gaps = gaps.removingRepeats
        self.parameter = settings.parameter
        self.version = view.document.version
        self.app = view.app
        self.firebaseApp = firebaseApp
    }

    /// Kill switches in force for everything, the app and versions of it, the widest first.
    private static func kills(_ view: ClientView, _ value: OrderedJSON) -> [Rule] {
        let engaged = view.document.killSwitches.filter { $0.isInForce(at: view.now) }
        let wide = engaged.filter { ["everything", "app"].contains($0.scope) }.map {
            Rule(name: "kill switch", tests: [.before($0.expiresAt)], value: value, isKill: true)
        }
        let narrow = engaged.filter { $0.scope == "app_versions" }.flatMap { one -> [Rule] in
            // Without a range it would be the scope `app`, which nobody has said.
            guard let versions = one.versions, !versions.isOpen else { return [] }
            return RemoteConfigTest.alternatives(of: versions).map {
                Rule(name: "kill switch", tests: $0 + [.before(one.expiresAt)], value: value, isKill: true)
            }
        }
        return wide + narrow
    }

    /// A letter or underscore, then letters, digits and underscores, 256 at most.
    private static func isParameter(_ name: String) -> Bool {
        guard (1...256).contains(name.utf8.count), let first = name.utf8.first else { return false }
        func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
        return !isDigit(first)
            && name.utf8.allSatisfy {
                isDigit($0) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20) || $0 == UInt8(ascii: "_")
            }
    }

    /// Letters, digits and colons, as `1:1234567890:ios:0a1b2c3d`.
    private static func isFirebaseApp(_ id: String) -> Bool {
        (1...128).contains(id.utf8.count)
            && id.utf8.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: ":")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20)
            }
    }

    /// The app's name in conditions, which may have 100 characters.
    private static func label(_ app: AppID) -> String {
        app.text.utf8.count <= 60 ? app.text : String(Hex.encode(sha256(Array(app.text.utf8))).prefix(16))
    }
}
