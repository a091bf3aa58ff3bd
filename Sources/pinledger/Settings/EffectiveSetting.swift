import PinWire

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

    /// What people may see: the value without a password in it.
    var shown: String {
        let text = self.values.joined(separator: ", ")
        return self.setting == .database ? Self.withoutPassword(text) : text
    }

    /// A connection string of libpq without its passwords.
    static func withoutPassword(_ text: String) -> String {
        text.replacing(/(:\/\/[^:@\/?#]*:)[^@]*@/) { "\($0.output.1)***@" }
            .replacing(/((?:ssl)?password\s*=\s*)(?:'(?:[^'\\]|\\.)*'|[^\s&']+)/) { "\($0.output.1)***" }
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
