import Foundation
import PinWire

/// The documents that `pinledger document verify` has verified on this machine: a file that only its owner can read and
/// write.
///
/// For each app it holds the highest version for each signing key. An entry counts where its key is among those used to
/// verify a document, so that two ledgers with an app of the same name do not interfere, and a new signing key does not
/// make it forget. If the process dies while it writes, the file is refused the next time.
struct VerifiedDocuments {
    struct Entry: Hashable {
        var app: String
        var keyID: String
        var version: Int64
        /// Hexadecimal; for an evaluated document, the digest of its source.
        var contentDigest: String
    }

    /// The default file; nil where there is no home directory.
    static var defaultPath: String? {
        if let state = Environment["XDG_STATE_HOME"] { return "\(state)/pinledger/verified.json" }
        return Environment["HOME"].map { "\($0)/.local/state/pinledger/verified.json" }
    }

    private let path: String
    private let file: FileHandle
    private(set) var entries: [Entry] = []

    private static let byteLimit = 1 << 20

    /// Opens the file, or creates it, and locks other processes out of it until this one ends.
    init(path: String) async throws {
        self.path = path
        let directory = (path as NSString).deletingLastPathComponent
        if !directory.isEmpty {
            try? FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw Self.failure(path, "cannot be opened: \(String(cString: strerror(errno)))") }
        self.file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        guard let attributes, attributes[.type] as? FileAttributeType == .typeRegular,
            (attributes[.ownerAccountID] as? NSNumber)?.uint32Value == geteuid(),
            let mode = (attributes[.posixPermissions] as? NSNumber)?.uint32Value, mode & 0o077 == 0
        else { throw Self.failure(path, "is not a file that this account alone may use (mode 0600)") }
        for attempt in 0... {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { break }
            guard attempt < 100 else { throw Self.failure(path, "is in use by another process") }
            try await Task.sleep(for: .milliseconds(50))
        }
        let data = try self.file.read(upToCount: Self.byteLimit + 1) ?? Data()
        guard data.count <= Self.byteLimit else { throw Self.failure(path, "is too large") }
        if !data.isEmpty { self.entries = try Self.read(data, path) }
    }

    private static func read(_ data: Data, _ path: String) throws -> [Entry] {
        guard let json = try? JSON(parsing: data), let documents = json["documents"]?.arrayValue else {
            throw Self.failure(path, "is not what this command writes")
        }
        return try documents.map { each in
            guard let app = each["app"]?.stringValue, let keyID = each["kid"]?.stringValue,
                let version = each["version"]?.integerValue, let digest = each["content_sha256"]?.stringValue
            else { throw Self.failure(path, "is not what this command writes") }
            return Entry(app: app, keyID: keyID, version: version, contentDigest: digest)
        }
    }

    private static func failure(_ path: String, _ reason: String) -> CommandFailure {
        CommandFailure(
            "cannot tell what was verified before: \(path) \(reason)",
            advice: "Repair the file, name another one with --state, or give --no-state."
        )
    }

    /// The entry with the highest version of an app that one of `keys` signed.
    func newest(_ app: AppID, trusting keys: Set<String>) -> Entry? {
        self.entries.filter { $0.app == app.text && keys.contains($0.keyID) }.max { $0.version < $1.version }
    }

    /// Remembers a document in place of the earlier one of its app and key.
    mutating func remember(_ entry: Entry) throws {
        self.entries.removeAll { $0.app == entry.app && $0.keyID == entry.keyID }
        self.entries.append(entry)
        let documents = self.entries.map { each -> JSON in
            [
                "app": .string(each.app), "content_sha256": .string(each.contentDigest), "kid": .string(each.keyID),
                "version": .integer(each.version),
            ]
        }
        let data = Data(JSON.members(["documents": .array(documents)]).canonicalBytes)
        guard data.count <= Self.byteLimit else { throw Self.failure(self.path, "would become too large") }
        do {
            try self.file.seek(toOffset: 0)
            try self.file.write(contentsOf: data)
            try self.file.truncate(atOffset: UInt64(data.count))
            try self.file.synchronize()
        } catch {
            throw Self.failure(self.path, "cannot be written")
        }
    }
}
