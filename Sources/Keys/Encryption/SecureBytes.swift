import CSodium

/// Secret bytes in memory that is never swapped out or dumped, that has guard pages around it, and that is overwritten
/// before it is given back.
///
/// A class, so that there is one copy however many values refer to it. Once filled, the pages are read-only: a stray
/// write ends the process instead of changing a key. Each value takes a few pages, so hold keys in it, not messages.
/// Where RLIMIT_MEMLOCK is used up the memory is still guarded and wiped, but may be swapped.
@safe package final class SecureBytes: Sendable {
    /// The number of bytes.
    package let count: Int

    // @safe class and nonisolated(unsafe), invariant: the pointer and the `count` bytes behind it are written only in
    // `init`, before any other thread can see them, are read-only pages afterwards, and are freed only in `deinit`.
    private nonisolated(unsafe) let pointer: UnsafeMutablePointer<UInt8>

    /// Takes `count` bytes and lets `fill`, which gets the address of the first, write all of them.
    ///
    /// Running out of memory ends the process, as with every other allocation in Swift.
    package init<Failure: Error>(
        count: Int,
        fill: (UnsafeMutablePointer<UInt8>) throws(Failure) -> Void
    ) throws(Failure) {
        Sodium.start()
        guard let memory = unsafe sodium_malloc(count) else { preconditionFailure("no memory for a secret") }
        unsafe self.pointer = memory.bindMemory(to: UInt8.self, capacity: count)
        self.count = count
        try unsafe fill(self.pointer)
        let isProtected = unsafe sodium_mprotect_readonly(memory) == 0
        precondition(isProtected, "a secret's memory could not be protected")
    }

    /// Copies `bytes`; the caller should overwrite the original with ``wipe(_:)`` where it can.
    package convenience init(copying bytes: some Collection<UInt8>) {
        let count = bytes.count
        unsafe self.init(count: count) { pointer in
            _ = unsafe UnsafeMutableBufferPointer(start: pointer, count: count).initialize(fromContentsOf: bytes)
        }
    }

    /// `count` unpredictable bytes.
    package static func random(count: Int) -> SecureBytes {
        unsafe SecureBytes(count: count) { pointer in
            unsafe randombytes_buf(pointer, count)
        }
    }

    deinit {
        // Overwrites with zeros first, and ends the process if the canary before the bytes was overwritten.
        unsafe sodium_free(self.pointer)
    }

    /// Calls `body` with the bytes, which MUST NOT leave it.
    package func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(UnsafeRawBufferPointer(start: self.pointer, count: self.count))
    }

    /// Calls `body` with the address of the first byte, as C wants it.
    func withPointer<Result, Failure: Error>(
        _ body: (UnsafePointer<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(self.pointer)
    }

    /// Whether both hold the same bytes, compared in constant time.
    package func isEqual(to other: SecureBytes) -> Bool {
        guard self.count == other.count else { return false }
        return unsafe sodium_memcmp(self.pointer, other.pointer, self.count) == 0
    }

    /// Overwrites an ordinary array in a way that the compiler may not remove. Earlier copies of it stay.
    package static func wipe(_ bytes: inout [UInt8]) {
        unsafe sodium_memzero(&bytes, bytes.count)
    }
}

extension SecureBytes: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Never the bytes.
    package var description: String { "SecureBytes(\(self.count) bytes)" }

    /// Never the bytes.
    package var debugDescription: String { self.description }

    /// Shows nothing to `dump`.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
