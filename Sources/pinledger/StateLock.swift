import Foundation

/// A lock on a node's state directory, held until the process ends: two nodes on one would each undo what the other has kept.
final class StateLock: Sendable {
    /// The name of its file in the directory.
    static let name = "lock"

    private let file: CInt

    /// Makes the directory where it is missing, and takes the lock with flock(2): the system gives it back when the process ends,
    /// however that happens.
    ///
    /// - Throws: ``CommandFailure``.
    init(directory: String) throws {
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandFailure(
                "the state directory \(directory) cannot be made: \(ErrorText.sentence(for: error))",
                advice: "Check --state-directory.")
        }
        let path = "\(directory)/\(Self.name)"
        self.file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard self.file >= 0 else {
            let reason = String(cString: strerror(errno))
            throw CommandFailure("\(path) cannot be opened: \(reason)")
        }
        guard flock(self.file, LOCK_EX | LOCK_NB) == 0 else {
            close(self.file)
            throw CommandFailure(
                "another process uses the state directory \(directory)",
                advice: "Give each node a directory of its own.")
        }
    }

    deinit { close(self.file) }
}
