/// The name of an app: a bundle id or service name, 1 to 128 of `A-Z a-z 0-9 . _ -`, beginning with a letter or digit.
public struct AppID: Hashable, Sendable, Comparable, CustomStringConvertible {
    public let text: String

    public var description: String { self.text }

    public static func < (left: AppID, right: AppID) -> Bool { left.text < right.text }

    /// Why a text is not the name of an app.
    public struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String
    }

    /// Takes the canonical text; nothing is trimmed or changed.
    ///
    /// - Throws: ``Malformed`` with the rule for names.
    public init(_ text: String) throws(Malformed) {
        func isPlain(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: false
            }
        }
        let bytes = Array(text.utf8)
        guard (1...128).contains(bytes.count), let first = bytes.first, isPlain(first),
            bytes.allSatisfy({ isPlain($0) || [UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-")].contains($0) }),
            !text.contains("..")
        else {
            throw Malformed(
                description: "must be 1 to 128 letters, digits, dots, hyphens and underscores, beginning with a letter "
                    + "or digit and without two dots in a row, such as com.example.app"
            )
        }
        self.text = text
    }

    /// Takes the name out of a buffer in one pass; nil for a malformed one. Accepts the same names as ``init(_:)``.
    package init?(plain bytes: UnsafeBufferPointer<UInt8>) {
        guard (1...128).contains(bytes.count) else { return nil }
        var wasDot = true
        for (place, byte) in bytes.enumerated() {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                wasDot = false
            case UInt8(ascii: "_"), UInt8(ascii: "-"):
                guard place > 0 else { return nil }
                wasDot = false
            case UInt8(ascii: "."):
                guard !wasDot else { return nil }
                wasDot = true
            default: return nil
            }
        }
        self.text = String(decoding: bytes, as: UTF8.self)
    }
}
