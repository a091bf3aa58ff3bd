package import PinWire

/// A calendar in the form of calendar programs: iCalendar (RFC 5545), published and not sent, thus without METHOD.
package struct CalendarFeed: Sendable {
    /// The text in UTF-8, its lines ended by CRLF.
    package private(set) var bytes: [UInt8] = []

    /// The most bytes of a line without its end (section 3.1).
    private static let width = 75

    /// - Parameter now: When it is made.
    package init(_ calendar: AppCalendar, at now: Timestamp) {
        self.line("BEGIN", "VCALENDAR")
        self.line("VERSION", "2.0")
        self.line("PRODID", "-//Pinledger//Calendar//EN")
        self.line("CALSCALE", "GREGORIAN")
        let name = Self.escaped("Pins of \(calendar.displayName)")
        // RFC 7986, and the properties that older programs read.
        self.line("NAME", name)
        self.line("X-WR-CALNAME", name)
        self.line("REFRESH-INTERVAL;VALUE=DURATION", "PT6H")
        for entry in calendar.entries { self.add(entry, now) }
        // A calendar has one component at least (section 3.4).
        if calendar.entries.isEmpty { self.addZone() }
        self.line("END", "VCALENDAR")
    }

    private mutating func add(_ entry: CalendarEntry, _ now: Timestamp) {
        let summary = Self.escaped(entry.summary)
        self.line("BEGIN", "VEVENT")
        self.line("UID", entry.uid)
        self.line("DTSTAMP", Self.dateTime(now))
        self.line("DTSTART", Self.dateTime(entry.date))
        self.line("SUMMARY", summary)
        self.line("DESCRIPTION", Self.escaped(Self.description(of: entry)))
        self.line("CATEGORIES", entry.kind.rawValue)
        self.line("TRANSP", "TRANSPARENT")
        for lead in entry.leads {
            self.line("BEGIN", "VALARM")
            self.line("ACTION", "DISPLAY")
            self.line("TRIGGER", Self.duration(before: lead))
            self.line("DESCRIPTION", summary)
            self.line("END", "VALARM")
        }
        self.line("END", "VEVENT")
    }

    private mutating func addZone() {
        self.line("BEGIN", "VTIMEZONE")
        self.line("TZID", "UTC")
        self.line("BEGIN", "STANDARD")
        self.line("DTSTART", "19700101T000000")
        self.line("TZOFFSETFROM", "+0000")
        self.line("TZOFFSETTO", "+0000")
        self.line("END", "STANDARD")
        self.line("END", "VTIMEZONE")
    }

    private static func description(of entry: CalendarEntry) -> String {
        var lines = ["App: \(entry.app)"]
        if let host = entry.host { lines.append("Host: \(host)") }
        if let endpoint = entry.endpoint { lines.append("Seen at: \(endpoint)") }
        if let pin = entry.pin { lines.append("Pin: \(pin)") }
        if let role = entry.role { lines.append("Role: \(role.rawValue)") }
        if let rotation = entry.rotation { lines.append("Rotation: \(rotation)") }
        if let certificate = entry.certificate {
            lines.append("Serial number: \(certificate.serial)")
            lines.append("Issuer: \(certificate.issuer)")
        }
        return lines.joined(separator: "\n")
    }

    // MARK: Forms

    /// Appends a content line, folded so that none is longer than allowed and no character is split (section 3.1).
    private mutating func line(_ name: String, _ value: String) {
        var room = Self.width
        for scalar in "\(name):\(value)".unicodeScalars {
            let encoded = UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
            if room < encoded.count {
                self.bytes += [13, 10, 32]
                room = Self.width - 1
            }
            self.bytes += encoded
            room -= encoded.count
        }
        self.bytes += [13, 10]
    }

    /// A TEXT value (section 3.3.11). Control characters, which it cannot hold, and those that turn the direction of
    /// writing or end lines become question marks: the names in certificates are foreign text.
    static func escaped(_ text: String) -> String {
        var out = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": out.append(contentsOf: "\\n".unicodeScalars)
            case "\\", ";", ",":
                out.append("\\")
                out.append(scalar)
            default:
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator: out.append("?")
                default: out.append(scalar)
                }
            }
        }
        return String(out)
    }

    /// A DATE-TIME value in UTC, in whole seconds (section 3.3.5).
    static func dateTime(_ time: Timestamp) -> String {
        Timestamp(seconds: time.seconds).rfc3339.filter { $0 != "-" && $0 != ":" }
    }

    /// A DURATION value back from an event, in whole minutes (section 3.3.6).
    static func duration(before lead: Int64) -> String {
        let (days, minutes) = (lead / 86_400, lead % 86_400 / 60)
        guard minutes > 0 else { return days > 0 ? "-P\(days)D" : "PT0S" }
        return "-P\(days > 0 ? "\(days)D" : "")T\(minutes / 60)H\(minutes % 60)M"
    }
}
