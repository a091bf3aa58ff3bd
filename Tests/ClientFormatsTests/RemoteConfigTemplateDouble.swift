import ClientFormats
import PinWire
import Pinning
import Testing

/// An install as Firebase knows it.
struct RemoteConfigInstall {
    var version: String?
    var build: Int64?
    var country: String?
    /// Seconds since 1970.
    var time: Int64 = RemoteConfigExamples.noon.seconds
    var app = "1:1:ios:aa"
    /// Where its lot lies under a seed, in per cent.
    var lot: @Sendable (_ seed: String) -> Double = { _ in 50 }
}

/// Chooses a parameter's value as the service does: conditions in order, the first true one that the parameter has a
/// value for, else the default.
struct RemoteConfigService {
    let template: JSON

    init(_ bytes: [UInt8]) throws { self.template = try JSON(parsing: bytes) }

    struct Unreadable: Error { var text: String }

    var conditions: [JSON] { self.template["conditions"]?.arrayValue ?? [] }
    var names: [String] { self.conditions.compactMap { $0["name"]?.stringValue } }
    var expressions: [String] { self.conditions.compactMap { $0["expression"]?.stringValue } }

    /// The value; nil for the app's own.
    func value(_ parameter: String = "ssl_pinning_config", _ holds: (JSON) throws -> Bool) throws -> String? {
        let found = try #require(self.template["parameters"]?[parameter])
        for condition in self.conditions {
            let name = try #require(condition["name"]?.stringValue)
            if let value = found["conditionalValues"]?[name], try holds(condition) {
                return value["value"]?.stringValue
            }
        }
        let otherwise = try #require(found["defaultValue"])
        if otherwise["useInAppDefault"] == true { return nil }
        return try #require(otherwise["value"]?.stringValue)
    }

    /// The value for an install, by the conditions' expressions.
    func value(for install: RemoteConfigInstall) throws -> String? {
        try self.value { condition in
            let text = try #require(condition["expression"]?.stringValue)
            return try text.split(separator: " && ").allSatisfy { try Self.holds(String($0), install) }
        }
    }

    /// One element of an expression; what it does not know by the reference it refuses. Its beginning says which pattern is
    /// made: each is made anew, and that takes long.
    private static func holds(_ text: String, _ install: RemoteConfigInstall) throws -> Bool {
        if text.hasPrefix("app.id"), let match = text.wholeMatch(of: /app\.id == '([0-9A-Za-z:]+)'/) {
            return install.app == match.1
        }
        if text.hasPrefix("app.version"),
            let match = text.wholeMatch(of: /app\.version\.(<=|<|>=|>)\(\['([0-9]+(?:[0-9.]*[0-9])?)'\]\)/)
        {
            guard let version = install.version, version.wholeMatch(of: /[0-9.]+/) != nil else { return false }
            return try Self.compare(AppVersion(version), String(match.1), AppVersion(String(match.2)))
        }
        if text.hasPrefix("app.build"), let match = text.wholeMatch(of: /app\.build\.>=\(\['([0-9]+)'\]\)/) {
            guard let build = install.build, let bound = Int64(match.1) else { return false }
            return build >= bound
        }
        if text.hasPrefix("device.country"),
            let match = text.wholeMatch(of: /device\.country in \[('[A-Z]{2}'(?:, '[A-Z]{2}')*)\]/)
        {
            guard let country = install.country else { return false }
            return match.1.contains("'\(country)'")
        }
        if text.hasPrefix("percent("),
            let match = text.wholeMatch(of: /percent\('([0-9A-Za-z_.-]{1,32})'\) <= ([0-9]+(?:\.[0-9]+)?)/)
        {
            let bound = try #require(Double(match.2))
            guard bound > 0, bound <= 100 else { throw Unreadable(text: text) }
            return install.lot(String(match.1)) <= bound
        }
        if text.hasPrefix("dateTime"), let match = text.wholeMatch(of: /dateTime (<|>=) dateTime\('([0-9T:-]{19})'\)/) {
            let time = try #require(Timestamp(rfc3339: "\(match.2)Z"))
            return match.1 == "<" ? install.time < time.seconds : install.time >= time.seconds
        }
        throw Unreadable(text: text)
    }

