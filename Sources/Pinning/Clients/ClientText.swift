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

    /// Whether it is the same message in the same language, whatever it says.
    package func isAnother(of other: ClientText) -> Bool { self.key == other.key && self.language == other.language }

    /// By key, and then by language.
    package static func precedes(_ left: ClientText, _ right: ClientText) -> Bool {
        (left.key.text, left.language.text) < (right.key.text, right.language.text)
    }
}

/// What names a message: 1 to 255 characters of printable ASCII, with no space at either end.
///
/// ASCII alone, because what counts as printable, and as the same text, changes with the versions of Unicode, and an
/// entry of the ledger must be readable for ever.
package struct TextKey: Hashable, Sendable {
    package let text: String

    package init(_ text: String) throws(ClientSettings.Malformed) {
        guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }),
            text.utf8.first != 0x20, text.utf8.last != 0x20
        else {
            throw ClientSettings.Malformed(
                description: "must be 1 to 255 printable ASCII characters, without spaces at the ends")
        }
        self.text = text
    }
}

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

/// What people are told: 1 to 1000 characters of any kind.
package struct MessageText: Hashable, Sendable {
    package let text: String

    package init(_ text: String) throws(ClientSettings.Malformed) {
        // Bytes bound scalars, and are counted in constant time.
        guard text.utf8.count <= 4000, (1...1000).contains(text.unicodeScalars.count) else {
            throw ClientSettings.Malformed(description: "must have 1 to 1000 characters")
        }
        self.text = text
    }
}
