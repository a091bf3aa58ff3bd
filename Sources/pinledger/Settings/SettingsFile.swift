import Configuration
import Foundation
import PinWire
import Yams

/// A configuration file: a YAML mapping of settings' names to their values.
struct SettingsFile: Sendable {
    let path: String
    /// The file as it was read.
    let bytes: [UInt8]
    private(set) var values: [Setting: [String]] = [:]
    /// Where each setting stands, counted from 1.
    private(set) var lines: [Setting: Int] = [:]

    /// The most bytes that are read.
    static let limit = 256 * 1024

    /// Reads a file; blocks.
    ///
    /// - Throws: ``CommandFailure`` with every defect of the file, each with its line.
    ///
    /// - Parameter program: Whose settings it may have.
    init(path: String, of program: Setting.Program = .server) throws {
        try self.init(bytes: Self.bytes(of: path), path: path, of: program)
    }

    /// The bytes of a file, and no more than ``limit`` and one; blocks.
    static func bytes(of path: String) throws -> [UInt8] {
        do {
            let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            return Array(try file.read(upToCount: Self.limit + 1) ?? Data())
        } catch {
            throw CommandFailure(
                "the configuration cannot be read from \(path): \(GivenFile.reason(path))", status: .usage)
        }
    }

    init(bytes: [UInt8], path: String, of program: Setting.Program = .server) throws {
        guard bytes.count <= Self.limit, let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure(
                "\(path) is not a configuration file: it must be UTF-8 text of at most \(Self.limit / 1024) KiB",
                status: .usage)
        }
        self.bytes = bytes
        self.path = path
        try Self.refuseAliases(in: text, path: path)
        let root: Yams.Node?
        do { root = try Yams.compose(yaml: text) } catch {
            throw CommandFailure("\(path) is not YAML: \(Self.complaint(error))", status: .usage)
        }
        guard let root, !Self.isNull(root) else { return }
        guard case .mapping(let mapping) = root else {
            throw CommandFailure(
                "\(path) must be a mapping of settings",
                advice: "Write a setting in each line, such as `listen: 0.0.0.0:8440`.",
                status: .usage)
        }
        var defects: [String] = []
        for (name, value) in mapping {
            do throws(Defect) { try self.take(name, value, program) } catch {
                defects.append("\(path), line \(name.mark?.line ?? 0): \(error.description)")
            }
        }
        guard defects.isEmpty else {
            throw CommandFailure(
                defects.joined(separator: "\n  "),
                advice: "`pinledger handbook configuration` lists the settings.", status: .usage)
        }
    }

    /// Refuses anchors and aliases: by them, a file of a few lines is one that takes forever to read. What only looks like one, in
    /// quotes or behind a value, is refused too.
    private static func refuseAliases(in text: String, path: String) throws {
        for (number, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let isComment = line.first { !$0.isWhitespace } == "#"
            guard !isComment, line.contains(/(?:^|[\s\[\]{},:?-])[&*][^\s]/) else { continue }
            throw CommandFailure(
                "\(path), line \(number + 1): anchors and aliases (& and *) are not read",
                advice: "Write the value out. A secret with such a character goes into a credential or a variable.",
                status: .usage)
        }
    }

    private struct Defect: Error, CustomStringConvertible {
        var description: String
    }

    private mutating func take(
        _ name: Yams.Node, _ value: Yams.Node, _ program: Setting.Program
    ) throws(Defect) {
        guard case .scalar(let scalar) = name else { throw Defect(description: "a setting's name must be a word") }
        guard let setting = Setting(rawValue: scalar.string), setting.isOf(program) else {
            let nearest = NearestWord.of(scalar.string, in: Setting.all(of: program).map(\.rawValue))
            let hint = nearest.map { ": do you mean \($0)?" } ?? ""
            throw Defect(description: "there is no setting \(String(shown: scalar.string.utf8))\(hint)")
        }
        guard self.lines[setting] == nil else { throw Defect(description: "\(setting.rawValue) stands here twice") }
        self.lines[setting] = name.mark?.line ?? 0
        // A key without a value gives nothing, as an empty variable does.
        guard !Self.isNull(value) else { return }
        switch (setting.form, value) {
        case (.list, .sequence(let sequence)):
            var values: [String] = []
            for node in sequence {
                guard case .scalar(let scalar) = node, !Self.isNull(node) else {
                    throw Defect(description: "\(setting.rawValue) must be a list of words")
                }
                values.append(scalar.string)
            }
            self.values[setting] = values
        case (_, .scalar(let scalar)): self.values[setting] = [scalar.string]
        case (.list, _): throw Defect(description: "\(setting.rawValue) must be a list of words")
        default: throw Defect(description: "\(setting.rawValue) must be one value")
        }
    }

    /// What the file says, for ``Settings``.
    var provider: InMemoryProvider {
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        for (setting, texts) in self.values {
            let content: ConfigContent = setting.isList ? .stringArray(texts) : .string(texts.first ?? "")
            values[AbsoluteConfigKey(setting.key)] = ConfigValue(content, isSecret: setting.isSecret)
        }
        return InMemoryProvider(name: Settings.fileProvider, values: values)
    }

    private static func isNull(_ node: Yams.Node) -> Bool { node.null != nil }

    private static func complaint(_ error: any Error) -> String {
        guard let error = error as? YamlError else { return ErrorText.sentence(for: error) }
        return switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            "\(String(shown: problem.utf8)) (line \(mark.line))"
        case .duplicatedKeysInMapping(let keys, let context):
            "\(keys.map { String(shown: $0.description.utf8) }.joined(separator: ", ")) stands there twice (line \(context.mark.line))"
        // The others describe themselves with the file's text, which may be a password.
        case .reader(_, let offset, _, _):
            "it has a character that is not allowed" + (offset.map { " (byte \($0))" } ?? "")
        default: "it cannot be read"
        }
    }
}
