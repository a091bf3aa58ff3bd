import Configuration
import Foundation
import PinWire
import Synchronization

/// The settings of a node: flags first, then environment variables, then systemd's credentials, then the configuration file, then
/// defaults.
///
/// Each setting that is read is remembered with its source.
final class Settings: Sendable {
    let program: Setting.Program
    /// The values of flags, as texts.
    let flags: [Setting: [String]]
    private let reader: ConfigReader
    private let source = LastSource()
    let file: SettingsFile?
    private let credentials: String?
    private let read = Mutex<[Setting: EffectiveSetting]>([:])

    /// The names of the places below the flags.
    static let environmentProvider = "environment"
    static let credentialProvider = "credentials"
    static let fileProvider = "file"

    /// - Parameters:
    ///   - program: Whose defaults and limits hold.
    ///   - environment: All variables. One that is empty gives nothing.
    ///   - credentials: The directory in which systemd passes credentials, `$CREDENTIALS_DIRECTORY`; nil for none.
    init(
        of program: Setting.Program = .server, flags: [Setting: [String]] = [:], file: SettingsFile? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        credentials: String? = Environment["CREDENTIALS_DIRECTORY"]
    ) throws {
        self.program = program
        self.flags = flags
        self.file = file
        self.credentials = credentials
        var variables: [AbsoluteConfigKey: ConfigValue] = [:]
        for setting in Setting.allCases {
            guard let text = environment[setting.variable], !text.isEmpty,
                !setting.isList || !Self.parts(of: text).isEmpty
            else { continue }
            variables[AbsoluteConfigKey(setting.key)] = ConfigValue(
                setting.isList ? .stringArray(Self.parts(of: text)) : .string(text), isSecret: setting.isSecret)
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
                content = setting.isList ? .stringArray([path]) : .string(path)
            }
            values[AbsoluteConfigKey(setting.key)] = ConfigValue(content, isSecret: true)
        }
        return values
    }

    // MARK: Reading

    /// A setting's text; nil where it is given nowhere and has no default.
    func text(_ setting: Setting) -> String? {
        if let flag = self.flags[setting]?.first {
            self.note(setting, [flag], .flag(setting.flag ?? ""))
            return flag
        }
        if let text = self.reader.string(forKey: setting.key, isSecret: setting.isSecret), !text.isEmpty {
            self.note(setting, [text], self.place(of: setting))
            return text
        }
        let standard = setting.standard(in: self.program)
        self.note(setting, standard, .standard)
        return standard.first
    }

    /// A setting's words; none where it is given nowhere.
    func list(_ setting: Setting) -> [String] {
        if let flags = self.flags[setting], !flags.isEmpty {
            self.note(setting, flags, .flag(setting.flag ?? ""))
            return flags
        }
        if let texts = self.reader.stringArray(forKey: setting.key, isSecret: setting.isSecret), !texts.isEmpty {
            self.note(setting, texts, self.place(of: setting))
            return texts
        }
        self.note(setting, [], .standard)
        return []
    }

    /// True where a setting is on; a setting that is given nowhere and has no default is off.
    ///
    /// - Throws: ``CommandFailure`` for a text that says neither yes nor no.
    func isOn(_ setting: Setting) throws -> Bool {
        guard let text = self.text(setting) else {
            self.note(setting, ["false"], .standard)
            return false
        }
        switch text.lowercased() {
        case "1", "true", "yes", "on": return true
        case "0", "false", "no", "off": return false
        default: throw self.failure(setting, "must be true or false, and is \(String(shown: text.utf8))")
        }
    }

    /// A setting's number, or nil where it is given nowhere and has no default.
    ///
    /// - Throws: ``CommandFailure`` for a text that is no number, and for one outside the declared range.
    func integer(ifGiven setting: Setting) throws -> Int? {
        guard case .integer(let range) = setting.declaration(in: self.program).form else { return nil }
        return try self.number(setting, in: range)
    }

    /// A setting's number.
    ///
    /// - Throws: ``CommandFailure`` for a text that is no number, for one outside the declared range, and where there is none.
    func integer(_ setting: Setting) throws -> Int { try self.required(setting, self.integer(ifGiven: setting)) }

    /// A setting's number, which may have a fraction; throws as ``integer(_:)`` does.
    func number(_ setting: Setting) throws -> Double {
        guard case .number(let range) = setting.declaration(in: self.program).form else {
            return try self.required(setting, nil)
        }
        return try self.required(setting, self.number(setting, in: range))
    }

    /// A setting's word, in upper or lower case, as the type that lists the words.
    ///
    /// - Throws: ``CommandFailure`` where it is none of them.
    func word<Word: RawRepresentable<String>>(_ setting: Setting, as: Word.Type = Word.self) throws -> Word {
        guard case .word(let words) = setting.form else { return try self.required(setting, nil) }
        return try self.required(setting, Word(rawValue: try self.word(setting, of: words)))
    }

    private func word(_ setting: Setting, of words: [String]) throws -> String {
        let text = try self.required(setting, self.text(setting))
        let word = text.lowercased()
        guard words.contains(word) else {
            let expected = words.dropLast().joined(separator: ", ") + " or \(words.last ?? "")"
            throw self.failure(setting, "must be \(expected), and is \(String(shown: text.utf8))")
        }
        return word
    }

    /// Checks the form of every setting of the program that is given, whether the program reads it at once or later.
    ///
    /// - Throws: ``CommandFailure`` for the first one that has another form.
    func check() throws {
        for setting in Setting.all(of: self.program) where self.isGiven(setting) {
            switch setting.form {
            case .text, .list: break
            case .flag: _ = try self.isOn(setting)
            case .integer: _ = try self.integer(setting)
            case .number: _ = try self.number(setting)
            case .word(let words): _ = try self.word(setting, of: words)
            }
        }
    }

    private func number<T: LosslessStringConvertible & Comparable>(
        _ setting: Setting, in range: ClosedRange<T>
    ) throws -> T? {
        guard let text = self.text(setting) else { return nil }
        guard let number = T(text) else {
            throw self.failure(setting, "must be a number, and is \(String(shown: text.utf8))")
        }
        guard range.contains(number) else {
            throw self.failure(setting, "must be from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    private func required<Value>(_ setting: Setting, _ value: Value?) throws -> Value {
        guard let value else { throw self.failure(setting, "is not given") }
        return value
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

    /// True where a flag, a variable, a credential or the file gives the setting.
    func isGiven(_ setting: Setting) -> Bool {
        if setting.isList { _ = self.list(setting) } else { _ = self.text(setting) }
        return self.effective(setting)?.source != .standard
    }

    // MARK: What was read

    func effective(_ setting: Setting) -> EffectiveSetting? { self.read.withLock { $0[setting] } }

    /// All settings of the program, in their order. One that was not asked for has its default.
    var effective: [EffectiveSetting] {
        let read = self.read.withLock { $0 }
        return Setting.all(of: self.program).map {
            read[$0] ?? EffectiveSetting(setting: $0, values: $0.standard(in: self.program), source: .standard)
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
