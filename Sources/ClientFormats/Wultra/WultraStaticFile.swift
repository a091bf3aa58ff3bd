import PinWire
package import Pinning

/// The file from which clients read their pins where they use no server (`useChallenge(false)` on Android, iOS up to
/// 1.8): JSON with `fingerprints`, each entry with a signature of its own, as Wultra's ssl-pinning-tool writes it.
///
/// It leaves out everything that such a signature does not cover, because anyone who can change the file could write it
/// too: no `depth` and so no authorities' certificates, no `domainsConfig`.
package struct WultraStaticFile: Sendable {
    /// By name; of one name those first that expire last; then by fingerprint.
    package let entries: [WultraEntry]
    /// Parts that were left out or differ from clients' expectation, as sentences; empty where there are none.
    package let notes: [String]

    package init(_ view: ClientView, _ settings: ClientSettings) {
        let expiry = WultraExpiry(days: settings.entryDays, at: view.now)
        self.entries = WultraEntry.entries(of: view, settings, expiry).filter { $0.depth == 0 }.sorted { left, right in
            if left.name != right.name { return left.name.utf8.lexicographicallyPrecedes(right.name.utf8) }
            if left.expires != right.expires { return left.expires > right.expires }
            return left.fingerprint.lexicographicallyPrecedes(right.fingerprint)
        }
        let hosts = view.hosts.sorted { $0.pattern < $1.pattern }
        var notes = hosts.flatMap { Self.notes(on: $0, settings, expiry) }
        if let note = HostNotes.killSwitch(among: hosts.filter { !$0.pins.isEmpty }) { notes.append(note) }
        self.notes = notes
    }

    private static func notes(
        on host: ClientView.Host, _ settings: ClientSettings, _ expiry: WultraExpiry
    ) -> [String] {
        let pattern = host.pattern
        guard host.mode != nil else { return ["\(pattern): left out. \(HostNotes.isBuiltin)."] }
        guard !host.pins.isEmpty else { return ["\(pattern): left out. \(HostNotes.hasNoPins)."] }
        var notes: [String] = []
        for pin in host.orderedPins {
            guard let why = Self.obstacle(of: pin, host, settings, expiry) else { continue }
            notes.append("\(pattern): \(pin.pin) left out. \(why).")
        }
        if notes.count == host.pins.count {
            notes.append("\(pattern): left out. Clients find none of its certificates.")
        } else if let mode = host.mode, mode != .enforce {
            notes.append(
                "\(pattern) is in the file although its mode is \(mode.rawValue): clients refuse a server of which "
                    + "they have no entry.")
        }
        if let note = HostNotes.candidate(of: host) { notes.append(note) }
        return notes
    }

    /// Why a pin has no entry, as a sentence without its full stop; nil where it has one.
    private static func obstacle(
        of pin: ClientView.ClientPin, _ host: ClientView.Host, _ settings: ClientSettings, _ expiry: WultraExpiry
    ) -> String? {
        guard !pin.certificates.isEmpty else { return HostNotes.hasNoCertificate }
        let own = pin.serverCertificates(at: host.pattern).filter { !settings.withholds($0, at: host.pattern) }
        guard let last = own.first else {
            return "It is an authority's, and entries of the file are for servers' own certificates"
        }
        return own.contains { expiry.end(of: $0) != nil } ? nil : "Its last certificate expired at \(last.notAfter)"
    }

    /// The file as UTF-8.
    ///
    /// - Parameter signatures: For each of ``entries`` in their order, an ECDSA-Sig-Value in DER of its
    ///   ``WultraEntry/signingInput``, made with P-256 and SHA-256.
    /// - Returns: Nil unless there are as many signatures as entries.
    package func bytes(signatures: [[UInt8]]) -> [UInt8]? {
        guard signatures.count == self.entries.count else { return nil }
        let signed = zip(self.entries, signatures).map { $0.json(signature: $1) }
        return OrderedJSON.members(["fingerprints": .array(signed)]).bytes()
    }
}
