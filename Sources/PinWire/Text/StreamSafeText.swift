/// Text from outside on which every operation takes time that grows linearly with its length.
///
/// Swift compares, hashes and splits a `String` by Unicode's canonical equivalence, which sorts marks that follow each
/// other: the time grows with the square of their number, and 200 KB of them take minutes. The Stream-Safe Text Format
/// (UAX #15 section 13) limits how many may follow each other to 30; no language needs half as many. So bytes become a
/// `String` here, and only within this limit; bytes known to be ASCII, or to be a few hundred at the most, need no
/// check. A test checks that no other code of the program makes strings of bytes.
package enum StreamSafeText {
    /// Marks (general category M) that may follow each other.
    package static let markLimit = 30

    /// Regional indicators that may follow each other: going backwards over a row of flags, each searches for its
    /// beginning.
    package static let indicatorLimit = 128

    /// Marks in a row in records from before the limit existed, which must stay readable. It bounds the time too, if
    /// less tightly.
    package static let storedMarkLimit = 2048

    /// Whether some UTF-8 keeps the bounds.
    package static func accepts(_ text: some Collection<UInt8>, marks limit: Int = Self.markLimit) -> Bool {
        guard !text.allSatisfy({ $0 < 0x80 }) else { return true }
        return Self.accepts(scalars: String(decoding: text, as: UTF8.self).unicodeScalars, limit)
    }

    fileprivate static func accepts(scalars: String.UnicodeScalarView, _ limit: Int) -> Bool {
        var (marks, indicators) = (0, 0)
        for scalar in scalars {
            switch scalar.value {
            // There is no mark before U+0300.
            case ..<0x300: (marks, indicators) = (0, 0)
            case 0x1F1E6...0x1F1FF: (marks, indicators) = (0, indicators + 1)
            default:
                indicators = 0
                switch scalar.properties.generalCategory {
                case .nonspacingMark, .spacingMark, .enclosingMark: marks += 1
                default: marks = 0
                }
            }
            guard marks <= limit, indicators <= Self.indicatorLimit else { return false }
        }
        return true
    }
}

extension String {
    /// The text of some UTF-8; nil for malformed UTF-8, or more marks in a row than ``StreamSafeText`` allows.
    package init?(streamSafe bytes: some Collection<UInt8>) {
        self.init(streamSafe: bytes, marks: StreamSafeText.markLimit)
    }

    /// The same with another bound.
    package init?(streamSafe bytes: some Collection<UInt8>, marks limit: Int) {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        guard text.utf8.allSatisfy({ $0 < 0x80 }) || StreamSafeText.accepts(scalars: text.unicodeScalars, limit) else {
            return nil
        }
        self = text
    }

    /// The text of some bytes; nil where one of them is not ASCII.
    package init?(ascii bytes: some Collection<UInt8>) {
        guard bytes.allSatisfy({ $0 < 0x80 }) else { return nil }
        self.init(decoding: bytes, as: UTF8.self)
    }

    /// The text of some bytes for people: everything but printable ASCII becomes a question mark.
    package init(shown bytes: some Collection<UInt8>) {
        self.init(decoding: bytes.map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    }
}

extension StringProtocol {
    /// Whether all of it is ASCII, and so as cheap to compare as its bytes.
    package var isASCII: Bool { self.utf8.allSatisfy { $0 < 0x80 } }
}
