import CSodium
import Foundation

/// A file that holds a secret, a key or a token: only its owner may read it and, where that is root, its group.
///
/// Orchestrators provide secrets as files of root that the program's group may read; PostgreSQL applies the same rule
/// to the files of its keys.
package enum PrivateFile {
    /// Why a file is refused.
    package enum Failure: Error, Hashable, Sendable {
        /// It is not there, or cannot be opened or read.
        case unreadable(reason: String)
        /// It is a directory or a device.
        case notAFile
        /// Others may access it, or its group may and must not.
        case open(mode: UInt16)
        /// It belongs to a user who is neither this process's nor root.
        case foreign(owner: UInt32)
        /// It is larger than its limit.
        case tooLarge(limit: Int)
        /// It cannot be written.
        case unwritable(reason: String)
    }

    /// The default limit on a file's bytes.
    package static let limit = 1 << 20

    /// The bytes of a file. Owner and mode are checked on the open file, so that no other file can replace it in
    /// between. A symbolic link is followed. A pipe is taken as it is.
    ///
    /// - Throws: ``Failure``, but never ``Failure/unwritable(reason:)``.
    package static func read(_ path: String, atMost limit: Int = limit) throws(Failure) -> [UInt8] {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw .unreadable(reason: Self.reason()) }
        defer { close(file) }
        var facts = stat()
        guard unsafe fstat(file, &facts) == 0 else { throw .unreadable(reason: Self.reason()) }
        switch facts.st_mode & S_IFMT {
        case S_IFREG:
            let others: mode_t = facts.st_uid == 0 ? 0o037 : 0o077
            guard facts.st_mode & others == 0 else { throw .open(mode: UInt16(facts.st_mode & 0o777)) }
            guard facts.st_uid == geteuid() || facts.st_uid == 0 else { throw .foreign(owner: facts.st_uid) }
        case S_IFIFO: break
        default: throw .notAFile
        }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4096)
        defer { unsafe part.withUnsafeMutableBytes { part in unsafe sodium_memzero(part.baseAddress, part.count) } }
        while true {
            let count = unsafe part.withUnsafeMutableBytes { part in
                unsafe Foundation.read(file, part.baseAddress, part.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .unreadable(reason: Self.reason()) }
            guard count > 0 else { return bytes }
            bytes += part[..<count]
            guard bytes.count <= limit else { throw .tooLarge(limit: limit) }
        }
    }

    /// Whether something is at a path. What cannot be looked at counts as being there: reading it says why.
    package static func exists(_ path: String) -> Bool {
        unsafe access(path, F_OK) == 0 || errno != ENOENT
    }

    /// Puts a file in place, whole or not at all, that only this user can read at any moment.
    ///
    /// If the process dies before the end, the old file is there, and perhaps one with `.new` appended to its name,
    /// which the next call removes.
    ///
    /// - Throws: ``Failure/unwritable(reason:)``.
    package static func write(_ bytes: [UInt8], to path: String) throws(Failure) {
        try Self.place(path) { Self.write(bytes, to: $0) }
    }

    /// - Parameter fill: Writes the file's bytes; false where it fails.
    private static func place(_ path: String, _ fill: (CInt) -> Bool) throws(Failure) {
        let temporary = "\(path).new"
        unsafe unlink(temporary)
        let file = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw .unwritable(reason: Self.reason()) }
        let isWhole = fill(file) && fsync(file) == 0
        var reason = isWhole ? "" : Self.reason()
        close(file)
        if isWhole {
            if unsafe Foundation.rename(temporary, path) == 0 { return }
            reason = Self.reason()
        }
        unsafe unlink(temporary)
        throw .unwritable(reason: reason)
    }

    /// Adds bytes at the end of a file of this user, and brings them to the disk. Where that fails, as on a full disk, those that were
    /// written are taken back.
    ///
    /// If the process dies meanwhile, some of the bytes may be there.
    ///
    /// - Throws: ``Failure/unwritable(reason:)``.
    package static func append(_ bytes: [UInt8], to path: String) throws(Failure) {
        let file = unsafe open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else { throw .unwritable(reason: Self.reason()) }
        defer { close(file) }
        let end = lseek(file, 0, SEEK_END)
        guard Self.write(bytes, to: file), fsync(file) == 0 else {
            let failure = Failure.unwritable(reason: Self.reason())
            // A part of a line would spoil what is added later.
            if end >= 0 { _ = ftruncate(file, end) }
            throw failure
        }
    }

    /// The number of bytes of a file; nil where it is not there.
    package static func size(of path: String) -> Int? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? Int(status.st_size) : nil
    }

    /// Gives a file a second name, under which it stays when ``write(_:to:)`` replaces it. What has that name already stays.
    ///
    /// - Throws: ``Failure/unwritable(reason:)``.
    package static func link(_ path: String, as name: String) throws(Failure) {
        guard unsafe Foundation.link(path, name) == 0 || errno == EEXIST else {
            throw .unwritable(reason: Self.reason())
        }
    }

    /// Copies a file to another name, whole or not at all. What has that name already stays.
    ///
    /// - Throws: ``Failure/unwritable(reason:)``.
    package static func copy(_ path: String, as name: String) throws(Failure) {
        guard !Self.exists(name) else { return }
        let source = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { throw .unwritable(reason: Self.reason()) }
        defer { close(source) }
        try Self.place(name) { Self.copy(source, to: $0) }
    }

    private static func copy(_ source: CInt, to file: CInt) -> Bool {
        var part = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = unsafe part.withUnsafeMutableBytes { part in
                unsafe Foundation.read(source, part.baseAddress, part.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count == 0 }
            guard Self.write(Array(part[..<count]), to: file) else { return false }
        }
    }

    private static func write(_ bytes: [UInt8], to file: CInt) -> Bool {
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { bytes in
                unsafe Foundation.write(file, bytes.baseAddress.map { unsafe $0 + written }, bytes.count - written)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            written += count
        }
        return true
    }

    private static func reason() -> String {
        if errno == ENOENT { return "no such file or directory" }
        return unsafe String(cString: strerror(errno))
    }
}

extension PrivateFile.Failure {
    /// What is wrong, as the end of a sentence that begins with the file's contents, and what to do.
    ///
    /// - Parameters:
    ///   - what: The contents of the file, such as "the key-encryption key".
    ///   - path: Its path.
    package func text(_ what: String, _ path: String) -> (message: String, advice: String?) {
        switch self {
        case .unreadable(let reason): ("\(what) cannot be read from \(path): \(reason)", nil)
        case .notAFile: ("\(what) cannot be read from \(path): it is not a file", nil)
        case .open: ("\(what) in \(path) can be read by others", "chmod 600 \(path)")
        case .foreign(let owner):
            (
                "\(what) in \(path) belongs to another user (id \(owner))",
                "Give the file to the user that runs pinledger: chown \"$(id -u)\" \(path)"
            )
        case .tooLarge(let limit): ("\(path) is too large for \(what): more than \(limit) bytes", nil)
        case .unwritable(let reason): ("\(what) cannot be written to \(path): \(reason)", nil)
        }
    }
}
