#if canImport(Darwin)
    internal import Darwin
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Glibc
#endif

/// A store in a file, which is replaced in one step: at every moment the file is the one from before or the new one.
///
/// Nothing guards the file besides the signatures in it, which are verified whenever it is read. Give each process a file of its
/// own: of two on one file, the last one that writes wins, and may write an older document than the other one has. A symbolic link is
/// replaced by the file.
public struct FileStore: ClientStore {
    /// Why the file cannot be read or written.
    public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String
    }

    public let path: String

    /// - Parameter path: The file, in a directory that exists and that this process may write to.
    public init(path: String) { self.path = path }

    /// - Throws: ``Failure``. A file that does not exist is no failure, and one that is too long is nothing.
    public func read() async throws -> [UInt8]? {
        try await onThread { try self.readNow() }
    }

    /// - Throws: ``Failure``; the file is then what it was.
    public func write(_ bytes: [UInt8]) async throws {
        try await onThread { try self.writeNow(bytes) }
    }

    private func readNow() throws(Failure) -> [UInt8]? {
        let file = unsafe open(self.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else {
            guard errno == ENOENT else { throw self.failure("opened") }
            return nil
        }
        defer { close(file) }
        // A pipe would be waited for.
        guard lseek(file, 0, SEEK_CUR) >= 0 else { throw Failure(description: "\(self.path) is no regular file") }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe part.withUnsafeMutableBytes { unsafe systemRead(file, $0.baseAddress, $0.count) }
            guard count >= 0 else {
                if errno == EINTR { continue }
                throw self.failure("read")
            }
            guard count > 0 else { return bytes }
            bytes += part[..<count]
            // No document has as many: it is another file.
            guard bytes.count <= StoredState.byteLimit else { return nil }
        }
    }

    private func writeNow(_ bytes: [UInt8]) throws(Failure) {
        self.removeLeftDrafts()
        let draft = "\(self.path).\(getpid()).\(UInt32.random(in: .min ... .max)).new"
        let file = unsafe open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw self.failure("written") }
        do throws(Failure) {
            defer { close(file) }
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = unsafe rest.withUnsafeBytes { unsafe systemWrite(file, $0.baseAddress, $0.count) }
                guard count >= 0 else {
                    if errno == EINTR { continue }
                    throw self.failure("written")
                }
                rest = rest.dropFirst(count)
            }
            guard Self.synchronize(file) else { throw self.failure("written") }
        } catch {
            unsafe unlink(draft)
            throw error
        }
        guard unsafe rename(draft, self.path) == 0 else {
            let failure = self.failure("replaced")
            unsafe unlink(draft)
            throw failure
        }
        // The name too has to outlast a loss of power. Where the directory cannot be opened, the system does that in its own time.
        let directory = unsafe open(self.directory, O_RDONLY | O_CLOEXEC)
        guard directory >= 0 else { return }
        fsync(directory)
        close(directory)
    }

    /// Has the system write a file's bytes before the name that is given to it afterwards.
    private static func synchronize(_ file: CInt) -> Bool {
        #if canImport(Darwin)
            // There, fsync leaves the order to the drive.
            if unsafe fcntl(file, F_BARRIERFSYNC) == 0 { return true }
        #endif
        return fsync(file) == 0
    }

    /// Removes the drafts of processes that died in the middle of a write.
    private func removeLeftDrafts() {
        guard let stream = unsafe opendir(self.directory) else { return }
        defer { unsafe closedir(stream) }
        let beginning = "\(self.path.split(separator: "/").last ?? "")."
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            let parts = name.dropFirst(beginning.count).split(separator: ".", omittingEmptySubsequences: false)
            guard name.hasPrefix(beginning), parts.count == 3, parts[2] == "new", let process = Int32(parts[0]),
                process > 0,
                UInt32(parts[1]) != nil, kill(process, 0) != 0, errno == ESRCH
            else { continue }
            unsafe unlink("\(self.directory)/\(name)")
        }
    }

    private var directory: String {
        guard let slash = self.path.lastIndex(of: "/") else { return "." }
        return slash == self.path.startIndex ? "/" : String(self.path[..<slash])
    }

    private func failure(_ deed: String) -> Failure {
        Failure(description: unsafe "\(self.path) cannot be \(deed): \(String(cString: strerror(errno)))")
    }
}

// The methods of the store have the names of these functions.
private let systemRead = unsafe read as @Sendable (CInt, UnsafeMutableRawPointer?, Int) -> Int
private let systemWrite = unsafe write as @Sendable (CInt, UnsafeRawPointer?, Int) -> Int
