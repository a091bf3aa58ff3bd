import PinWire

extension ImportedPins {
    /// Headers of RFC 7469. `Host:` names the sender of the following ones; a line that begins with white space goes on
    /// with the one before (RFC 9112 section 5.2); empty lines and those that begin with `#` are ignored. `max-age` is not
    /// a date, and is not taken over.
    ///
    /// Clients enforce the first enforcing header of a host, whatever else it sends (RFC 7469 section 2.3.1).
    mutating func readPublicKeyPins(_ bytes: [UInt8], _ host: HostPattern?) throws(TextDefect) {
        guard bytes.count <= XMLReader.sizeLimit else {
            throw TextDefect(line: 1, column: 1, "the text has more than \(XMLReader.sizeLimit) bytes")
        }
        let hasMark = bytes.starts(with: [0xEF, 0xBB, 0xBF])
        guard let text = String(streamSafe: hasMark ? Array(bytes.dropFirst(3)) : bytes) else {
            throw TextDefect(line: 1, column: 1, "the text is not UTF-8")
        }
        var host = host
        var isRefused = false
        var reported: [(host: Host, line: Int)] = []
        for (number, line) in Self.unfolded(text) {
            guard let colon = line.firstIndex(of: ":") else {
                self.say("This is no header.", line: number, column: 1)
                continue
            }
            let value = String(line[line.index(after: colon)...]).trimmed
            switch line[..<colon].lowercased() {
            case "host":
                do {
                    let pattern = try HostPattern(value)
                    host = pattern.isWildcard ? nil : pattern
                    isRefused = pattern.isWildcard
                    if pattern.isWildcard {
                        self.say("No host is called \(pattern).", line: number, column: 1, isDefect: true)
                    }
                } catch {
                    (host, isRefused) = (nil, true)
                    let name = Self.quoted(value)
                    self.say("The host \"\(name)\" \(error).", line: number, column: 1, isDefect: true)
                }
            // The finding about the host's line says it.
            case "public-key-pins" where isRefused, "public-key-pins-report-only" where isRefused: break
            case "public-key-pins":
                if let sent = self.readDirectives(value, of: host, .enforce, number) {
                    self.add(sent, line: number, column: 1)
                }
            case "public-key-pins-report-only":
                if let sent = self.readDirectives(value, of: host, .reportOnly, number) {
                    reported.append((sent, number))
                }
            default:
                self.say("The header \(Self.quoted(String(line[..<colon]))) is not known.", line: number, column: 1)
            }
        }
        let enforced = Set(self.hosts.map(\.pattern))
        for (sent, line) in reported {
            if enforced.contains(sent.pattern) {
                self.say(
                    "The report-only header of \(sent.pattern) is not taken over: its enforcing header is.", line: line,
                    column: 1)
            } else {
                self.add(sent, line: line, column: 1)
            }
        }
    }

