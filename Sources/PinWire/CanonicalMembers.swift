/// The members of a JSON object in canonical form (RFC 8785), found where they lie: for bytes that are known to be such
/// an object, since somebody trusted has signed them.
///
/// What is not in that form gives no members, or wrong ones, and harms nothing else.
package struct CanonicalMembers {
    private let bytes: [UInt8]

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Whether the object itself, and not one inside of it, has a member of that name and value, which is a string of
    /// characters that need no escape, or a whole number.
    package func has(_ name: StaticString, _ value: String) -> Bool { self.has(name, Array("\"\(value)\"".utf8)) }

    package func has(_ name: StaticString, _ value: Int64) -> Bool { self.has(name, Array("\(value)".utf8)) }

    private func has(_ name: StaticString, _ value: [UInt8]) -> Bool {
        self.bytes.withUnsafeBufferPointer { bytes in
            let name = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
            var depth = 0
            var at = 0
            while at < bytes.count {
                switch bytes[at] {
                case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
                case UInt8(ascii: "\""):
                    let start = at + 1
                    at = Self.end(of: bytes, from: start)
                    // A string at depth one with a colon behind it is a name; a value has a comma or the end.
                    guard depth == 1, at + 1 < bytes.count, bytes[at + 1] == UInt8(ascii: ":"),
                        bytes[start..<at].elementsEqual(name)
                    else { break }
                    let end = at + 2 + value.count
                    return end < bytes.count && bytes[(at + 2)..<end].elementsEqual(value)
                        && (bytes[end] == UInt8(ascii: ",") || bytes[end] == UInt8(ascii: "}"))
                default: break
                }
                at += 1
            }
            return false
        }
    }

    /// The place of the quote that ends the string whose first byte is at `start`.
    private static func end(of bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        var at = start
        while at < bytes.count, bytes[at] != UInt8(ascii: "\"") { at += bytes[at] == UInt8(ascii: "\\") ? 2 : 1 }
        return min(at, bytes.count)
    }
}
