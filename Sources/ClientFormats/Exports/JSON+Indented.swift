import PinWire

extension JSON {
    /// The value for people and for line-wise comparison: members sorted as in ``canonicalBytes``, one a line, two
    /// spaces for each depth, and a line feed at the end.
    var indentedBytes: [UInt8] {
        var out: [UInt8] = []
        self.appendIndented(to: &out, depth: 0)
        out.append(UInt8(ascii: "\n"))
        return out
    }

    private func appendIndented(to out: inout [UInt8], depth: Int) {
        func next(_ place: Int, _ depth: Int) {
            out.append(contentsOf: (place == 0 ? "\n" : ",\n").utf8)
            out.append(contentsOf: repeatElement(UInt8(ascii: " "), count: depth * 2))
        }
        func end(_ mark: Unicode.Scalar) {
            out.append(UInt8(ascii: "\n"))
            out.append(contentsOf: repeatElement(UInt8(ascii: " "), count: depth * 2))
            out.append(UInt8(ascii: mark))
        }
        switch self {
        case .array(let elements) where !elements.isEmpty:
            out.append(UInt8(ascii: "["))
            for (place, element) in elements.enumerated() {
                next(place, depth + 1)
                element.appendIndented(to: &out, depth: depth + 1)
            }
            end("]")
        case .object(let members) where !members.isEmpty:
            out.append(UInt8(ascii: "{"))
            let sorted = members.sorted { $0.key.utf16.lexicographicallyPrecedes($1.key.utf16) }
            for (place, member) in sorted.enumerated() {
                next(place, depth + 1)
                Self.appendQuoted(member.key, to: &out)
                out.append(contentsOf: ": ".utf8)
                member.value.appendIndented(to: &out, depth: depth + 1)
            }
            end("}")
        default: self.appendCanonical(to: &out)
        }
    }
}
