import PinWire
import Postgres

/// A setting as a node uses it, and where the value is from.
struct EffectiveSetting: Sendable, Equatable {
    /// Where a value was found.
    enum Source: Sendable, Equatable {
        case flag(String)
        case variable(String)
        /// A file in the directory of systemd's credentials.
        case credential(String)
        case file(String, line: Int)
        case standard

        var text: String {
            switch self {
            case .flag(let name), .variable(let name): name
            case .credential(let path): "credential \(path)"
            case .file(let path, let line): "\(path), line \(line)"
            case .standard: "default"
            }
        }
    }

    let setting: Setting
    /// None where the setting is not given and has no default.
    let values: [String]
    let source: Source

    /// What people may see: of a connection string the parts that libpq finds in it, without passwords.
    var shown: String {
        let text = self.values.joined(separator: ", ")
        guard self.setting == .database, !self.values.isEmpty else { return text }
        return PostgresConfiguration(connectionString: text).redactedDescription
    }

    var json: JSON {
        [
            "setting": .string(self.setting.rawValue),
            "value": self.values.isEmpty ? .null : .string(self.shown),
            "source": .string(self.source.text),
            "default": .bool(self.source == .standard),
            "reloaded": .bool(self.setting.isReloaded),
        ]
    }
}
