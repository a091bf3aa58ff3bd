internal import Glibc
internal import Synchronization

/// The bytes of an upload on their way to the thread that reads them. This is the only copy in the process, so that
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
        // Read straight into its final place: an array that grows would leave copies behind.
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

    /// Reads them as an upload; refused bytes are overwritten.
    package func read(password: String? = nil) throws(UploadError) -> Upload {
        try self.bytes.withLock { (bytes) throws(UploadError) in try Upload.read(&bytes, password: password) }
    }

    /// The remaining bytes: all of those that were read, and zeros for refused ones.
    package var contents: [UInt8] { self.bytes.withLock { $0 } }
}
