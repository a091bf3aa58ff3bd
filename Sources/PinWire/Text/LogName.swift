/// The name of a log or a witness: 1 to 255 bytes of printable ASCII, without space and `+`.
///
/// A log's name is the origin of its checkpoints and the name of its key: the address below which the log is served,
/// without scheme and closing slash, such as `pins.example.com/log`. C2SP allows others; no log or witness that is
/// configured here has one.
package struct LogName: Hashable, Sendable, CustomStringConvertible {
    /// The largest number of bytes.
    package static let maximumLength = 255

    /// What a name is, as the end of a sentence.
    package static let rule = "1 to 255 printable ASCII characters, without space and +"

    /// The name as text. All of it is ASCII, so that equal names have equal bytes.
    package let text: String

    /// Takes a name; nil for any other text.
    package init?(_ bytes: some Collection<UInt8>) {
        guard (1...Self.maximumLength).contains(bytes.count),
            bytes.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "+") }),
            let text = String(ascii: bytes)
        else { return nil }
        self.text = text
    }

    /// Takes a name; nil for any other text.
    package init?(_ text: some StringProtocol) {
        self.init(text.utf8)
    }

    package var description: String { self.text }
}
