import PinWire
import Pinning

extension ExportDraft {
    /// Hosts with their modes and pins. `mode` is `enforce`, `report_only`, or `off` for a host that is excepted from a
    /// wider one.
    mutating func json(_ hosts: ExportHosts) {
        let all = hosts.withExceptions.map { host, pins -> JSON in
            [
                "host": .string(host.pattern.text),
                "include_subdomains": .bool(host.includesSubdomains),
                "mode": .string((pins.isEmpty ? PinMode.off : host.mode ?? .off).rawValue),
                "pins": .array(
                    pins.map { ["pin": .string($0.pin.description), "role": .string($0.role.rawValue)] }),
            ]
        }
        self.bytes =
            JSON.members([
                "app": .string(self.view.app.text),
                "check": .string(self.check),
                "display_name": .string(self.view.displayName),
                "hosts": .array(all),
                "made_by": "Pinledger",
                "pins_valid_until": self.view.document.pinsValidUntil.map { .string($0.rfc3339) },
            ]).indentedBytes
        self.noteExceptions(hosts)
    }

    /// The argument of `initializeSslPinning` (react-native-ssl-public-key-pinning 1). JSON has no comments, and every
    /// member would be taken for a host. On iOS it is refused without a host, by TrustKit.
    mutating func reactNative(_ entries: [ExportPlan.Entry]) throws(ExportRefusal) {
        guard !entries.isEmpty else { throw .nothingToPin(self.format, notes: self.notes) }
        var members: [String: JSON] = [:]
        for entry in entries {
            guard let host = entry.host else { continue }
            members[entry.name] = .members([
                "expirationDate": self.validUntilDate.map { .string($0) },
                "includeSubdomains": .bool(entry.reach != .own),
                "publicKeyHashes": .array(host.orderedPins.map { .string($0.pin.base64) }),
            ])
        }
        self.bytes = JSON.object(members).indentedBytes
    }

    /// By host, SHA-256 of whole certificates in hexadecimal, as `allowedSHAFingerprints` of http_certificate_pinning 3
    /// takes them. It compares only the server's own certificate, so that authorities' certificates would match
    /// nothing. An expired certificate stays: the file must not change with the time.
    mutating func flutter(_ entries: [ExportPlan.Entry]) {
        let title = self.form.title
        var members: [String: JSON] = [:]
        for entry in entries {
            guard let host = entry.host else { continue }
            let pins = self.usable(of: host, as: entry.name) { pin in
                if !pin.serverCertificates(at: host.pattern).isEmpty { return nil }
                return pin.isAuthority(at: host.pattern)
                    ? "It is an authority's, and \(title) compares the server's certificate"
                    : HostNotes.hasNoCertificate
            }
            let fingerprints = pins.flatMap { pin in
                pin.serverCertificates(at: host.pattern).map { Hex.encode($0.sha256) }.sorted()
            }
            if !fingerprints.isEmpty { members[entry.name] = .array(fingerprints.map { .string($0) }) }
        }
        self.bytes = JSON.object(members).indentedBytes
    }

