/// A statement's parameters in libpq's form: one buffer, and the offset of each value in it.
struct EncodedParameters {
    let types: [UInt32]
    private let buffer: [UInt8]
    private let offsets: [Int?]
    private let lengths: [Int32]

    /// Throws `.usage` for more parameters than the protocol can count, or a longer one than it can express.
    init(_ values: [PostgresValue]) throws(PostgresError) {
        guard values.count <= 65_535 else { throw PostgresError(.usage, "\(values.count) parameters are too many") }
        var buffer: [UInt8] = []
        var offsets: [Int?] = []
        var lengths: [Int32] = []
        for value in values {
            let start = buffer.count
            value.encode(into: &buffer)
            guard let length = Int32(exactly: buffer.count - start) else {
                throw PostgresError(.usage, "a parameter of \(buffer.count - start) bytes is too long")
            }
            offsets.append(value == .null ? nil : start)
            lengths.append(length)
        }
        // To libpq a null pointer is NULL, so an empty value at the end needs an address too.
        buffer.append(0)
        self.types = values.map(\.typeOID)
        self.buffer = buffer
        self.offsets = offsets
        self.lengths = lengths
    }

    var count: Int32 { Int32(self.types.count) }

    /// Values, lengths and formats (all binary), valid inside the closure.
    func withPointers<R>(
        _ body: (UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?) -> R
    ) -> R {
        let formats = [Int32](repeating: 1, count: self.types.count)
        return unsafe self.buffer.withUnsafeBytes { buffer in
            let base = unsafe buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
            let values = unsafe self.offsets.map { offset in unsafe offset.flatMap { unsafe base?.advanced(by: $0) } }
            return unsafe body(values, self.lengths, formats)
        }
    }
}
