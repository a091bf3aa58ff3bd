import PinWire

extension AppVersion {
    /// Reads a version by the rules of Wultra's server: three groups of digits, then optionally `-` and any text, which
    /// counts as a pre-release. Nil for anything else.
    init?(wultra text: String) {
        guard text.utf8.count <= 128, Self.hasThreeGroups(text) else { return nil }
        if let version = try? AppVersion(text) {
            self = version
            return
        }
        guard let mark = text.firstIndex(of: "-") else { return nil }
        // A text that is not a valid pre-release becomes one word of one.
        let word = text[text.index(after: mark)...].utf8.map { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"):
                byte
            default: UInt8(ascii: "-")
            }
        }
        let rest = word.isEmpty ? "-" : String(decoding: word, as: UTF8.self)
        guard let version = try? AppVersion("\(text[..<mark])-\(rest)") else { return nil }
        self = version
    }

    private static func hasThreeGroups(_ text: String) -> Bool {
        let groups = text.utf8.prefix { $0 != UInt8(ascii: "-") }
            .split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return groups.count == 3
            && groups.allSatisfy { group in
                !group.isEmpty && group.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            }
    }
}
