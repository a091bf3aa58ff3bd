public import ArgumentParser
import ClientFormats
public import PinWire
package import Pinning
package import Webhooks

// Options and arguments with a fixed set of values: the parser refuses any other, and the help lists them.

extension AttentionItem.Severity: ExpressibleByArgument {}
extension ClientKind: ExpressibleByArgument {}
extension DeliveryState: ExpressibleByArgument {}
extension EpochNumber: ExpressibleByArgument {
    package init?(argument: String) { self.init(argument) }
}
extension Endpoint.StartTLS: ExpressibleByArgument {
    // The protocols that probes support: records may name others.
    package static var allValueStrings: [String] { Self.allCases.filter(\.isSpoken).map(\.rawValue) }

    package init?(argument: String) {
        guard let value = Self(rawValue: argument), value.isSpoken else { return nil }
        self = value
    }
}
extension PinMode: ExpressibleByArgument {}
extension PinRole: ExpressibleByArgument {}
extension PolicyArm: ExpressibleByArgument {}
extension RemoteConfigHash: ExpressibleByArgument {}
extension Rollout.Bucketing: ExpressibleByArgument {}
extension Rollout.Method: ExpressibleByArgument {}
extension Rollout.Seed: ExpressibleByArgument {}
extension RolloutPlan.Inconclusive: ExpressibleByArgument {}

extension Rotation.Phase: ExpressibleByArgument {
    /// The phases that a rotation can leave.
    package static var allValueStrings: [String] { Self.allCases.filter { !$0.isOver }.map(\.rawValue) }
}

/// The name of a file's format, as in the API.
protocol FormatName: ExpressibleByArgument {
    static var names: [String] { get }
    var name: String { get }
    init(name: String)
}

extension FormatName {
    static var allValueStrings: [String] { Self.names }

    init?(argument: String) {
        guard Self.names.contains(argument) else { return nil }
        self.init(name: argument)
    }
}

/// A format that files are exported in.
struct ExportName: FormatName {
    static let names = ExportFormat.allCases.map(\.rawValue) + [Self.wultraStatic, Self.yaml]
    /// Specs, which `pinledger apply` takes.
    static let yaml = "yaml"
    /// Signed again each time, so that no two files are equal.
    static let wultraStatic = "wultra_static"

    let name: String
}

/// A format that files are imported in.
struct ImportName: FormatName {
    static let names =
        [Self.remoteConfig, Self.firebaseTemplate] + ImportFormat.allCases.map(\.rawValue) + [Self.wultra]
    static let remoteConfig = "remote-config"
    static let firebaseTemplate = "firebase_template"
    static let wultra = "wultra"

    let name: String

    /// Whether files of the format are JSON.
    var isJSON: Bool { [Self.remoteConfig, Self.firebaseTemplate, Self.wultra].contains(self.name) }
}

/// Yes or no, for options that change a setting only where they are given.
enum TruthValue: String, CaseIterable, ExpressibleByArgument {
    case yes = "true"
    case no = "false"
}
