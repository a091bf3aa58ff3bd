extension SecureBytes {
    /// Copies a secret between two ranges of ordinary bytes.
    convenience init(_ head: [UInt8], _ secret: SecureBytes, _ tail: [UInt8] = []) {
        unsafe self.init(count: head.count + secret.count + tail.count) { pointer in
            unsafe pointer.initialize(from: head, count: head.count)
            unsafe secret.withPointer { secretStart in
                unsafe (pointer + head.count).initialize(from: secretStart, count: secret.count)
            }
            unsafe (pointer + head.count + secret.count).initialize(from: tail, count: tail.count)
        }
    }

    /// A copy of a range, which MUST lie within the bytes.
    func part(_ range: Range<Int>) -> SecureBytes {
        precondition(range.lowerBound >= 0 && range.upperBound <= self.count, "a part lies within the whole")
        return unsafe SecureBytes(count: range.count) { pointer in
            unsafe self.withPointer { start in
                unsafe pointer.initialize(from: start + range.lowerBound, count: range.count)
            }
        }
    }

    /// Calls `body` with the bytes in a form that checks its bounds.
    func withSpan<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe self.withPointer { start throws(Failure) in
            let buffer = unsafe UnsafeBufferPointer(start: start, count: self.count)
            return try body(unsafe buffer.span)
        }
    }
}
