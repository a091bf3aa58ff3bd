internal import Glibc
internal import Synchronization

/// Bytes of an upload on their way to the thread that reads them, of which this is the only copy in the process: so that
/// nothing of them is left once they are refused.
package final class SensitiveUpload: Sendable {
    private let bytes: Mutex<[UInt8]>

    /// - Parameter bytes: The caller MUST have no other reference to them.
    package init(_ bytes: consuming sending [UInt8]) {
        self.bytes = Mutex(bytes)
    }

    /// The first ``Upload/maximumSize`` bytes of a file, and one more if there are more; nil where it cannot be read.
    /// Blocks.
    package init?(file path: String) {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var isWhole = true
        // Into its place at once: nothing that grows and leaves copies behind.
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Upload.maximumSize + 1) { buffer, count in
            while count < buffer.count {
                let more = unsafe Glibc.read(file, buffer.baseAddress.map { unsafe $0 + count }, buffer.count - count)
                if more < 0, errno == EINTR { continue }
                isWhole = more >= 0
                guard more > 0 else { return }
                count += more
            }
        }
        guard isWhole else { return nil }
        self.bytes = Mutex(bytes)
    }

    /// Reads them as an upload; what is refused is overwritten.
    package func read(password: String? = nil) throws(UploadError) -> Upload {
        try self.bytes.withLock { (bytes) throws(UploadError) in try Upload.read(&bytes, password: password) }
    }

    /// What is left of them: all of what was read, and zeros for what was refused.
    package var contents: [UInt8] { self.bytes.withLock { $0 } }
}
