import Configuration
import Foundation
import PinWire
import Synchronization

/// The settings of a node: flags first, then environment variables, then systemd's credentials, then the configuration file, then
/// defaults.
///
/// Each setting that is read is remembered with its source.
final class Settings: Sendable {
    private let reader: ConfigReader
    private let source = LastSource()
    private let file: SettingsFile?
    private let credentials: String?
    private let read = Mutex<[Setting: EffectiveSetting]>([:])

    /// The names of the places below the flags.
    static let environmentProvider = "environment"
    static let credentialProvider = "credentials"
    static let fileProvider = "file"

    /// - Parameters:
    ///   - environment: All variables. One that is empty gives nothing.
    ///   - credentials: The directory in which systemd passes credentials, `$CREDENTIALS_DIRECTORY`; nil for none.
    init(
        file: SettingsFile? = nil, environment: [String: String] = ProcessInfo.processInfo.environment,
        credentials: String? = Environment["CREDENTIALS_DIRECTORY"]
    ) throws {
        self.file = file
        self.credentials = credentials
        var variables: [AbsoluteConfigKey: ConfigValue] = [:]
        for setting in Setting.allCases {
            guard let text = environment[setting.variable], !text.isEmpty,
                setting.kind != .list || !Self.parts(of: text).isEmpty
            else { continue }
            variables[AbsoluteConfigKey(setting.key)] = ConfigValue(
                setting.kind == .list ? .stringArray(Self.parts(of: text)) : .string(text), isSecret: setting.isSecret)
        }
        self.reader = ConfigReader(
            providers: [
                InMemoryProvider(name: Self.environmentProvider, values: variables),
                InMemoryProvider(name: Self.credentialProvider, values: try Self.values(ofCredentials: credentials)),
                file?.provider ?? InMemoryProvider(name: Self.fileProvider, values: [:]),
            ], accessReporter: self.source)
    }

    /// The words of a variable.
    private static func parts(of text: String) -> [String] {
        text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    /// Credentials are files with the settings' names: a setting that names a file takes the credential's path, and the
    /// database's connection string is read from it.
    private static func values(ofCredentials directory: String?) throws -> [AbsoluteConfigKey: ConfigValue] {
        guard let directory else { return [:] }
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        for setting in Setting.allCases where setting.isSecret {
            let path = "\(directory)/\(setting.rawValue)"
            guard FileManager.default.fileExists(atPath: path) else { continue }
            let content: ConfigContent
            if setting == .database {
                guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
                    throw CommandFailure("the credential \(path) cannot be read as text", status: .usage)
                }
                let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
                guard !trimmed.isEmpty else { throw CommandFailure("the credential \(path) is empty", status: .usage) }
                content = .string(trimmed)
            } else {
                content = setting.kind == .list ? .stringArray([path]) : .string(path)
            }
            values[AbsoluteConfigKey(setting.key)] = ConfigValue(content, isSecret: true)
        }
        return values
    }

    // MARK: Reading

    /// A setting's text; nil where it is given nowhere.
    func text(_ setting: Setting, _ flag: String?, default standard: String? = nil) -> String? {
        if let flag {
            self.note(setting, [flag], .flag(setting.flag ?? ""))
            return flag
        }
        if let text = self.reader.string(forKey: setting.key, isSecret: setting.isSecret), !text.isEmpty {
            self.note(setting, [text], self.place(of: setting))
            return text
        }
        self.note(setting, standard.map { [$0] } ?? [], .standard)
        return standard
    }

    /// A setting's words; none where it is given nowhere.
    func list(_ setting: Setting, _ flag: [String]) -> [String] {
        if !flag.isEmpty {
            self.note(setting, flag, .flag(setting.flag ?? ""))
            return flag
        }
        if let texts = self.reader.stringArray(forKey: setting.key, isSecret: setting.isSecret), !texts.isEmpty {
            self.note(setting, texts, self.place(of: setting))
            return texts
        }
        self.note(setting, [], .standard)
        return []
    }

    /// Whether a setting is on.
    ///
    /// - Throws: ``CommandFailure`` for a text that says neither yes nor no.
    func isOn(_ setting: Setting, _ flag: Bool = false, default standard: Bool = false) throws -> Bool {
        if flag {
            self.note(setting, ["true"], .flag(setting.flag ?? ""))
            return true
        }
        guard let text = self.text(setting, nil, default: nil) else {
            self.note(setting, [String(standard)], .standard)
            return standard
        }
        switch text.lowercased() {
        case "1", "true", "yes", "on": return true
        case "0", "false", "no", "off": return false
        default: throw self.failure(setting, "must be true or false, and is \(String(shown: text.utf8))")
        }
    }

