import Foundation
import PinWire
import Yams

/// A file in YAML or JSON, as JSON.
struct YAMLFile {
    let path: String
    let json: JSON
    private let bytes: [UInt8]

    private static let byteLimit = 16 * 1_048_576
    /// The most values, those that aliases repeat included.
    private static let valueLimit = 1_000_000

    /// - Parameter path: `-` for standard input.
    /// - Throws: ``CommandFailure``.
    init(path: String) throws {
        let handle: FileHandle
        if path == "-" {
            handle = .standardInput
        } else {
            guard let opened = FileHandle(forReadingAtPath: path) else { throw GivenFile.unreadable(path) }
            handle = opened
        }
        var data = Data()
        do {
            while data.count <= Self.byteLimit, let more = try handle.read(upToCount: 65_536), !more.isEmpty {
                data += more
            }
        } catch { throw GivenFile.unreadable(path) }
        try self.init([UInt8](data), named: path)
    }

    /// - Parameter path: What errors call it.
    /// - Throws: ``CommandFailure``.
    init(_ data: [UInt8], named path: String) throws {
        self.path = path
        let data = data.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(data.dropFirst(3)) : data
        guard data.count <= Self.byteLimit, let text = String(streamSafe: data) else {
            throw CommandFailure("\(path) is not text of at most 16 MiB", status: .usage)
        }
        // Such a key is compared with others, whose aliases make it as long as they like.
        guard !CompositeKey.isIn(data) else {
            throw CommandFailure(
                "\(path) has a key that is no text (`? …`, or an alias)",
                advice: "Write keys out, in quotes if need be.",
                status: .usage)
        }
        let node: Yams.Node?
        do { node = try Yams.compose(yaml: text) } catch {
            throw CommandFailure("\(path) is neither YAML nor JSON: \(error)", status: .usage)
        }
        var count = 0
        guard let node, let json = Self.json(of: node, &count) else {
            throw CommandFailure("\(path) holds no values, or more than \(Self.valueLimit)", status: .usage)
        }
        self.json = json
        self.bytes = data
    }

    /// The value for a request: a file in JSON as it is, since not all of its values have a form in YAML.
    var requestBody: [UInt8] {
        (try? JSON(parsing: self.bytes, limits: .stored(depth: 64, nodes: .max))) == nil
            ? self.json.canonicalBytes : self.bytes
    }

    /// Reads the file's members; a defect is named with its place in the file.
    func read<Content>(_ read: (inout JSONMembers) throws(JSONDefect) -> Content) throws -> Content {
        do { return try JSONField(self.json).object(read) } catch {
            throw CommandFailure("\(self.path): \(error)", status: .usage)
        }
    }

    /// A value of YAML by the rules of its JSON schema (YAML 1.2.2, section 10.2): `off` and `no` are texts. Nil where there are too
    /// many values.
    private static func json(of node: Yams.Node, _ count: inout Int) -> JSON? {
        count += 1
        guard count <= Self.valueLimit else { return nil }
        switch node {
        case .scalar(let scalar):
            guard scalar.style == .plain else { return .string(scalar.string) }
            switch scalar.string {
            case "true": return true
            case "false": return false
            case "null", "~", "": return .null
            // No other spelling of a number is one: 010 and +5 are texts.
            case let text: return Int64(text).flatMap { String($0) == text ? .integer($0) : nil } ?? .string(text)
            }
        case .sequence(let sequence):
            var list: [JSON] = []
            for element in sequence {
                guard let value = Self.json(of: element, &count) else { return nil }
                list.append(value)
            }
            return .array(list)
        case .mapping(let mapping):
            var members: [String: JSON] = [:]
            for (key, element) in mapping {
                guard let name = key.string, let value = Self.json(of: element, &count) else { return nil }
                members[name] = value
            }
            return .object(members)
        case .alias: return nil
        }
    }
}
