import Foundation
import Keys
import PinWire

/// The servers that a user of this machine works with, by names: what `pinledger context` keeps, and other commands use.
///
/// It names files with tokens and keys, and holds none.
struct ContextFile {
    /// One server, and by what it is reached.
    struct Context: Hashable {
        var name: String
        var server: String
        var tokenFile: String?
        var caFile: String?
        var clientCertificate: String?
        var clientKey: String?
        var allowsHTTP = false
    }

    private(set) var contexts: [Context]
    /// The name of the one that commands use where nothing else is said; nil for none.
    private(set) var current: String?
    private let path: String

    /// Contexts that are kept: more than anyone has servers.
    private static let limit = 100

    /// The file of the user, below `XDG_CONFIG_HOME` or else `~/.config`; nil for a user without a home.
    private static var ofUser: String? {
        let home = Environment["XDG_CONFIG_HOME"] ?? Environment["HOME"].map { "\($0)/.config" }
        return home.map { "\($0)/pinledger/contexts.yaml" }
    }

    /// Why a user has no contexts.
    static var homeless: CommandFailure {
        CommandFailure(
            "contexts are kept below your home, and neither XDG_CONFIG_HOME nor HOME is set",
            advice: "Set one of them, or name the server with --server.", status: .usage)
    }

    /// Changes the file while no other process does.
    static func change<R>(_ body: (inout ContextFile) throws -> R) async throws -> R {
        guard let path = Self.ofUser else { throw Self.homeless }
        try Self.makeDirectory(of: path)
        let lock = try await FileLock("\(path).lock")
        guard var file = try ContextFile() else { throw Self.homeless }
        return try withExtendedLifetime(lock) { try body(&file) }
    }

    private static func makeDirectory(of path: String) throws {
        let directory = (path as NSString).deletingLastPathComponent
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch { throw CommandFailure("the directory \(directory) cannot be made: \(error.localizedDescription)") }
    }

    /// - Throws: ``CommandFailure`` where others may read the file, or may have written it, or where it is malformed.
    init?() throws {
        guard let path = Self.ofUser else { return nil }
        self.path = path
        self.contexts = []
        guard PrivateFile.exists(path) else { return }
        let data: [UInt8]
        do throws(PrivateFile.Failure) { data = try PrivateFile.read(path) } catch {
            throw CommandFailure(error, "the contexts", path)
        }
        guard !data.isEmpty else { return }
        (self.current, self.contexts) = try YAMLFile(data, named: path).read { (m) throws(JSONDefect) in
            let current = try m.optional("current")?.string()
            var contexts: [Context] = []
            for field in try m.required("contexts").elements(atMost: Self.limit) {
                contexts.append(try field.object { (m) throws(JSONDefect) in try Context(&m) })
            }
            return (current, contexts)
        }
    }

    subscript(name: String) -> Context? { self.contexts.first { $0.name == name } }

    /// The context of a name.
    ///
    /// - Throws: ``CommandFailure`` where there is none.
    func context(named name: String) throws -> Context {
        guard let context = self[name] else {
            let known = self.contexts.map(\.name).joined(separator: ", ")
            throw CommandFailure(
                "there is no context \(name)",
                advice: known.isEmpty
                    ? "Add it: `pinledger context add \(name) --server URL`." : "There are: \(known).", status: .usage)
        }
        return context
    }

    /// Keeps a context instead of one of the same name. The first one is used from then on.
    mutating func add(_ context: Context) throws {
        guard self[context.name] != nil || self.contexts.count < Self.limit else {
            throw CommandFailure("there are \(Self.limit) contexts already", advice: "Remove one.")
        }
        self.contexts.removeAll { $0.name == context.name }
        self.contexts.append(context)
        self.contexts.sort { $0.name < $1.name }
        if self.current == nil { self.current = context.name }
        try self.write()
    }

    mutating func use(_ name: String) throws {
        self.current = try self.context(named: name).name
        try self.write()
    }

    mutating func remove(_ name: String) throws {
        let context = try self.context(named: name)
        self.contexts.removeAll { $0 == context }
        if self.current == name { self.current = nil }
        try self.write()
    }

    private func write() throws {
        let json = JSON.members([
            "current": self.current.map { .string($0) }, "contexts": .array(self.contexts.map(\.json)),
        ])
        let text = try YAMLText.text(of: json)
        do throws(PrivateFile.Failure) { try PrivateFile.write(Array(text.utf8), to: self.path) } catch {
            throw CommandFailure(error, "the contexts", self.path)
        }
    }
}

extension ContextFile.Context {
    var json: JSON {
        .members([
            "name": .string(self.name), "server": .string(self.server),
            "token_file": self.tokenFile.map { .string($0) }, "ca_file": self.caFile.map { .string($0) },
            "client_certificate": self.clientCertificate.map { .string($0) },
            "client_key": self.clientKey.map { .string($0) }, "allow_http": self.allowsHTTP ? true : nil,
        ])
    }

    fileprivate init(_ m: inout JSONMembers) throws(JSONDefect) {
        self.init(
            name: try m.required("name").string(), server: try m.required("server").string(),
            tokenFile: try m.optional("token_file")?.string(), caFile: try m.optional("ca_file")?.string(),
            clientCertificate: try m.optional("client_certificate")?.string(),
            clientKey: try m.optional("client_key")?.string(),
            allowsHTTP: try m.optional("allow_http")?.bool() ?? false)
    }
}
