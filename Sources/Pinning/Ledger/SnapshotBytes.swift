import PinWire

/// Why a snapshot's bytes cannot be read.
package struct SnapshotDefect: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String
}

/// Appends values to bytes, in the form that ``SnapshotReader`` reads.
struct SnapshotWriter {
    private(set) var bytes: [UInt8] = []

    mutating func add(_ flag: Bool) { self.bytes.append(flag ? 1 : 0) }

    /// A whole number: seven bits in each byte, lowest first, the high bit where more follow.
    mutating func add(_ number: Int64) {
        var rest = UInt64(bitPattern: number)
        while rest >= 0x80 {
            self.bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        self.bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    mutating func add(_ count: Int) { self.add(Int64(count)) }
    mutating func add(_ time: Timestamp) { self.add(time.microseconds) }
    mutating func add(_ pin: Pin) { self.bytes += pin.bytes }

    mutating func add(_ text: String) {
        self.add(text.utf8.count)
        self.bytes += text.utf8
    }

    /// A value with a JSON form, in that form: for rare values.
    mutating func add(json: JSON) { self.add(raw: json.canonicalBytes) }

    mutating func add(raw bytes: [UInt8]) {
        self.add(bytes.count)
        self.bytes += bytes
    }

    /// The case of a value, as its index among all.
    mutating func add<T: CaseIterable & Equatable>(place value: T) where T.AllCases == [T] {
        self.add(T.allCases.firstIndex(of: value) ?? 0)
    }

    /// Whether there is a value, and the value.
    mutating func add<T>(_ value: T?, _ write: (inout SnapshotWriter, T) -> Void) {
        self.add(value != nil)
        if let value { write(&self, value) }
    }

    mutating func add<T>(each values: some Collection<T>, _ write: (inout SnapshotWriter, T) -> Void) {
        self.add(values.count)
        for value in values { write(&self, value) }
    }
}

/// Reads the output of ``SnapshotWriter``. Every read is checked against the end; nothing is trusted.
struct SnapshotReader {
    private let bytes: ArraySlice<UInt8>
    private var at: Int

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        self.at = bytes.startIndex
    }

    /// - Throws: ``SnapshotDefect`` unless everything was read.
    func finish() throws(SnapshotDefect) {
        guard self.at == self.bytes.endIndex else {
            throw SnapshotDefect(description: "there is more than belongs there")
        }
    }

    private mutating func take(_ count: Int) throws(SnapshotDefect) -> ArraySlice<UInt8> {
        guard count >= 0, count <= self.bytes.endIndex - self.at else {
            throw SnapshotDefect(description: "it is cut short")
        }
        defer { self.at += count }
        return self.bytes[self.at..<(self.at + count)]
    }

    mutating func flag() throws(SnapshotDefect) -> Bool {
        let byte = try self.take(1)
        guard let byte = byte.first, byte < 2 else { throw SnapshotDefect(description: "a flag is neither 0 nor 1") }
        return byte == 1
    }

    mutating func number() throws(SnapshotDefect) -> Int64 {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard self.at < self.bytes.endIndex else { throw SnapshotDefect(description: "it is cut short") }
            let byte = self.bytes[self.at]
            self.at += 1
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return Int64(bitPattern: value) }
        }
        throw SnapshotDefect(description: "a number has too many bytes")
    }

    /// How many values follow, each of at least one byte.
    mutating func count() throws(SnapshotDefect) -> Int {
        let count = try self.number()
        guard (0...Int64(self.bytes.endIndex - self.at)).contains(count) else {
            throw SnapshotDefect(description: "a count goes beyond the end")
        }
        return Int(count)
    }

    mutating func time() throws(SnapshotDefect) -> Timestamp { Timestamp(microseconds: try self.number()) }

    mutating func pin() throws(SnapshotDefect) -> Pin {
        guard let pin = Pin(bytes: Array(try self.take(32))) else { throw SnapshotDefect(description: "no pin") }
        return pin
    }

    mutating func host() throws(SnapshotDefect) -> HostPattern {
        let bytes = try self.take(try self.count())
        if let host = bytes.withUnsafeBufferPointer({ HostPattern(plain: $0) }) { return host }
        do { return try HostPattern(String(decoding: bytes, as: UTF8.self)) } catch {
            throw SnapshotDefect(description: error.description)
        }
    }

    /// The output of `add(json:)`, read by `make`.
    mutating func json<T>(_ make: (JSONField) throws(JSONDefect) -> T) throws(SnapshotDefect) -> T {
        let bytes = try self.raw()
        let json: JSON
        do { json = try JSON(parsing: bytes, limits: .stored(depth: 16, nodes: 100_000)) } catch {
            throw SnapshotDefect(description: "\(error)")
        }
        do { return try make(JSONField(json)) } catch { throw SnapshotDefect(description: error.description) }
    }

    mutating func raw() throws(SnapshotDefect) -> [UInt8] { Array(try self.take(try self.count())) }

    mutating func text() throws(SnapshotDefect) -> String {
        let bytes = try self.take(try self.count())
        guard let text = String(streamSafe: bytes, marks: StreamSafeText.storedMarkLimit) else {
            throw SnapshotDefect(description: "a text is not UTF-8, or has too many combining marks in a row")
        }
        return text
    }

    mutating func value<T: CaseIterable>(_ type: T.Type) throws(SnapshotDefect) -> T where T.AllCases == [T] {
        let all = T.allCases
        let place = try self.number()
        guard (0..<Int64(all.count)).contains(place) else { throw SnapshotDefect(description: "no such case") }
        return all[Int(place)]
    }

    mutating func optional<T>(
        _ read: (inout SnapshotReader) throws(SnapshotDefect) -> T
    ) throws(SnapshotDefect) -> T? {
        try self.flag() ? try read(&self) : nil
    }

    mutating func each<T>(
        _ read: (inout SnapshotReader) throws(SnapshotDefect) -> T
    ) throws(SnapshotDefect) -> [T] {
        let count = try self.count()
        var values: [T] = []
        values.reserveCapacity(count)
        for _ in 0..<count { values.append(try read(&self)) }
        return values
    }

    /// A text that `make` accepts.
    mutating func parsed<T, E: Error & CustomStringConvertible>(
        _ make: (String) throws(E) -> T
    ) throws(SnapshotDefect) -> T {
        let text = try self.text()
        do { return try make(text) } catch { throw SnapshotDefect(description: "\(text): \(error)") }
    }
}
