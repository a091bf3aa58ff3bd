/// The language of a message: two lower-case letters (ISO 639-1).
package struct TextLanguage: Hashable, Sendable {
    package let text: String

    package init(_ text: String) throws(ClientSettings.Malformed) {
        guard text.utf8.count == 2, text.utf8.allSatisfy({ (97...122).contains($0) }) else {
            throw ClientSettings.Malformed(description: "must be two lower-case letters, as in ISO 639-1")
        }
        self.text = text
    }
}