    /// The lines with a header, with the number of their first line. A line that begins with white space belongs to the
    /// header before it, unless it begins with a header's name, as in a text that is indented.
    private static func unfolded(_ text: String) -> [(number: Int, line: String)] {
        var lines: [(number: Int, line: String)] = []
        var isFoldable = false
        for (place, whole) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let line = whole.trimmed
            guard !line.isEmpty, !line.hasPrefix("#") else {
                isFoldable = false
                continue
            }
            let isIndented = whole.first == " " || whole.first == "\t"
            let isNamed = line.drop(while: Self.isToken).first == ":"
            if isFoldable, isIndented, !isNamed {
                lines[lines.count - 1].line += " " + line
            } else {
                lines.append((place + 1, line))
                isFoldable = true
            }
        }
        return lines
    }

    /// The host of a header with its pins; nil for a header that counts for nothing.
    private mutating func readDirectives(
        _ text: String, of host: HostPattern?, _ mode: PinMode, _ line: Int
    ) -> Host? {
        guard let host else {
            self.say("Nothing says which host sends this header.", line: line, column: 1, isDefect: true)
            return nil
        }
        let directives: [(name: String, value: String?)]
        do { directives = try Self.directives(text) } catch {
            self.say("The header of \(host) \(error).", line: line, column: 1, isDefect: true, advice: error.advice)
            return nil
        }
        var imported = Host(pattern: host, mode: mode)
        var seen: Set<String> = []
        for (name, value) in directives {
            if name == "pin-sha256" {
                guard let pin = value.flatMap({ Base64.decodeLoosely($0) }).flatMap({ Pin(bytes: $0) }) else {
                    self.say("A pin of \(host) is not the base64 of 32 bytes.", line: line, column: 1, isDefect: true)
                    continue
                }
                self.notePlaceholder(pin, written: value ?? "", line: line, column: 1)
                self.add(pin, to: &imported.pins, line: line, column: 1)
                continue
            }
            let isFirst = seen.insert(name).inserted
            // Clients ignore pins of hashes that they do not know, however many there are (section 2.1.1).
            if name.hasPrefix("pin-") {
                if isFirst {
                    self.say(
                        "The pins \(Self.quoted(name)) of \(host) are not taken over: clients know SHA-256 alone.",
                        line: line, column: 1)
                }
                continue
            }
            guard isFirst else {
                self.say(
                    "The header of \(host) has \(Self.quoted(name)) twice, and counts for nothing.", line: line,
                    column: 1, isDefect: true)
                return nil
            }
            switch name {
            case "includesubdomains": imported.includesSubdomains = true
            // Clients ignore it in a header that is only reported (section 2.1.2).
            case "max-age" where mode == .reportOnly: break
            case "max-age":
                guard let value, !value.isEmpty, value.utf8.allSatisfy(Self.digits.contains) else {
                    self.say(
                        "The max-age of \(host) is not a number of seconds, and its header counts for nothing.",
                        line: line, column: 1, isDefect: true)
                    return nil
                }
                guard value.contains(where: { $0 != "0" }) else {
                    self.say("\(host) asks for its pins to be forgotten, with a max-age of 0.", line: line, column: 1)
                    return nil
                }
            case "report-uri":
                self.say("Where reports of \(host) are sent is not taken over.", line: line, column: 1)
            default:
                self.say("The directive \(Self.quoted(name)) is not known.", line: line, column: 1)
            }
        }
        guard mode == .reportOnly || seen.contains("max-age") else {
            self.say(
                "The header of \(host) has no max-age, and counts for nothing.", line: line, column: 1, isDefect: true)
            return nil
        }
        return imported
    }

    private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")

    /// Why a header counts for nothing, as the end of a sentence about it.
    private enum Malformed: Error, CustomStringConvertible {
        case notDirectives
        /// A directive whose value has to be a quoted string, and is not.
        case unquoted(String)

        var description: String {
            switch self {
            case .notDirectives: "is not made of directives with semicolons between them"
            case .unquoted(let name): "has no quotation marks around the value of \(ImportedPins.quoted(name))"
            }
        }

        var advice: String? {
            switch self {
            case .notDirectives: nil
            case .unquoted(let name):
                "Write \(ImportedPins.quoted(name))=\"…\". If a web server sends the header as it is here, correct it "
                    + "there, too: clients ignore it."
            }
        }
    }

    /// Directives by RFC 7469 section 2.1, names in lower case.
    private static func directives(_ text: String) throws(Malformed) -> [(name: String, value: String?)] {
        var directives: [(name: String, value: String?)] = []
        var rest = Substring(text).trimmedStart
        while true {
            let name = rest.prefix(while: Self.isToken)
            rest = rest.dropFirst(name.count).trimmedStart
            var value: String?
            if !name.isEmpty, rest.first == "=" {
                rest = rest.dropFirst().trimmedStart
                if rest.first == "\"" {
                    guard let (quoted, after) = Self.quoted(rest) else { throw .notDirectives }
                    value = quoted
                    rest = after.trimmedStart
                } else if name.lowercased().hasPrefix("pin-") {
                    throw .unquoted(name.lowercased())
                } else {
                    let token = rest.prefix(while: Self.isToken)
                    guard !token.isEmpty else { throw .notDirectives }
                    value = String(token)
                    rest = rest.dropFirst(token.count).trimmedStart
                }
            }
            if !name.isEmpty { directives.append((name.lowercased(), value)) }
            guard let next = rest.first else { return directives }
            guard next == ";" else { throw .notDirectives }
            rest = rest.dropFirst().trimmedStart
        }
    }

    private static func isToken(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || "!#$%&'*+-.^_`|~".contains(character))
    }

    /// A quoted string (RFC 9110 section 5.6.4) and what follows it; nil where it does not end.
    private static func quoted(_ text: Substring) -> (String, Substring)? {
        var out = ""
        var isEscaped = false
        for place in text.indices.dropFirst() {
            let character = text[place]
            if isEscaped {
                out.append(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                return (out, text[text.index(after: place)...])
            } else {
                out.append(character)
            }
        }
        return nil
    }
}

extension StringProtocol {
    /// Without spaces and tabs before it.
    fileprivate var trimmedStart: SubSequence { self.drop { $0 == " " || $0 == "\t" } }

    /// Without spaces and tabs before and after it.
    fileprivate var trimmed: String {
        // Removing the last character of a Substring takes constant time.
        var rest = Substring(self.trimmedStart)
        while let last = rest.last, last == " " || last == "\t" { rest.removeLast() }
        return String(rest)
    }
}
