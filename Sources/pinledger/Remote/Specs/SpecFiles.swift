import Foundation
import PinWire

/// The specs of apps, and of what they share, in files: the declared state of `pinledger plan` and `pinledger apply`.
struct SpecFiles {
    /// One app's spec, in the form of the API.
    struct Spec {
        var app: String
        var members: [String: JSON]
    }

    /// In order of their ids.
    let specs: [Spec]
    let shared: SharedSpec

    /// - Parameter paths: Files, `-` for standard input, and directories, of which the files ending in `.yaml`, `.yml` and `.json`
    ///   are read, without those of directories in them.
    /// - Throws: ``CommandFailure``.
    init(paths: [String]) throws {
        var specs: [String: (spec: Spec, path: String)] = [:]
        var shared = SharedSpec()
        for path in try paths.flatMap(Self.files) {
            let (apps, sections) = try Self.read(path)
            if let twice = shared.add(sections) {
                throw CommandFailure(
                    "\(path) has a second section \(twice)", advice: "Keep \(twice) in one file.", status: .usage)
            }
            for spec in apps {
                if let known = specs[spec.app] {
                    throw CommandFailure(
                        "\(spec.app) is in \(known.path) and in \(path)", advice: "Keep each app in one file.",
                        status: .usage)
                }
                specs[spec.app] = (spec, path)
            }
        }
        guard !specs.isEmpty || !shared.isEmpty else {
            throw CommandFailure(
                "\(paths.joined(separator: ", ")): there are no apps, and no \(SharedSpec.sections.joined(separator: ", "))",
                status: .usage)
        }
        self.shared = shared
        self.specs = specs.values.map(\.spec).sorted { $0.app < $1.app }
    }

    private static func files(at path: String) throws -> [String] {
        var isDirectory = ObjCBool(false)
        guard path != "-", FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory),
            isDirectory.boolValue
        else { return [path] }
        let names = try FileManager.default.contentsOfDirectory(atPath: path).filter { name in
            !name.hasPrefix(".") && ["yaml", "yml", "json"].contains((name as NSString).pathExtension.lowercased())
        }
        guard !names.isEmpty else {
            throw CommandFailure(
                "\(path) has no files ending in .yaml, .yml or .json",
                advice: "`pinledger export yaml --output \(path)/` writes the present state there.", status: .usage)
        }
        return names.sorted().map { "\(path)/\($0)" }
    }

    private static func read(_ path: String) throws -> (apps: [Spec], shared: SharedSpec) {
        let directory = path == "-" ? "." : (path as NSString).deletingLastPathComponent
        let place = directory.isEmpty ? "." : directory
        let file = try YAMLFile(path: path)
        let (apps, shared) = try file.read { (m) throws(JSONDefect) in
            let shared = try SharedSpec(&m)
            var apps: [(id: String, members: [String: JSON])] = []
            // A file with a section needs no apps; an empty one is a mistake.
            let list = shared.isEmpty ? try m.required("apps") : m.optional("apps")
            for field in try list?.elements(atMost: 100_000) ?? [] {
                guard var members = field.value.objectValue else { throw field.defect("must be an app") }
                guard let id = members.removeValue(forKey: "app")?.stringValue else {
                    throw field.defect("must have a member app with the app's id")
                }
                do { _ = try AppID(id) } catch { throw field.defect("has a member app that \(error)") }
                for name in ["reason", "force"] where members[name] != nil {
                    throw field.defect("has a member \(name): give it to the command, as --\(name)")
                }
                apps.append((id, members))
            }
            return (apps, shared)
        }
        var seen: Set<String> = []
        let specs = try apps.map { app in
            guard seen.insert(app.id).inserted else {
                throw CommandFailure("\(path): \(app.id) is there twice", status: .usage)
            }
            var members = app.members
            members["hosts"] = try members["hosts"].map {
                try Self.uploaded($0, below: place, in: "\(path): \(app.id)")
            }
            return Spec(app: app.id, members: members)
        }
        return (specs, shared)
    }

    private static func isRegular(_ path: String) -> Bool {
        let kind = try? FileManager.default.attributesOfItem(
            atPath: URL(fileURLWithPath: path).resolvingSymlinksInPath().path)[.type]
        return kind as? FileAttributeType == .typeRegular
    }

    /// The same value with the keys of the files that its pins name.
    private static func uploaded(_ value: JSON, below directory: String, in place: String) throws -> JSON {
        switch value {
        case .array(let elements):
            return .array(try elements.map { try Self.uploaded($0, below: directory, in: place) })
        case .object(var members):
            if let file = members["file"] {
                guard let name = file.stringValue else {
                    throw CommandFailure("\(place): file must be the path of a file with a key", status: .usage)
                }
                let path = name.hasPrefix("/") ? name : "\(directory)/\(name)"
                guard !name.utf8.contains(0), FileManager.default.fileExists(atPath: path) else {
                    throw CommandFailure("\(place): the file \(path) does not exist", status: .usage)
                }
                // A pipe would be waited for.
                guard Self.isRegular(path) else {
                    throw CommandFailure("\(place): \(path) is no regular file", status: .usage)
                }
                members["file"] = nil
                let key: KeyInput
                do { key = try KeyInput(path) } catch let failure as CommandFailure {
                    throw CommandFailure("\(place): \(failure.message)", advice: failure.advice, status: .usage)
                }
                members.merge(key.members) { given, _ in given }
                return .object(members)
            }
            return .object(try members.mapValues { try Self.uploaded($0, below: directory, in: place) })
        case .null, .bool, .integer, .number, .string: return value
        }
    }
}
