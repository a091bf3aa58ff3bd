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
                "mode": .string(pins.isEmpty ? PinMode.off.rawValue : host.outcome.rawValue),
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
    /// takes them. It compares the server's own certificate alone, so that those of authorities would match nothing. A
    /// certificate that has expired stays: the file must not change with the time.
    mutating func flutter(_ entries: [ExportPlan.Entry]) {
        var members: [String: JSON] = [:]
        for entry in entries {
            var fingerprints: [String] = []
            for pin in entry.host?.orderedPins ?? [] {
                let certificates = pin.certificates.filter { !$0.isAuthority }
                if certificates.isEmpty {
                    self.notes.append(
                        "\(entry.name): \(pin.pin) left out. "
                            + (pin.isAuthority
                                ? "It is an authority's, and \(self.format.title) compares the server's certificate."
                                : "Nobody showed a certificate of its key, and whole certificates are compared."))
                }
                fingerprints += certificates.map { Hex.encode($0.sha256) }.sorted()
            }
            if fingerprints.isEmpty {
                self.notes.append("\(entry.name): left out. None of its pins has a certificate that would match.")
            } else {
                members[entry.name] = .array(fingerprints.map { .string($0) })
            }
        }
        self.bytes = JSON.object(members).indentedBytes
    }

    /// One command line for each host, to take the option `--pinnedpubkey` from (curl 7.47 and later).
    mutating func curl(_ entries: [ExportPlan.Entry]) {
        var out = SourceText()
        out.add(self.header("#"))
        for entry in entries {
            let pins = (entry.host?.orderedPins ?? []).map { "sha256//\($0.pin.base64)" }.joined(separator: ";")
            out.add()
            out.add("# \(Quoting.comment(entry.name))")
            out.add("curl --pinnedpubkey \(Quoting.shell(pins)) \(Quoting.shell("https://\(entry.name)/"))")
        }
        self.bytes = out.bytes
    }

    /// The header that each host would send (RFC 7469 section 2.1), after the host's name as requests write it.
    ///
    /// `max-age` counts from the last response, and cannot be taken from a date without changing every day; it is
    /// always 60 days, which section 4.1 calls a balance.
    mutating func publicKeyPins(_ entries: [ExportPlan.Entry]) {
        var out = SourceText()
        out.add(self.header("#"))
        for entry in entries {
            guard let host = entry.host else { continue }
            var directives = host.orderedPins.map { "pin-sha256=\"\($0.pin.base64)\"" }
            directives.append("max-age=5184000")
            if entry.reach != .own { directives.append("includeSubDomains") }
            let name = host.outcome == .enforce ? "Public-Key-Pins" : "Public-Key-Pins-Report-Only"
            out.add()
            out.add("Host: \(entry.name)")
            out.add("\(name): \(directives.joined(separator: "; "))")
        }
        self.bytes = out.bytes
    }

    /// The public keys of all pins, and the certificates known of them, with lines between that readers pass over
    /// (RFC 7468 section 5.2). A key that several hosts pin stands once.
    mutating func pem(_ hosts: [ClientView.Host], _ material: [[UInt8]: [UInt8]]) throws(ExportRefusal) {
        var places: [Pin: [String]] = [:]
        var pins: [ClientView.ClientPin] = []
        for host in hosts {
            for pin in host.orderedPins {
                if places[pin.pin] == nil { pins.append(pin) }
                places[pin.pin, default: []].append("\(host.pattern) (\(pin.role.rawValue))")
            }
        }
        func der(_ digest: [UInt8]) -> [UInt8]? { material[digest].flatMap { sha256($0) == digest ? $0 : nil } }
        var out = SourceText()
        out.add(self.header("#"))
        var isEmpty = true
        for pin in pins {
            let key = der(pin.pin.bytes)
            let certificates = pin.certificates.sorted { $0.sha256.lexicographicallyPrecedes($1.sha256) }
                .compactMap { der($0.sha256) }
            if key == nil {
                self.notes.append(
                    certificates.isEmpty
                        ? "\(pin.pin): left out. Nobody showed more than the pin."
                        : "\(pin.pin): its public key is not at hand by itself; its certificates have it.")
            }
            guard key != nil || !certificates.isEmpty else { continue }
            isEmpty = false
            out.add()
            out.add("# \(pin.pin): \((places[pin.pin] ?? []).joined(separator: ", "))")
            if let key { out.add(Self.block("PUBLIC KEY", key)) }
            for certificate in certificates { out.add(Self.block("CERTIFICATE", certificate)) }
        }
        guard !isEmpty else { throw .noMaterial(notes: self.notes) }
        self.bytes = out.bytes
    }

    private static func block(_ label: String, _ der: [UInt8]) -> [String] {
        let text = Array(Base64.encode(der).utf8)
        let lines = stride(from: 0, to: text.count, by: 64).map {
            String(decoding: text[$0..<min($0 + 64, text.count)], as: UTF8.self)
        }
        return ["-----BEGIN \(label)-----"] + lines + ["-----END \(label)-----"]
    }
}
