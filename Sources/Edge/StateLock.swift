import Glibc

/// A lock on an edge's state directory, held until the process ends: two edges on one would each undo what the other has kept.
package final class StateLock: Sendable {
    /// Why the lock is not held, as a sentence, and what to do about it.
    package struct Unavailable: Error, CustomStringConvertible {
        package let description: String
        package let advice: String?
    }

    private let file: CInt

    /// Takes the lock with flock(2): the system gives it back when the process ends, however that happens.
    package init(directory: String) throws(Unavailable) {
        let path = "\(directory)/lock"
        self.file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard self.file >= 0 else {
            let reason = String(cString: strerror(errno))
            throw Unavailable(description: "\(path) cannot be opened: \(reason)", advice: nil)
        }
        guard flock(self.file, LOCK_EX | LOCK_NB) == 0 else {
            close(self.file)
            throw Unavailable(
                description: "another edge uses the state directory \(directory)",
                advice: "Give each edge a directory of its own.")
        }
    }

    deinit { close(self.file) }
}
