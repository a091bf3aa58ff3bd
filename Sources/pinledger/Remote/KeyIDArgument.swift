import ArgumentParser

/// The id of a key (kid) on the command line: a JWK thumbprint of 43 characters in base64url (RFC 7638).
///
/// One thumbprint in 64 begins with `-`, and the parser takes it for options. ``marking(_:)`` puts a mark before such a
/// word, and this type takes the mark away.
struct KeyIDArgument: ExpressibleByArgument {
    let text: String

    private static let mark = "kid:"
    private static let length = 43

    init(argument: String) {
        self.text = String(argument.hasPrefix(Self.mark) ? argument.dropFirst(Self.mark.count) : argument[...])
    }

    /// A command line in which the parser takes thumbprints for values. No option of the program has 43 characters.
    ///
    /// What follows `--` stays as it is: the parser takes all of it for values.
    static func marking(_ words: [String]) -> [String] {
        let end = words.firstIndex(of: "--") ?? words.endIndex
        return words[..<end].map { Self.isTakenForOptions($0) ? Self.mark + $0 : $0 } + words[end...]
    }

    private static func isTakenForOptions(_ word: String) -> Bool {
        word.hasPrefix("-") && word.utf8.count == Self.length
            && word.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
