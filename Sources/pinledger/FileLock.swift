import Foundation

/// A lock that keeps other processes from a file while this one reads and changes it; by flock(2), so that the system gives it back
/// when the process ends, however that happens.
final class FileLock {
    private let file: CInt

    /// Takes the lock, which has a file of its own.
    ///
    /// - Throws: ``CommandFailure`` where the file cannot be opened, or another process has the lock for half a minute.
    init(_ path: String) async throws {
        self.file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard self.file >= 0 else {
            throw CommandFailure("\(path) cannot be opened: \(String(cString: strerror(errno)))", status: .usage)
        }
        for _ in 0..<600 {
            if flock(self.file, LOCK_EX | LOCK_NB) == 0 { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw CommandFailure("another process holds \(path)", advice: "Try again when it has ended.")
    }

    deinit { if self.file >= 0 { close(self.file) } }
}
