import PinWire

extension ImportedPins {
    /// Headers of RFC 7469, each in one line. `Host:` names the sender of the following ones; empty lines and those
    /// that begin with `#` are ignored. `max-age` is not a date, and is not taken over.
    mutating func readPublicKeyPins(_ bytes: [UInt8], _ host: HostPattern?) throws(TextDefect) {
        guard bytes.count <= XMLReader.sizeLimit else {
            throw TextDefect(line: 1, column: 1, "the text has more than \(XMLReader.sizeLimit) bytes")
        }
        guard let text = String(streamSafe: bytes) else {
            throw TextDefect(line: 1, column: 1, "the text is not UTF-8")
        }
        var host = host
        for (place, whole) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let number = place + 1
            let line = whole.trimmed
            guard !line.isEmpty, !line.hasPrefix("#") else { continue }
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
                    if pattern.isWildcard {
                        self.say("No host is called \(pattern).", line: number, column: 1, isDefect: true)
                    }
                } catch {
                    host = nil
                    let name = Self.quoted(value)
                    self.say("The host \"\(name)\" \(error).", line: number, column: 1, isDefect: true)
                }
            case "public-key-pins": self.readDirectives(value, of: host, .enforce, number)
            case "public-key-pins-report-only": self.readDirectives(value, of: host, .reportOnly, number)
            default:
                self.say("The header \(Self.quoted(String(line[..<colon]))) is not known.", line: number, column: 1)
            }
        }
    }

    private mutating func readDirectives(_ text: String, of host: HostPattern?, _ mode: PinMode, _ line: Int) {
        guard let host else {
            self.say("Nothing says which host sends this header.", line: line, column: 1, isDefect: true)
            return
        }
        guard let directives = Self.directives(text) else {
            self.say(
                "The header of \(host) is not made of directives with semicolons between them.", line: line, column: 1,
                isDefect: true)
            return
        }
        var imported = Host(pattern: host, mode: mode)
        var seen: Set<String> = []
        for (name, value) in directives {
            if name == "pin-sha256" {
                guard let pin = value.flatMap({ Base64.decode($0) }).flatMap({ Pin(bytes: $0) }) else {
                    self.say("A pin of \(host) is not the base64 of 32 bytes.", line: line, column: 1, isDefect: true)
                    continue
                }
                self.add(pin, to: &imported.pins, line: line, column: 1)
                continue
            }
            guard seen.insert(name).inserted else {
                self.say(
                    "The header of \(host) has \(Self.quoted(name)) twice, and counts for nothing.", line: line,
                    column: 1, isDefect: true)
                return
            }
            switch name {
            case "includesubdomains": imported.includesSubdomains = true
            case "max-age":
                guard value != "0" else {
                    self.say("\(host) asks for its pins to be forgotten, with a max-age of 0.", line: line, column: 1)
                    return
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
            return
        }
        self.add(imported, line: line, column: 1)
    }

    /// Directives by RFC 7469 section 2.1, names in lower case; nil where the text is malformed.
    private static func directives(_ text: String) -> [(name: String, value: String?)]? {
        var directives: [(name: String, value: String?)] = []
        var rest = Substring(text).trimmedStart
        func isToken(_ character: Character) -> Bool {
            character.isASCII && (character.isLetter || character.isNumber || "!#$%&'*+-.^_`|~".contains(character))
        }
        while true {
            let name = rest.prefix(while: isToken)
            rest = rest.dropFirst(name.count).trimmedStart
            var value: String?
            if !name.isEmpty, rest.first == "=" {
                rest = rest.dropFirst().trimmedStart
                if rest.first == "\"" {
                    guard let (quoted, after) = Self.quoted(rest) else { return nil }
                    value = quoted
                    rest = after.trimmedStart
                } else {
                    let token = rest.prefix(while: isToken)
                    guard !token.isEmpty else { return nil }
                    value = String(token)
                    rest = rest.dropFirst(token.count).trimmedStart
                }
            }
            if !name.isEmpty { directives.append((name.lowercased(), value)) }
            guard let next = rest.first else { return directives }
            guard next == ";" else { return nil }
            rest = rest.dropFirst().trimmedStart
        }
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
