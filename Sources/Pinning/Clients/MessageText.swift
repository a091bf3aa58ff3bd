/// The text of a message for people: 1 to 1000 characters of any kind.
package struct MessageText: Hashable, Sendable {
    package let text: String

    package init(_ text: String) throws(ClientSettings.Malformed) {
        // The number of bytes bounds that of scalars, and is counted in constant time.
        guard text.utf8.count <= 4000, (1...1000).contains(text.unicodeScalars.count) else {
            throw ClientSettings.Malformed(description: "must have 1 to 1000 characters")
        }
        self.text = text
    }
}
