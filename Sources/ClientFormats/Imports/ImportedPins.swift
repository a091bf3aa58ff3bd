package import PinWire
package import Pinning

/// The readable formats of files with built-in pins.
package enum ImportFormat: String, CaseIterable, Sendable, Hashable {
    /// A network security configuration of Android, with or without `trustkit-config`.
    case androidNSC = "android_nsc"
    /// A property list with `TSKConfiguration`, or its content.
    case trustkitIOS = "trustkit_ios"
    /// A property list with `NSAppTransportSecurity`, or its content.
    case appleATS = "apple_ats"
    /// Headers of RFC 7469.
    case hpkp

    /// The clients that read such files; nil for headers.
    fileprivate var kind: ClientKind? {
        switch self {
        case .androidNSC: .androidNSC
        case .trustkitIOS: .trustkitIOS
        case .appleATS: .appleATS
        case .hpkp: nil
        }
    }
}

/// The built-in pins of a file for another client, and what of it could not be taken over.
package struct ImportedPins: Hashable, Sendable {
    /// By pattern, each once.
    package internal(set) var hosts: [Host] = []
    /// In the order of their places.
    package internal(set) var findings: [Finding] = []
    /// The clients of the file; nil for headers, which browsers ignore today.
    package internal(set) var kind: ClientKind?
    /// The pins that are known to be no keys', in the file's order. Hosts have them too.
    package private(set) var placeholders: [WrittenPlaceholder] = []
    /// The limit that the file exceeds; nothing of it is taken then.
    private var excess: TextDefect?

    /// The most findings of one file: a file with more is of another kind, or should be imported in parts.
    package static let findingLimit = 500
    /// The most pins of all hosts together. Few lines can give many hosts many pins; a document would have no room for
    /// more.
    package static let pinLimit = 10_000
    private var pinCount = 0

    /// The file's settings of one pattern.
    package struct Host: Hashable, Sendable {
        package var pattern: HostPattern
        /// Whether the pattern covers all names below.
        package var includesSubdomains: Bool
        /// In the file's order, each once. None where the mode is `off`.
        package var pins: [Pin]
        /// `off` for names that the file excepts from a wider pattern.
        package var mode: PinMode
        /// The beginning in UTC of the file's date, if it has one.
        package var validUntil: Timestamp?
        /// Its place in the file.
        package internal(set) var line = 1
        package internal(set) var column = 1

        package init(
            pattern: HostPattern, includesSubdomains: Bool = false, pins: [Pin] = [], mode: PinMode = .enforce,
            validUntil: Timestamp? = nil
        ) {
            self.pattern = pattern
            self.includesSubdomains = includesSubdomains
            self.pins = pins
            self.mode = mode
            self.validUntil = validUntil
        }
    }

    /// A pin that is known to be no key's, as it stands in the file.
    package struct WrittenPlaceholder: Hashable, Sendable {
        package let pin: Pin
        package let placeholder: Pin.Placeholder
        /// The text in the file, without white space around it.
        package let text: String
        package let line: Int
        package let column: Int
    }

    /// Something that was not understood, or that has no counterpart here.
    package struct Finding: Hashable, Sendable, CustomStringConvertible {
        package let line: Int
        package let column: Int
        /// A sentence.
        package let message: String
        /// Whether pins that the file means here could not be read: the rest is not what its author wanted.
        package let isDefect: Bool
        /// The remedy, as a sentence; nil for the one of all findings, or of all defects.
        package let advice: String?

        package var description: String { "line \(self.line), column \(self.column): \(self.message)" }
    }

    /// Reads a file of at most ``XMLReader/sizeLimit`` bytes.
    ///
    /// - Parameters:
    ///   - host: For ``ImportFormat/hpkp``, the host that sent headers that follow no line `Host:`.
    /// - Throws: ``TextDefect`` where the text is not of the format at all, or has more findings, hosts or pins than
    ///   can be kept; a defect of one part is a finding.
    package init(_ bytes: [UInt8], as format: ImportFormat, host: HostPattern? = nil) throws(TextDefect) {
        self.kind = format.kind
        switch format {
        case .androidNSC: try self.readNetworkSecurity(try XMLReader.read(bytes))
        case .trustkitIOS: try self.readTrustKit(try XMLReader.read(bytes).propertyList())
        case .appleATS: try self.readTransportSecurity(try XMLReader.read(bytes).propertyList())
        case .hpkp: try self.readPublicKeyPins(bytes, host)
        }
        if let excess { throw excess }
        self.dropIdleExceptions()
        self.hosts.sort { $0.pattern < $1.pattern }
        self.findings.sort { ($0.line, $0.column) < ($1.line, $1.column) }
    }

    /// The part of a file that a message repeats: at most a line.
    static func quoted(_ text: String) -> String { Quoting.comment(String(text.prefix(100))) }

    mutating func say(_ message: String, at element: XMLElement, isDefect: Bool = false, advice: String? = nil) {
        self.say(message, line: element.line, column: element.column, isDefect: isDefect, advice: advice)
    }

    mutating func say(
        _ message: String, line: Int, column: Int, isDefect: Bool = false, advice: String? = nil
    ) {
        guard self.findings.count < Self.findingLimit else {
            self.refuse(
                "more than \(Self.findingLimit) things up to here are not understood", line: line, column: column)
            return
        }
        self.findings.append(
            Finding(line: line, column: column, message: message, isDefect: isDefect, advice: advice))
    }

    /// Notes the first limit that the file exceeds.
    private mutating func refuse(_ message: String, line: Int, column: Int) {
        self.excess = self.excess ?? TextDefect(line: line, column: column, message)
    }

    /// Adds a pin to those of a host, each once.
    mutating func add(_ pin: Pin, to pins: inout [Pin], line: Int, column: Int) {
        guard !pins.contains(pin) else { return }
        guard pins.count < App.pinLimit else {
            self.refuse("a host may have at most \(App.pinLimit) pins", line: line, column: column)
            return
        }
        pins.append(pin)
    }

    /// The pattern of a name, for formats that know no wildcards.
    ///
    /// - Parameter isPinned: Whether pins are lost where it is malformed.
    mutating func name(_ text: String, at element: XMLElement, isPinned: Bool = true) -> HostPattern? {
        do {
            let pattern = try HostPattern(text)
            guard pattern.isWildcard else { return pattern }
            self.say("\(text) is no name: nothing here matches a wildcard.", at: element, isDefect: isPinned)
        } catch {
            self.say("\"\(Self.quoted(text))\" \(error).", at: element, isDefect: isPinned)
        }
        return nil
    }

    /// The pins of a host, each once, as devices decode them; malformed ones are noted.
    ///
    /// - Parameter strictReader: The client that does not start where base64 has white space or lacks its padding, by its
    ///   title; nil for clients that take both.
    mutating func pins(_ texts: [(text: String, element: XMLElement)], strictReader: String? = nil) -> [Pin] {
        var pins: [Pin] = []
        for (text, element) in texts {
            if let strictReader, Base64.decodeLoosely(text) != nil, !Self.isBare(text) {
                self.say(
                    "\(strictReader) does not start with this pin: its base64 has white space, or lacks its padding.",
                    at: element, isDefect: true, advice: "Write its 44 characters alone, with = as the last one.")
            }
            guard let pin = Base64.decodeLoosely(text).flatMap({ Pin(bytes: $0) }) else {
                self.say("This is not the base64 of 32 bytes, and no pin.", at: element, isDefect: true)
                continue
            }
            self.notePlaceholder(
                pin, written: element.trimmedText, line: element.line, column: element.column)
            self.add(pin, to: &pins, line: element.line, column: element.column)
        }
        return pins
    }

    /// Notes a pin that is known to be no key's.
    mutating func notePlaceholder(_ pin: Pin, written text: String, line: Int, column: Int) {
        guard let placeholder = pin.placeholder else { return }
        guard self.placeholders.count < Self.findingLimit else {
            self.refuse("more than \(Self.findingLimit) pins up to here are no keys'", line: line, column: column)
            return
        }
        self.placeholders.append(
            WrittenPlaceholder(
                pin: pin, placeholder: placeholder, text: Self.quoted(text), line: line, column: column))
    }

    /// True for base64 with its padding and without white space.
    private static func isBare(_ text: String) -> Bool {
        text.utf8.count.isMultiple(of: 4) && text.utf8.allSatisfy { $0 > 0x20 }
    }

    /// The beginning of a day written `2026-01-31`.
    mutating func date(_ text: String, at element: XMLElement) -> Timestamp? {
        if text.utf8.count == 10, let time = Timestamp(rfc3339: text + "T00:00:00Z") { return time }
        self.say(
            "\"\(Self.quoted(text))\" is not a date such as 2026-01-31; the pins are taken without one.",
            at: element)
        return nil
    }

    /// Adds a host, unless its pattern is there already or it has no pins where it should.
    mutating func add(_ host: Host, at element: XMLElement) {
        self.add(host, line: element.line, column: element.column)
    }

    mutating func add(_ host: Host, line: Int, column: Int) {
        guard self.excess == nil else { return }
        if self.hosts.contains(where: { $0.pattern == host.pattern }) {
            self.say("\(host.pattern) is there already; the first counts.", line: line, column: column)
        } else if host.mode != .off, host.pins.isEmpty {
            self.say("\(host.pattern) has no pins.", line: line, column: column)
        } else if self.hosts.count == App.hostLimit {
            self.refuse("an app may have at most \(App.hostLimit) hosts", line: line, column: column)
        } else if self.pinCount + host.pins.count > Self.pinLimit {
            self.refuse("a file may have at most \(Self.pinLimit) pins of all hosts", line: line, column: column)
        } else {
            self.pinCount += host.pins.count
            var host = host
            (host.line, host.column) = (line, column)
            self.hosts.append(host)
        }
    }

    /// Drops hosts without pins that lie below no other host's names: they except nothing.
    private mutating func dropIdleExceptions() {
        let upper = self.hosts.filter { $0.mode != .off && $0.includesSubdomains }.map { "." + $0.pattern.name }
        func isIdle(_ host: Host) -> Bool {
            host.mode == .off && !upper.contains { host.pattern.name.hasSuffix($0) }
        }
        let idle = self.hosts.filter(isIdle)
        guard !idle.isEmpty else { return }
        self.hosts.removeAll(where: isIdle)
        for host in idle.prefix(Self.findingLimit - self.findings.count) {
            self.say(
                "\(host.pattern) has no pins, and is not taken over.", line: host.line, column: host.column)
        }
    }
}
