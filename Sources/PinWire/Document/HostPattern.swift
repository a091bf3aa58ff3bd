/// A host name, or `*.` and a host name (exactly one more label), that has pins.
///
/// Lower-case A-labels (RFC 5890), no trailing dot, no port, no IP address. A text that is not canonical is refused
/// with the text to use instead, so that one name has one spelling everywhere.
public struct HostPattern: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The whole pattern, with `*.` where it is a wildcard.
    public let text: String

    /// Whether exactly one further label stands before ``name``.
    public var isWildcard: Bool { self.text.hasPrefix("*.") }

    /// The name without `*.`.
    public var name: String { self.isWildcard ? String(self.text.dropFirst(2)) : self.text }

    public var description: String { self.text }

    public static func < (left: HostPattern, right: HostPattern) -> Bool { left.text < right.text }

    /// Why a text is not a host pattern.
    public struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String
    }

    /// Parses a pattern in its one spelling.
    ///
    /// - Throws: ``Malformed`` with the reason, and the text to use instead where there is one.
    public init(_ text: String) throws(Malformed) { try self.init(text, decodesALabels: true) }

    /// Takes a pattern out of a signed document: by its ASCII alone, as the schema `HostPattern` says.
    ///
    /// Whether an A-label stands for a good name was decided by the server that signed it. A client that decoded it by its own system's
    /// tables of Unicode would refuse documents that others accept.
    init(signed text: String) throws(Malformed) { try self.init(text, decodesALabels: false) }

    private init(_ text: String, decodesALabels: Bool) throws(Malformed) {
        func refuse(_ reason: String) -> Malformed { Malformed(description: reason) }
        guard !text.isEmpty else { throw refuse("must not be empty") }
        guard text.utf8.count <= 255 else { throw refuse("must have at most 253 characters") }
        guard text.allSatisfy(\.isASCII) else {
            let form = Punycode.aLabels(text).map { ": \($0)" } ?? ""
            throw refuse("must be written in A-labels (xn--…), as certificates and DNS write it\(form)")
        }
        guard text == text.lowercased() else { throw refuse("must be in lower case: \(text.lowercased())") }
        // Android's configurations take no such reference as a name either.
        if text.hasPrefix("@"), text.contains("/") {
            throw refuse("must be a host name itself, not a reference to a resource that has it")
        }
        if text.contains("://") || text.contains("/") { throw refuse("must be a host name alone, not a URL") }
        if text == "*." { throw refuse("must have a host name after the wildcard: *.example.com") }
        if text.hasSuffix(".") { throw refuse("must not end in a dot: \(text.dropLast())") }
        if text.hasPrefix("**."), !text.dropFirst(3).contains("*") {
            throw refuse(
                "has no pattern for names of any depth: give \(text.dropFirst(3)) with its subdomains (`include_subdomains`)"
            )
        }
        let name = text.hasPrefix("*.") ? String(text.dropFirst(2)) : text
        if name.contains("*") { throw refuse("may have a wildcard only as its whole first label: *.example.com") }
        if name.contains(":") || name.contains("[") {
            throw refuse("must be a host name without a port, and not an IP address")
        }
        guard name.utf8.count <= 253 else { throw refuse("must have at most 253 characters") }
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        for label in labels {
            let bytes = Array(label.utf8)
            guard !bytes.isEmpty else { throw refuse("must not have an empty label") }
            guard bytes.count <= 63 else { throw refuse("must not have a label of more than 63 characters") }
            guard
                bytes.allSatisfy({
                    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
                        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: "-")
                })
            else { throw refuse("may have letters, digits, hyphens and dots only") }
            guard bytes.first != UInt8(ascii: "-"), bytes.last != UInt8(ascii: "-") else {
                throw refuse("must not have a label that begins or ends with a hyphen")
            }
            // Other labels with two hyphens there are no A-labels, and DNS has them.
            guard !decodesALabels || !label.hasPrefix("xn--") || Punycode.isCanonical(bytes.dropFirst(4)) else {
                throw refuse("must not have a label that begins with xn-- and is no A-label: \(label)")
            }
        }
        if let last = labels.last {
            // The WHATWG URL standard reads a name whose last label is a number as an IPv4 address.
            let isNumber = last.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            let isHexNumber = last.hasPrefix("0x") && last.dropFirst(2).allSatisfy(\.isHexDigit)
            guard !isNumber, !isHexNumber else { throw refuse("must be a host name, not an IP address") }
        }
        self.text = text
    }

    /// Takes a pattern of plain labels out of a buffer in one pass. Nil where it needs a closer look by ``init(_:)``;
    /// every name accepted here is accepted there.
    package init?(plain bytes: UnsafeBufferPointer<UInt8>) {
        guard (1...253).contains(bytes.count) else { return nil }
        var start = 0
        if bytes[0] == UInt8(ascii: "*") {
            guard bytes.count > 2, bytes[1] == UInt8(ascii: ".") else { return nil }
            start = 2
        }
        var label = start
        var lastHasLetter = false
        for place in start...bytes.count {
            guard place < bytes.count, bytes[place] != UInt8(ascii: ".") else {
                guard place > label, place - label <= 63, bytes[place - 1] != UInt8(ascii: "-"),
                    bytes[label] != UInt8(ascii: "-")
                else { return nil }
                if place - label >= 4, bytes[label + 2] == UInt8(ascii: "-"), bytes[label + 3] == UInt8(ascii: "-") {
                    return nil
                }
                if place == bytes.count { break }
                label = place + 1
                lastHasLetter = false
                continue
            }
            switch bytes[place] {
            case UInt8(ascii: "g")...UInt8(ascii: "w"), UInt8(ascii: "y"), UInt8(ascii: "z"): lastHasLetter = true
            case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "x"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"):
                break
            default: return nil
            }
        }
        // A last label with a letter outside the hexadecimal digits is not a number.
        guard lastHasLetter else { return nil }
        self.text = String(decoding: bytes, as: UTF8.self)
    }
}
