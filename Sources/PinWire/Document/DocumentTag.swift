/// The contents of a document's entity tag: `"12.uw5PSUQ3lNkB6Jaf8RvREuNCCKDc3w4e7bSAzJs8cpM"`, the document's version
/// before the digest, so that a condition of any age says which version its sender holds.
package enum DocumentTag {
    /// The prefix of the digest.
    package static func prefix(version: Int64) -> String { "\(version)." }

    /// The highest version that one of the tags in an `If-None-Match` carries; nil where none carries one.
    package static func newestVersion(in condition: String) -> Int64? {
        var condition = condition
        return condition.withUTF8 { bytes in
            var newest: Int64?
            var at = 0
            while at < bytes.count {
                guard bytes[at] == UInt8(ascii: "\"") else {
                    at += 1
                    continue
                }
                at += 1
                let start = at
                while at < bytes.count, bytes[at] != UInt8(ascii: "\"") { at += 1 }
                guard at < bytes.count else { return newest }
                if let version = Self.version(of: bytes[start..<at]) { newest = max(newest ?? 0, version) }
                at += 1
            }
            return newest
        }
    }

    /// The version at the beginning of an opaque tag: up to 15 digits without a leading zero, a dot, and a digest after
    /// it. Caches may have appended something to the digest.
    private static func version(of tag: Slice<UnsafeBufferPointer<UInt8>>) -> Int64? {
        var version: Int64 = 0
        var digits = 0
        for byte in tag {
            if byte == UInt8(ascii: ".") { return version > 0 && tag.count >= digits + 1 + 43 ? version : nil }
            guard byte &- UInt8(ascii: "0") < 10, digits < 15, digits == 0 || version > 0 else { return nil }
            version = version * 10 + Int64(byte - UInt8(ascii: "0"))
            digits += 1
        }
        return nil
    }
}
