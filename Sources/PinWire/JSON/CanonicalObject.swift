/// Writes one JSON object straight into its canonical bytes (RFC 8785), without making values first.
///
/// The members MUST be added in canonical order, each once; the bytes are then the ``JSON/canonicalBytes`` of the same
/// members.
package struct CanonicalObject {
    private var out: [UInt8] = []
    private var isFirst = true

    package init(capacity: Int = 0) {
        self.out.reserveCapacity(capacity)
        self.out.append(UInt8(ascii: "{"))
    }

    private init(continuing out: [UInt8]) {
        self.out = out
        self.out.append(UInt8(ascii: "{"))
    }

    /// The object's bytes.
    package consuming func finish() -> [UInt8] {
        self.out.append(UInt8(ascii: "}"))
        return self.out
    }

    private mutating func begin(_ name: StaticString) {
        if !self.isFirst { self.out.append(UInt8(ascii: ",")) }
        self.isFirst = false
        // Names are plain words and need no escapes.
        self.out.append(UInt8(ascii: "\""))
        self.out.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
        self.out.append(UInt8(ascii: "\""))
        self.out.append(UInt8(ascii: ":"))
    }

    /// Adds a string; nothing for nil.
    package mutating func add(_ name: StaticString, _ text: String?) {
        guard let text else { return }
        self.begin(name)
        JSON.appendQuoted(text, to: &self.out)
    }

    /// Adds a whole number.
    package mutating func add(_ name: StaticString, _ number: Int64) {
        self.begin(name)
        JSON.appendInteger(number, to: &self.out)
    }

    /// Adds a boolean.
    package mutating func add(_ name: StaticString, _ flag: Bool) {
        self.begin(name)
        self.out.append(contentsOf: (flag ? "true" : "false").utf8)
    }

    /// Adds a time in the form of RFC 3339.
    package mutating func add(_ name: StaticString, _ time: Timestamp) {
        self.begin(name)
        self.out.append(UInt8(ascii: "\""))
        time.appendRFC3339(to: &self.out)
        self.out.append(UInt8(ascii: "\""))
    }

    /// Adds a pin's canonical text, which needs no escapes.
    package mutating func add(_ name: StaticString, _ pin: Pin) {
        self.begin(name)
        self.out.append(UInt8(ascii: "\""))
        pin.appendText(to: &self.out)
        self.out.append(UInt8(ascii: "\""))
    }

    /// Adds any value; nothing for nil.
    package mutating func add(_ name: StaticString, _ json: JSON?) {
        guard let json else { return }
        self.begin(name)
        json.appendCanonical(to: &self.out)
    }

    /// Adds members in canonical order.
    package mutating func add(members: [String: JSON]) {
        for (name, json) in members.sorted(by: { JSON.precedes($0.key, $1.key) }) {
            if !self.isFirst { self.out.append(UInt8(ascii: ",")) }
            self.isFirst = false
            JSON.appendQuoted(name, to: &self.out)
            self.out.append(UInt8(ascii: ":"))
            json.appendCanonical(to: &self.out)
        }
    }

    /// Adds an object whose members `write` adds.
    package mutating func object(_ name: StaticString, _ write: (inout CanonicalObject) -> Void) {
        self.begin(name)
        // The bytes move into the inner writer and back: there is one buffer.
        var inner = CanonicalObject(continuing: self.out.moved())
        write(&inner)
        self.out = inner.finish()
    }
}

extension [UInt8] {
    /// The array, leaving an empty one behind.
    fileprivate mutating func moved() -> [UInt8] {
        defer { self = [] }
        return self
    }
}
