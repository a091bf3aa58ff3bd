/// A text in one language.
package struct ClientText: Hashable, Sendable {
    package var key: TextKey
    package var language: TextLanguage
    package var text: MessageText

    package init(key: TextKey, language: TextLanguage, text: MessageText) {
        self.key = key
        self.language = language
        self.text = text
    }

    /// Whether it is the same message in the same language, whatever its text.
    package func isAnother(of other: ClientText) -> Bool { self.key == other.key && self.language == other.language }

    /// By key, and then by language.
    package static func precedes(_ left: ClientText, _ right: ClientText) -> Bool {
        (left.key.text, left.language.text) < (right.key.text, right.language.text)
    }
}