    /// One command line for each host, from which to take the option `--pinnedpubkey` (curl 7.47 and later). curl
    /// compares the server's own key.
    mutating func curl(_ entries: [ExportPlan.Entry]) {
        let title = self.form.title
        var out = SourceText()
        out.add(self.header("#"))
        for entry in entries {
            guard let host = entry.host else { continue }
            let pins = self.usable(of: host, as: entry.name) { pin in
                pin.isAuthority(at: host.pattern)
                    ? "It is an authority's, and \(title) compares the server's own key" : nil
            }
            guard !pins.isEmpty else { continue }
            let list = pins.map { "sha256//\($0.pin.base64)" }.joined(separator: ";")
            out.add()
            out.add("# \(Quoting.comment(entry.name))")
            out.add("curl --pinnedpubkey \(Quoting.shell(list)) \(Quoting.shell("https://\(entry.name)/"))")
        }
        self.bytes = out.bytes
    }

    /// The pins of a host that a reader can use, which may be none: with only the pins of keys that no server has yet,
    /// it would refuse every connection.
    ///
    /// - Parameter obstacle: Why it cannot use one, as a sentence without its full stop.
    mutating func usable(
        of host: ClientView.Host, as name: String, _ obstacle: (ClientView.ClientPin) -> String?
    ) -> [ClientView.ClientPin] {
        var usable: [ClientView.ClientPin] = []
        for pin in host.orderedPins {
            if let why = obstacle(pin) {
                self.notes.append("\(name): \(pin.pin) left out. \(why).")
            } else {
                usable.append(pin)
            }
        }
        if usable.isEmpty {
            self.notes.append("\(name): left out. None of its pins would match.")
        } else if !host.leadingPins.contains(where: usable.contains) {
            self.notes.append(
                "\(name): left out. Its servers have yet to get the keys that stay, and with these alone they would be "
                    + "refused.")
            usable = []
        }
        return usable
    }

    /// The header that each host would send (RFC 7469 section 2.1), after the host's name as requests write it.
    ///
    /// `max-age` counts from the last response, and cannot be taken from a date without changing every day; it is
    /// always 60 days, which section 4.1 calls a balance. Without a backup pin browsers ignore the header (section
    /// 4.3).
    mutating func publicKeyPins(_ entries: [ExportPlan.Entry]) {
        var out = SourceText()
        out.add(self.header("#"))
        for entry in entries {
            guard let host = entry.host else { continue }
            var directives = host.orderedPins.map { "pin-sha256=\"\($0.pin.base64)\"" }
            directives.append("max-age=5184000")
            if entry.reach != .own { directives.append("includeSubDomains") }
            let name = host.mode == .enforce ? "Public-Key-Pins" : "Public-Key-Pins-Report-Only"
            out.add()
            out.add("Host: \(entry.name)")
            out.add("\(name): \(directives.joined(separator: "; "))")
            if host.mode == .enforce, host.pins.count < 2 {
                self.notes.append(
                    "\(entry.name) has one pin: RFC 7469 has clients pass over a header without a backup pin.")
            }
        }
        self.bytes = out.bytes
    }

    /// The public keys of all pins, and their known certificates, with lines between that readers ignore (RFC 7468
    /// section 5.2). A key that several hosts pin stands once. Missing material is named.
    mutating func pem(_ hosts: [ClientView.Host], _ material: [[UInt8]: [UInt8]]) throws(ExportRefusal) {
        var places: [Pin: [String]] = [:]
        var pins: [ClientView.ClientPin] = []
        for host in hosts {
            for pin in host.orderedPins {
                if places[pin.pin] == nil { pins.append(pin) }
                places[pin.pin, default: []].append("\(host.pattern) (\(pin.role.rawValue))")
            }
        }
        guard !pins.isEmpty else { throw .nothingToPin(self.format, notes: self.notes) }
        func der(_ digest: [UInt8]) -> [UInt8]? { material[digest].flatMap { sha256($0) == digest ? $0 : nil } }
        var out = SourceText()
        out.add(self.header("#", Quoting.sparseComment))
        var isEmpty = true
        var isWhole = true
        for pin in pins {
            let key = der(pin.pin.bytes)
            let known = pin.certificates.map(\.sha256).sorted { $0.lexicographicallyPrecedes($1) }
            let certificates = known.compactMap(der)
            isWhole = isWhole && key != nil && certificates.count == known.count
            guard key != nil || !certificates.isEmpty else {
                let why =
                    pin.knowledge == nil ? "Nobody showed more than the pin." : "Its key was shown, and is not kept."
                self.notes.append("\(pin.pin): left out. \(why)")
                continue
            }
            if key == nil {
                self.notes.append("\(pin.pin): its public key is not at hand by itself; its certificates have it.")
            }
            for digest in known where der(digest) == nil {
                self.notes.append(
                    "\(pin.pin): its certificate with the SHA-256 \(Hex.encode(digest)) is left out. It was shown, and "
                        + "is not kept.")
            }
            isEmpty = false
            out.add()
            out.add("# \(pin.pin): \((places[pin.pin] ?? []).joined(separator: ", "))")
            if let key { out.add(PEM.lines(key, .publicKey)) }
            for certificate in certificates { out.add(PEM.lines(certificate, .certificate)) }
        }
        if !isWhole {
            self.notes.append(
                "Store the missing material with: pinledger pin describe \(self.view.app) FILE.")
        }
        guard !isEmpty else { throw .noMaterial(notes: self.notes) }
        self.bytes = out.bytes
    }
}