    private static func compare(_ version: AppVersion, _ sign: String, _ bound: AppVersion) -> Bool {
        switch sign {
        case "<": version < bound
        case "<=": version <= bound
        case ">": version > bound
        default: version >= bound
        }
    }

    /// The value for an id and signals, by the conditions' structures, as firebase-admin 7 evaluates them.
    func value(id: String, _ signals: [String: String] = [:]) throws -> String? {
        try self.value { try Self.holds(try #require($0["condition"]), id, signals) }
    }

    private static func holds(_ condition: JSON, _ id: String, _ signals: [String: String]) throws -> Bool {
        if let inner = condition["orCondition"]?["conditions"]?.arrayValue {
            return try inner.contains { try Self.holds($0, id, signals) }
        }
        if let inner = condition["andCondition"]?["conditions"]?.arrayValue {
            return try inner.allSatisfy { try Self.holds($0, id, signals) }
        }
        if condition["true"] != nil { return true }
        if condition["false"] != nil { return false }
        if let percent = condition["percent"] {
            guard percent["percentOperator"] == "LESS_OR_EQUAL" else { throw Unreadable(text: "\(percent)") }
            let drawn = FirebasePercent(of: id, seed: try #require(percent["seed"]?.stringValue))
            return drawn?.isAtMost(try #require(percent["microPercent"]?.integerValue)) ?? false
        }
        let signal = try #require(condition["customSignal"])
        let targets = try #require(signal["targetCustomSignalValues"]?.arrayValue).compactMap(\.stringValue)
        guard let actual = signals[try #require(signal["customSignalKey"]?.stringValue)] else { return false }
        let first = try #require(targets.first)
        switch try #require(signal["customSignalOperator"]?.stringValue) {
        case "STRING_EXACTLY_MATCHES": return targets.contains(actual)
        case "NUMERIC_GREATER_EQUAL": return try #require(Double(actual)) >= #require(Double(first))
        case "SEMANTIC_VERSION_GREATER_EQUAL": return try Self.compare(AppVersion(actual), ">=", AppVersion(first))
        case "SEMANTIC_VERSION_GREATER_THAN": return try Self.compare(AppVersion(actual), ">", AppVersion(first))
        case "SEMANTIC_VERSION_LESS_EQUAL": return try Self.compare(AppVersion(actual), "<=", AppVersion(first))
        case "SEMANTIC_VERSION_LESS_THAN": return try Self.compare(AppVersion(actual), "<", AppVersion(first))
        case let other: throw Unreadable(text: other)
        }
    }
}

/// Templates as the service and Firebase's SDK get them.
enum RemoteConfigTemplates {
    static let settings = ClientSettings()

    static func client(
        _ view: ClientView, _ settings: ClientSettings = settings, app: String? = nil
    ) throws -> RemoteConfigService {
        try RemoteConfigService(
            RemoteConfigRules(
                view, settings: settings, firebaseApp: app.map(FirebaseAppID.init(_:))
            ).clientTemplate)
    }

    static func server(_ view: ClientView) throws -> RemoteConfigService {
        try RemoteConfigService(RemoteConfigRules(view, settings: self.settings).serverTemplate)
    }

    static func decode(_ text: String?) throws -> StrictAdvancedConfig {
        try StrictAdvancedConfig(config: #require(text))
    }

    /// A host with pins of the document on both sides of its rollout: these four keys from `number` on, two each.
    static func rolling(_ pattern: HostPattern, _ number: Int, _ rollout: Rollout?) -> Document.Host {
        RemoteConfigExamples.entry(
            pattern, RemoteConfigExamples.policy(.enforce, number, number + 1),
            candidate: RemoteConfigExamples.policy(.enforce, number + 2, number + 3), rollout)
    }
}