    /// A setting's number; nil where it is given nowhere and has no default.
    ///
    /// - Throws: ``CommandFailure`` for a text that is no number, and for one outside `range`.
    func number<T: LosslessStringConvertible & Comparable>(
        _ setting: Setting, _ flag: T?, default standard: T? = nil, in range: ClosedRange<T>
    ) throws -> T? {
        guard let text = self.text(setting, flag.map { "\($0)" }, default: standard.map { "\($0)" }) else { return nil }
        guard let number = T(text) else {
            throw self.failure(setting, "must be a number, and is \(String(shown: text.utf8))")
        }
        guard range.contains(number) else {
            throw self.failure(setting, "must be from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// A setting's number, or `standard`.
    func number<T: LosslessStringConvertible & Comparable>(
        _ setting: Setting, _ flag: T?, or standard: T, in range: ClosedRange<T>
    ) throws -> T {
        try self.number(setting, flag, default: standard, in: range) ?? standard
    }

    /// The failure of a setting that was read, with the place that it is from.
    func failure(_ setting: Setting, _ predicate: String, advice: String? = nil) -> CommandFailure {
        CommandFailure("\(self.name(of: setting)) \(predicate)", advice: advice, status: .usage)
    }

    /// A setting that was read, as the place that it is from calls it.
    func name(of setting: Setting) -> String {
        switch self.effective(setting)?.source {
        case .flag(let name), .variable(let name): name
        case .credential(let path): "the credential \(path)"
        case .file(let path, let line): "\(path), line \(line): \(setting.rawValue)"
        case .standard, nil: setting.flag ?? setting.variable
        }
    }

    /// Another setting, spelled as at the place that this one is from.
    func name(of other: Setting, as setting: Setting) -> String {
        switch self.effective(setting)?.source {
        case .variable: other.variable
        case .credential, .file: other.rawValue
        case .flag, .standard, nil: other.flag ?? other.variable
        }
    }

    /// Uses a setting's value. A failure says where the setting is, unless a flag gave it.
    func locating<Value>(_ setting: Setting, _ use: () throws -> Value) throws -> Value {
        do { return try use() } catch let failure as CommandFailure {
            switch self.effective(setting)?.source {
            case .flag, .standard, nil: throw failure
            case .variable, .credential, .file:
                throw CommandFailure(
                    "\(self.name(of: setting)): \(failure.message)", advice: failure.advice, status: failure.status)
            }
        }
    }

    // MARK: What was read

    func effective(_ setting: Setting) -> EffectiveSetting? { self.read.withLock { $0[setting] } }

    /// All settings of a program, in their order. One that was not asked for is given nowhere and has no default.
    func effective(of program: Setting.Program) -> [EffectiveSetting] {
        let read = self.read.withLock { $0 }
        return Setting.all(of: program).map {
            read[$0] ?? EffectiveSetting(setting: $0, values: [], source: .standard)
        }
    }

    private func note(_ setting: Setting, _ values: [String], _ source: EffectiveSetting.Source) {
        self.read.withLock { $0[setting] = EffectiveSetting(setting: setting, values: values, source: source) }
    }

    /// Where the value is from that was read last.
    private func place(of setting: Setting) -> EffectiveSetting.Source {
        // A provider's name has its own name in brackets.
        let provider = self.source.provider
        if provider.hasSuffix("[\(Self.environmentProvider)]") { return .variable(setting.variable) }
        if provider.hasSuffix("[\(Self.credentialProvider)]") {
            return .credential("\(self.credentials ?? "")/\(setting.rawValue)")
        }
        return .file(self.file?.path ?? "", line: self.file?.lines[setting] ?? 0)
    }
}

/// The place that the last value was read from.
private final class LastSource: AccessReporter {
    private let name = Mutex("")

    var provider: String { self.name.withLock { $0 } }

    func report(_ event: AccessEvent) {
        let hit = event.providerResults.first { (try? $0.result.get().value) != nil }
        self.name.withLock { $0 = hit?.providerName ?? "" }
    }
}
