package import PinWire

/// The reason for a change, in the actor's own words: 1 to 1000 characters without control characters.
package struct Reason: Hashable, Sendable, CustomStringConvertible {
    package let text: String

    package var description: String { self.text }

    /// Why a text is not a reason.
    package struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        package let description = "must be 1 to 1000 characters of plain text, and not only spaces"
    }

    package init(_ text: String) throws(Malformed) {
        guard PlainText.isAcceptable(text, atMost: 1000) else { throw Malformed() }
        self.text = text
    }

    /// A reason from the ledger, as it was accepted then: the set of characters, and their limits, change with the
    /// versions of Unicode, and an entry must stay readable.
    init(recorded text: String) { self.text = text }
}

/// Text by and for people: names, notes and reasons.
package enum PlainText {
    /// Whether `text` has 1 to `limit` characters, none of them a control character or an invisible one that reorders
    /// or hides text, and is not only white space.
    package static func isAcceptable(_ text: String, atMost limit: Int) -> Bool {
        // The number of bytes bounds that of scalars, and is counted in constant time. Scalars are counted, not
        // characters: where those end depends on the version of Unicode.
        guard text.utf8.count <= limit * 4, (1...limit).contains(text.unicodeScalars.count) else { return false }
        guard text.unicodeScalars.contains(where: { !$0.properties.isWhitespace }) else { return false }
        return text.unicodeScalars.allSatisfy { scalar in
            // These never change, whatever later versions of Unicode assign.
            if scalar.properties.isNoncharacterCodePoint { return false }
            return switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .privateUse, .lineSeparator, .paragraphSeparator: false
            default: true
            }
        }
    }
}

extension JSONField {
    /// Plain text of at most `limit` characters.
    package func plainText(atMost limit: Int) throws(JSONDefect) -> String {
        let text = try self.string()
        guard PlainText.isAcceptable(text, atMost: limit) else {
            throw self.defect("must be 1 to \(limit) characters of plain text, and not only spaces")
        }
        return text
    }
}
