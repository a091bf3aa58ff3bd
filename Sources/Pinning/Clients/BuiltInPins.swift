package import PinWire

/// One host's pins in a file that installs of a kind have built in.
///
/// No document and no switch reaches them: such an install accepts these keys until it is updated, whatever the host's policy says
/// meanwhile.
package struct BuiltInPins: Hashable, Sendable {
    /// How the file is known.
    package enum Origin: String, CaseIterable, Sendable, Hashable {
        /// It was imported: installs have it.
        case imported
        /// It was exported: releases made since then may have it.
        case exported
    }

    package var origin: Origin
    /// In order, each once.
    package var pins: [Pin]
    /// Whether connections that match none of them are refused.
    package var isEnforced: Bool
    /// When the file was noted last.
    package var since: Timestamp

    /// The most files of one host that are remembered for a kind, each with other pins.
    static let limit = 16

    package var json: JSON {
        .members([
            "origin": .string(self.origin.rawValue), "enforced": .bool(self.isEnforced),
            "pins": .array(self.pins.map { .string($0.description) }), "since": .string(self.since.rfc3339),
        ])
    }
}

/// A host of a file that installs have built in, or are to have.
package struct BuiltInHost: Hashable, Sendable {
    package var pattern: HostPattern
    /// In order, each once.
    package var pins: [Pin]
    /// Whether connections that match none of them are refused.
    package var isEnforced: Bool

    package init(_ pattern: HostPattern, pins: some Sequence<Pin>, isEnforced: Bool) {
        self.pattern = pattern
        self.pins = Set(pins).sorted()
        self.isEnforced = isEnforced
    }

    var json: JSON {
        [
            "host": .string(self.pattern.text), "enforced": .bool(self.isEnforced),
            "pins": .array(self.pins.map { .string($0.description) }),
        ]
    }

    /// Reads ``json``.
    init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            var pins: [Pin] = []
            for pin in try m.required("pins").elements(atMost: App.pinLimit) {
                pins.append(try pin.parse(Pin.init(text:)))
            }
            return BuiltInHost(
                try m.required("host").parse(HostPattern.init), pins: pins,
                isEnforced: try m.required("enforced").bool())
        }
    }
}

extension Client {
    /// Whether the newest file of a host has these pins, and its installs are known to have it.
    package func knows(_ host: BuiltInHost, _ origin: BuiltInPins.Origin) -> Bool {
        guard let newest = self.builtIn[host.pattern]?.last else { return false }
        return newest.pins == host.pins && newest.isEnforced == host.isEnforced
            && (newest.origin == origin || newest.origin == .imported)
    }

    /// Takes in a file that installs have, or are to have, for a host. A file with the same pins is noted again; where there are too many,
    /// the oldest export is forgotten first.
    mutating func take(_ file: BuiltInPins, of pattern: HostPattern) {
        var file = file
        var files = self.builtIn[pattern] ?? []
        if let place = files.firstIndex(where: { $0.pins == file.pins && $0.isEnforced == file.isEnforced }) {
            if files[place].origin == .imported { file.origin = .imported }
            files.remove(at: place)
        }
        if files.count == BuiltInPins.limit {
            files.remove(at: files.firstIndex { $0.origin == .exported } ?? files.startIndex)
        }
        self.builtIn[pattern] = files + [file]
    }
}

extension App {
    /// The events that note the pins of a file of a kind. Hosts that the app has not, and those of which it is known already, are left out.
    func note(
        _ hosts: [BuiltInHost], _ origin: BuiltInPins.Origin, of kind: ClientKind
    ) throws(Refusal) -> [AppEvent] {
        guard let client = self.clients[kind] else { throw .clientUnknown(self.id, kind) }
        guard !kind.isServed else { return [] }
        return hosts.filter { host in
            self.hosts[host.pattern] != nil && (1...Self.pinLimit).contains(host.pins.count)
                && !client.knows(host, origin)
        }.map { .builtInPinsNoted(kind, $0, origin) }
    }
}
