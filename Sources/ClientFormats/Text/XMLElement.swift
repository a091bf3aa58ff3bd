/// An element of an XML text, and where it begins.
package struct XMLElement: Hashable, Sendable {
    package let name: String
    package internal(set) var attributes: [Attribute]
    package internal(set) var children: [XMLElement]
    /// The text between the children, all of it, with entities replaced and white space kept.
    package internal(set) var text: String
    package let line: Int
    package let column: Int

    /// One attribute, its value with entities replaced.
    package struct Attribute: Hashable, Sendable {
        package let name: String
        package let value: String
    }

    /// The value of an attribute; nil where there is none of the name.
    package func attribute(_ name: String) -> String? { self.attributes.first { $0.name == name }?.value }

    /// ``text`` without white space before and after it.
    package var trimmedText: String {
        let scalars = self.text.unicodeScalars
        func isSpace(_ scalar: Unicode.Scalar) -> Bool { [" ", "\t", "\n", "\r"].contains(scalar) }
        guard let first = scalars.firstIndex(where: { !isSpace($0) }),
            let last = scalars.lastIndex(where: { !isSpace($0) })
        else { return "" }
        return String(scalars[first...last])
    }

    /// A defect at the element's place.
    package func defect(_ message: String) -> TextDefect {
        TextDefect(line: self.line, column: self.column, message)
    }
}
