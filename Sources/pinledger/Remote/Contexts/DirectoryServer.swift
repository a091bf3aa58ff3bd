import Foundation
import Keys
import Synchronization

/// The server that a data directory names: what `pinledger dev` wrote into it.
///
/// Commands find the directory below the one that they run in, which may be anyone's, such as an unpacked archive. So it gives no other
/// token away, and commands say that it named their server.
struct DirectoryServer {
    let context: ServerContext
    /// The absolute path of the directory.
    let directory: String

    /// A command that asks for its server twice names the directory once.
    private static let wasNamed = Mutex(false)

    /// Reads the directory's context file; nil where there is none, and where it names another machine without a token for it.
    ///
    /// - Throws: ``CommandFailure`` where others may read the token, or may have written the file.
    init?(directory: String) throws {
        self.directory = URL(fileURLWithPath: directory).standardizedFileURL.path
        guard let context = try ServerContext(path: "\(directory)/context.json"),
            context.token != nil || context.isLoopback
        else { return nil }
        self.context = context
    }

    /// The directory's own token.
    var stored: StoredToken {
        StoredToken(
            name: "the token in \(self.directory)/context.json", end: self.context.tokenEnd,
            renewal: "Start `pinledger dev` again, which makes another one, or name another with --token-file.")
    }

    /// Refuses to send a token to another machine that only this directory names, unless it is the directory's own.
    ///
    /// - Parameter token: The token that a flag or a variable gives; nil where none does.
    func check(_ token: String?) throws(CommandFailure) {
        guard let token, token != self.context.token, !self.context.isLoopback else { return }
        throw CommandFailure(
            "\(self.directory) names the server \(self.context.server), and the token is not the one beside it: nothing was sent",
            advice:
                "If the token is for that server, name it with --server or PINLEDGER_SERVER. If the directory is not yours, run the command in another one.",
            status: .unauthorized)
    }

    /// Says which directory named the server, where no flag and no variable named the directory.
    func announce() {
        guard Environment["PINLEDGER_DATA"] == nil else { return }
        let isFirst = Self.wasNamed.withLock { wasNamed in
            defer { wasNamed = true }
            return !wasNamed
        }
        if isFirst { Console.error("pinledger: \(self.directory) names the server \(self.context.server)") }
    }
}
