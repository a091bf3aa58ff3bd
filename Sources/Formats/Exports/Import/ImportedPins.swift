package import PinWire

/// The files with built-in pins that are read.
package enum ImportFormat: String, CaseIterable, Sendable, Hashable {
    /// A network security configuration of Android, with or without `trustkit-config`.
    case androidNSC = "android_nsc"
    /// A property list with `TSKConfiguration`, or what is in it.
    case trustkitIOS = "trustkit_ios"
    /// A property list with `NSAppTransportSecurity`, or what is in it.
    case appleATS = "apple_ats"
    /// Headers of RFC 7469.
    case hpkp
}

/// The pins that a file for another client has built in, and what of it could not be taken over.
package struct ImportedPins: Hashable, Sendable {
    /// By pattern, each once.
    package internal(set) var hosts: [Host] = []
    /// In the order of their places.
    package internal(set) var findings: [Finding] = []

    /// What the file says of one pattern.
    package struct Host: Hashable, Sendable {
        package var pattern: HostPattern
        /// Whether all names below are meant too.
        package var includesSubdomains: Bool
        /// In the file's order, each once. None where the mode is `off`.
        package var pins: [Pin]
        /// `off` for names that the file excepts from a wider pattern.
        package var mode: PinMode
        /// Where the file has a date, its beginning in UTC.
        package var validUntil: Timestamp?

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

    /// Something that was not understood, or that has no counterpart here.
    package struct Finding: Hashable, Sendable, CustomStringConvertible {
        package let line: Int
        package let column: Int
        /// A sentence.
        package let message: String

        package var description: String { "line \(self.line), column \(self.column): \(self.message)" }
    }

    /// Reads a file of at most ``XMLReader/sizeLimit`` bytes.
    ///
    /// - Parameters:
    ///   - host: of ``ImportFormat/hpkp``, the host that sent headers before which no line `Host:` stands.
    /// - Throws: ``TextDefect`` where the text is not of the format at all; what is wrong with a part of it is a
    ///   finding.
    package init(_ bytes: [UInt8], as format: ImportFormat, host: HostPattern? = nil) throws(TextDefect) {
        switch format {
        case .androidNSC: try self.readNetworkSecurity(try XMLReader.read(bytes))
        case .trustkitIOS: try self.readTrustKit(try XMLReader.read(bytes).propertyList())
        case .appleATS: try self.readTransportSecurity(try XMLReader.read(bytes).propertyList())
        case .hpkp: try self.readPublicKeyPins(bytes, host)
        }
        self.dropIdleExceptions()
        self.hosts.sort { $0.pattern < $1.pattern }
        self.findings.sort { ($0.line, $0.column) < ($1.line, $1.column) }
    }

    mutating func say(_ message: String, at element: XMLElement) {
        self.say(message, line: element.line, column: element.column)
    }

    mutating func say(_ message: String, line: Int, column: Int) {
        self.findings.append(Finding(line: line, column: column, message: message))
    }

    /// The pattern that a name is, for formats that know no wildcards.
    mutating func name(_ text: String, at element: XMLElement) -> HostPattern? {
        do {
            let pattern = try HostPattern(text)
            guard pattern.isWildcard else { return pattern }
            self.say("\(text) is no name: nothing here matches a wildcard.", at: element)
        } catch {
            self.say("\"\(Quoting.comment(text))\" \(error).", at: element)
        }
        return nil
    }

    /// The pins of a host, each once; what is no pin is said.
    mutating func pins(_ texts: [(text: String, element: XMLElement)]) -> [Pin] {
        var pins: [Pin] = []
        for (text, element) in texts {
            guard let pin = Base64.decode(text).flatMap({ Pin(bytes: $0) }) else {
                self.say("This is not the base64 of 32 bytes, and no pin.", at: element)
                continue
            }
            if !pins.contains(pin) { pins.append(pin) }
        }
        return pins
    }

    /// The beginning of a day written `2026-01-31`.
    mutating func date(_ text: String, at element: XMLElement) -> Timestamp? {
        if text.utf8.count == 10, let time = Timestamp(rfc3339: text + "T00:00:00Z") { return time }
        self.say(
            "\"\(Quoting.comment(text))\" is not a date such as 2026-01-31; the pins are taken without one.",
            at: element)
        return nil
    }

    /// Adds a host, unless its pattern is there already or it has no pins where it should.
    mutating func add(_ host: Host, at element: XMLElement) {
        self.add(host, line: element.line, column: element.column)
    }

    mutating func add(_ host: Host, line: Int, column: Int) {
        if self.hosts.contains(where: { $0.pattern == host.pattern }) {
            self.say("\(host.pattern) is there already; the first counts.", line: line, column: column)
        } else if host.mode != .off, host.pins.isEmpty {
            self.say("\(host.pattern) has no pins.", line: line, column: column)
        } else {
            self.hosts.append(host)
        }
    }

    /// Drops hosts without pins that lie below no other host's names: they except nothing.
    private mutating func dropIdleExceptions() {
        let upper = self.hosts.filter { $0.mode != .off && $0.includesSubdomains }.map(\.pattern.name)
        self.hosts.removeAll { host in
            host.mode == .off && !upper.contains { host.pattern.name.hasSuffix("." + $0) }
        }
    }
}
