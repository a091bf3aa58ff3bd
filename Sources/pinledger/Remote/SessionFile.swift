import Foundation
import Keys
import PinWire

/// The sessions of a user of this machine, by server: what `pinledger login` stores, and other commands use.
struct SessionFile {
    struct Session: Hashable {
        var server: String
        var token: String
        var tokenID: String
        /// As the server wrote it.
        var expiresAt: String
    }

    /// The one that was begun last comes first.
    private(set) var sessions: [Session]
    private let path: String

    /// Sessions that are kept: more than anyone has servers.
    private static let limit = 50

    /// The file of the user, below `XDG_STATE_HOME` or else `~/.local/state`; nil for a user without a home.
    private static var ofUser: String? {
        let home = Environment["XDG_STATE_HOME"] ?? Environment["HOME"].map { "\($0)/.local/state" }
        return home.map { "\($0)/pinledger/sessions.json" }
    }

    /// - Throws: ``CommandFailure`` where others may read the file, or may have written it.
    init?() throws {
        guard let path = Self.ofUser else { return nil }
        self.path = path
        self.sessions = []
        guard PrivateFile.exists(path) else { return }
        let data: [UInt8]
        do throws(PrivateFile.Failure) { data = try PrivateFile.read(path) } catch {
            throw CommandFailure(error, "the session", path)
        }
        let json = try? JSON(parsing: data)
        self.sessions = (json?["sessions"]?.arrayValue ?? []).compactMap { session in
            guard let server = session["server"]?.stringValue, let token = session["token"]?.stringValue,
                let id = session["token_id"]?.stringValue, let end = session["expires_at"]?.stringValue
            else { return nil }
            return Session(server: server, token: token, tokenID: id, expiresAt: end)
        }
    }

    /// Changes the file while no other process does; nil for a user without a home.
    static func change(_ body: (inout SessionFile) throws -> Void) async throws -> Void? {
        guard let path = Self.ofUser else { return nil }
        let directory = (path as NSString).deletingLastPathComponent
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch { throw CommandFailure("the directory \(directory) cannot be made: \(error.localizedDescription)") }
        let lock = try await FileLock("\(path).lock")
        guard var file = try SessionFile() else { return nil }
        return try withExtendedLifetime(lock) { try body(&file) }
    }

    /// The session with a server.
    subscript(server: String) -> Session? { self.sessions.first { $0.server == server } }

    /// The token of a session with a server that has not ended by this machine's clock.
    func token(of server: String) -> String? {
        guard let session = self[server], let end = Timestamp(rfc3339: session.expiresAt), Node.clock() < end else {
            return nil
        }
        return session.token
    }

    /// The session with a server as a stored token, over or not; nil where there is none.
    func stored(for server: String) -> StoredToken? {
        self[server].map { session in
            StoredToken(
                name: "the session of `pinledger login` with \(session.server)",
                end: Timestamp(rfc3339: session.expiresAt), renewal: "Sign in again: `pinledger login`.")
        }
    }

    /// Keeps a session instead of one with the same server.
    mutating func begin(_ session: Session) throws {
        self.sessions.removeAll { $0.server == session.server }
        self.sessions.insert(session, at: 0)
        self.sessions = Array(self.sessions.prefix(Self.limit))
        try self.write()
    }

    mutating func end(_ session: Session) throws {
        self.sessions.removeAll { $0 == session }
        try self.write()
    }

    private func write() throws {
        let json: JSON = [
            "sessions": .array(
                self.sessions.map {
                    [
                        "server": .string($0.server), "token": .string($0.token), "token_id": .string($0.tokenID),
                        "expires_at": .string($0.expiresAt),
                    ]
                })
        ]
        do throws(PrivateFile.Failure) {
            try PrivateFile.write(Array("\(json.canonicalText)\n".utf8), to: self.path)
        } catch {
            throw CommandFailure(error, "the session", self.path)
        }
    }
}
