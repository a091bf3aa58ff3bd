/// The id of one app of a Firebase project: numbers and a platform with colons between, such as
/// `1:1234567890:ios:0a1b2c3d`.
package struct FirebaseAppID: Hashable, Sendable, CustomStringConvertible {
    /// Why a text is malformed, as the end of a sentence about it.
    package struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        package let description = "must be the id of a Firebase app, such as 1:1234567890:ios:0a1b2c3d4e5f"
    }

    package let text: String

    package var description: String { self.text }

    /// At most 80 characters; only the colons in it need escaping in a condition's expression or name.
    package init(_ text: String) throws(Malformed) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard text.utf8.count <= 80, parts.count == 4, parts.allSatisfy({ !$0.isEmpty }),
            ["ios", "android", "web"].contains(parts[2]),
            (parts[0] + parts[1]).utf8.allSatisfy({ (48...57).contains($0) }),
            parts[3].utf8.allSatisfy({ (97...122).contains($0) || (48...57).contains($0) })
        else { throw Malformed() }
        self.text = text
    }

    /// Whether limits to these two Firebase apps share no install. Nil is every app of the project.
    package static func areApart(_ left: FirebaseAppID?, _ right: FirebaseAppID?) -> Bool {
        left != nil && right != nil && left != right
    }
}
