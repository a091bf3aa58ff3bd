import PinWire

/// The attributes of a distinguished name, read from its text (RFC 4514).
package struct DistinguishedName: Hashable, Sendable {
    /// One attribute, its type as in the text: a short name, or an object identifier.
    package struct Attribute: Hashable, Sendable {
        package var type: String
        package var value: String
    }

    /// In the order in which the certificate has them, which is not the text's: RFC 4514 begins with the last.
    package let attributes: [Attribute]

    /// Reads a text of `CertificateFacts`. Malformed attributes are ignored: the text may have been cut.
    package init(_ text: String) {
        var attributes: [Attribute] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            if let attribute = Self.attribute(Self.takePart(of: &rest)) { attributes.append(attribute) }
        }
        self.attributes = attributes.reversed()
    }

    /// The last attribute of a type, which is the most specific one.
    package subscript(_ type: String) -> String? { self.attributes.last { $0.type == type }?.value }

    /// Takes the text before the next unescaped comma or plus sign, and the sign itself.
    private static func takePart(of rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var at = rest.startIndex
        while at < rest.endIndex, rest[at] != UInt8(ascii: ","), rest[at] != UInt8(ascii: "+") {
            at += rest[at] == UInt8(ascii: "\\") ? 2 : 1
        }
        at = min(at, rest.endIndex)
        defer { rest = rest[at...].dropFirst() }
        return rest[..<at]
    }

    private static func attribute(_ part: ArraySlice<UInt8>) -> Attribute? {
        guard let equals = part.firstIndex(of: UInt8(ascii: "=")), equals > part.startIndex else { return nil }
        var value: [UInt8] = []
        var rest = part[(equals + 1)...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let next = rest.first else {
                value.append(byte)
                continue
            }
            // Two hexadecimal digits for a byte, or the character itself.
            if let bytes = Hex.decode(String(decoding: rest.prefix(2), as: UTF8.self).lowercased()), bytes.count == 1 {
                value.append(bytes[0])
                rest = rest.dropFirst(2)
            } else {
                value.append(next)
                rest = rest.dropFirst()
            }
        }
        return Attribute(
            type: String(decoding: part[..<equals], as: UTF8.self), value: String(decoding: value, as: UTF8.self))
    }
}
