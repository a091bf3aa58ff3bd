import Foundation
import PinWire

/// What an app with the simple schema decodes. Every member is required.
struct StrictSimpleConfig: Decodable, Equatable {
    var enabled: Bool
    var targets: [String]
    var minimum: String

    private enum CodingKeys: String, CodingKey {
        case enabled
        case targets = "target_hosts"
        case minimum = "min_app_version"
    }
}

/// What an app with the advanced schema decodes. Only `emergency` may be missing; a host's share is spelled otherwise.
struct StrictAdvancedConfig: Decodable, Equatable {
    struct Host: Decodable, Equatable {
        struct Pins: Decodable, Equatable {
            var primary: String
            var backup: String
            var emergency: String?
        }
        var enabled: Bool
        var pins: Pins
        var rolloutPercentage: Int
    }
    struct Strategy: Decodable, Equatable {
        var method: String
        var seed: String
        var sticky: Bool
    }
    struct Fallback: Decodable, Equatable {
        var isUsed: Bool
        var hosts: [String]

        private enum CodingKeys: String, CodingKey {
            case isUsed = "use_builtin_pins"
            case hosts = "builtin_pin_hosts"
        }
    }
    struct Monitoring: Decodable, Equatable {
        var enabled: Bool
        var threshold: Double
        var disables: Bool

        private enum CodingKeys: String, CodingKey {
            case enabled
            case threshold = "failure_threshold"
            case disables = "auto_disable"
        }
    }
    var enabled: Bool
    var share: Int
    var minimum: String
    var hosts: [String: Host]
    var strategy: Strategy
    var fallback: Fallback
    var monitoring: Monitoring

    private enum CodingKeys: String, CodingKey {
        case enabled, hosts, fallback, monitoring
        case share = "rollout_percentage"
        case minimum = "min_app_version"
        case strategy = "rollout_strategy"
    }
}

/// What an app decodes that spells everything the documented way and misses nothing.
struct TolerantAdvancedConfig: Decodable {
    struct Host: Decodable {
        var enabled: Bool?
        var pins: [String: String]?
        var rollout_percentage: Double?
    }
    var enabled: Bool?
    var rollout_percentage: Double?
    var min_app_version: String?
    var target_hosts: [String]?
    var hosts: [String: Host]?
}

/// What an app reads that takes lists as well as one text with commas.
struct CommaConfig {
    var targets: [String]

    init?(_ text: String) {
        guard let json = try? JSON(text: text) else { return nil }
        switch json["target_hosts"] {
        case .array(let elements)?: self.targets = elements.compactMap(\.stringValue)
        case .string(let list)?: self.targets = list.split(separator: ",").map(String.init)
        default: return nil
        }
    }
}

extension Decodable {
    /// Decodes as the apps do.
    init(config text: String) throws { self = try JSONDecoder().decode(Self.self, from: Data(text.utf8)) }
}

/// What an app does with a connection.
enum RemoteConfigOutcome: Equatable, CustomStringConvertible {
    case unpinned
    case builtin
    case pinned(Set<String>)

    var description: String {
        switch self {
        case .unpinned: "unpinned"
        case .builtin: "built-in pins"
        case .pinned(let pins): "pinned to \(pins.count)"
        }
    }
}

extension StrictAdvancedConfig {
    /// How an app of the advanced schema goes about a host.
    ///
    /// - Parameters:
    ///   - bucket: from 0 to 99, the same for all shares.
    ///   - shipped: the hosts that the app has pins for.
    func outcome(
        for host: String, version: String = "1.0.0", bucket: Int = 50, shipped: Set<String> = []
    ) -> RemoteConfigOutcome {
        guard self.enabled, version.compare(self.minimum, options: .numeric) != .orderedAscending, bucket < self.share
        else { return .unpinned }
        guard let entry = self.hosts[host], entry.enabled, bucket < entry.rolloutPercentage else {
            return self.fallback.isUsed && self.fallback.hosts.contains(host) && shipped.contains(host)
                ? .builtin : .unpinned
        }
        return .pinned(Set([entry.pins.primary, entry.pins.backup, entry.pins.emergency].compactMap { $0 }))
    }
}
