import PinWire

/// A range of app versions as people write it.
///
/// `3.1.0-3.1.2` or `3.1.0..3.1.2` for both ends with all between, `3.1.0..` and `..3.1.2` for one end, `3.1.1` for one
/// version. A hyphen also begins a pre-release: `1.5-rc1` is one version, and a range that begins or ends with such a
/// version is written with dots.
struct VersionRangeInput: Sendable {
    var minimum: AppVersion?
    var maximum: AppVersion?

    /// Why a text is not a range.
    struct Malformed: Error, CustomStringConvertible {
        let description: String
    }

    init(_ text: String) throws(Malformed) {
        func version(_ part: some StringProtocol) throws(Malformed) -> AppVersion? {
            guard !part.isEmpty else { return nil }
            do { return try AppVersion(String(part)) } catch {
                throw Malformed(description: "in the range \(text), \(part) \(error.description)")
            }
        }
        func isNumber(_ part: Substring) -> Bool {
            !part.isEmpty && part.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (48...57).contains($0) }
        }
        if let dots = text.firstRange(of: "..") {
            self.minimum = try version(text[..<dots.lowerBound])
            self.maximum = try version(text[dots.upperBound...])
        } else {
            let parts = text.split(separator: "-", omittingEmptySubsequences: false)
            if parts.count == 2, parts.allSatisfy({ isNumber($0) || $0.isEmpty }) {
                self.minimum = try version(parts[0])
                self.maximum = try version(parts[1])
            } else {
                self.minimum = try version(text)
                self.maximum = self.minimum
            }
        }
        guard self.minimum != nil || self.maximum != nil else {
            throw Malformed(description: "\(text) is no range of versions such as 3.1.0-3.1.2, 3.1.0.. or ..3.1.2")
        }
    }
}
