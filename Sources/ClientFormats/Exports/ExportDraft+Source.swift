import PinWire
import Pinning

extension ExportDraft {
    /// A `CertificatePinner` of OkHttp. A host with all names below it is written under both its name and `**.`, which
    /// since 4.3 means the same again.
    mutating func certificatePinner(_ entries: [ExportPlan.Entry]) {
        var out = SourceText()
        out.add(self.header("//"))
        out.add("package pinledger")
        out.add()
        out.add("import okhttp3.CertificatePinner")
        out.add()
        out.add("/** Refuses connections of which no certificate has one of these keys. */")
        out.add("val certificatePinner: CertificatePinner = CertificatePinner.Builder()")
        for entry in entries {
            guard let host = entry.host else { continue }
            let patterns =
                switch entry.reach {
                case .all: [entry.name, "**.\(entry.name)"]
                case .below: ["*.\(entry.name)"]
                default: [entry.name]
                }
            for pattern in patterns {
                out.add(".add(", depth: 1)
                out.add("\(Quoting.kotlin(pattern)),", depth: 2)
                out.add(Self.listed(host.orderedPins) { Quoting.kotlin($0.description) }, depth: 2)
                out.add(")", depth: 1)
            }
        }
        out.add(".build()", depth: 1)
        self.bytes = out.bytes
    }

    /// A dictionary of NetKit's `PinnedKey` values by host. NetKit compares names exactly.
    ///
    /// Versions without that type compare keys themselves. Where they are known of all pins of a host, they stand there
    /// too, behind a condition of the compiler: one key fewer could be the one that is served.
    mutating func netKit(_ entries: [ExportPlan.Entry], _ der: [[UInt8]: [UInt8]]) {
        let material = NetKitMaterial(material: der)
        var out = SourceText()
        out.add(self.header("//"))
        out.add("import NetKit")
        out.add()
        let raw = entries.filter { entry in
            entry.host?.pins.allSatisfy { material.rawKey(of: $0) != nil } ?? false
        }
        if !raw.isEmpty {
            out.add([
                "#if NETKIT_KEY_DATA", "import Foundation", "",
                "/// The keys of which each host's chain must have one, for versions of NetKit without `PinnedKey`:",
                "/// as `SecKeyCopyExternalRepresentation` gives them.",
            ])
            out.add(
                Self.dictionary(of: "Data", raw) { pin in
                    "Data(base64Encoded: \(Quoting.swift(Base64.encode(material.rawKey(of: pin) ?? []))))!"
                })
            out.add("#else")
            let names = Set(raw.map(\.name))
            for entry in entries where !names.contains(entry.name) {
                self.notes.append(
                    "\(entry.name): left out for versions of NetKit without PinnedKey. They compare keys themselves, "
                        + "which are not known of all its pins; `pinledger pin describe APP FILE` keeps them."
                )
            }
        }
        out.add("/// The keys of which each host's chain must have one.")
        out.add(
            Self.dictionary(of: "PinnedKey", entries) { "PinnedKey.spkiSHA256(\(Quoting.swift($0.pin.base64)))" })
        if !raw.isEmpty { out.add("#endif") }
        self.bytes = out.bytes
    }

    /// The lines of a constant with a list of items for each host.
    private static func dictionary(
        of type: String, _ entries: [ExportPlan.Entry], _ item: (ClientView.ClientPin) -> String
    ) -> [String] {
        let start = "let pinnedKeys: [String: [\(type)]] = ["
        guard !entries.isEmpty else { return [start + ":]"] }
        var lines = [start]
        for entry in entries {
            lines.append("    \(Quoting.swift(entry.name)): [")
            for pin in entry.host?.orderedPins ?? [] { lines.append("        \(item(pin)),  // \(pin.role.rawValue)") }
            lines.append("    ],")
        }
        return lines + ["]"]
    }

    /// A constant in Swift 5 and later for an app that falls back on it.
    mutating func swift(_ hosts: ExportHosts) {
        var out = SourceText()
        out.add(self.header("//"))
        out.add([
            "", "/// The pins that hold until the app has fetched others.", "enum PinledgerPins {",
            "    /// A host name, or `*.` and one for exactly one more label, and the keys that its chain may have.",
            "    struct Host {", "        let pattern: String",
            "        /// Whether all names below are meant too.", "        let includesSubdomains: Bool",
            "        /// SHA-256 of the SubjectPublicKeyInfo in base64. Where there are none, pins are not looked at,",
            "        /// whatever a wider pattern says.", "        let pins: [String]", "    }", "",
            "    /// In seconds since 1970, the time after which pins are not looked at; nil for never.",
        ])
        out.add("static let validUntil: Int64? = \(self.validUntilLiteral(nil: "nil"))", depth: 1)
        out.add()
        let all = hosts.withExceptions
        out.add(all.isEmpty ? "static let hosts: [Host] = []" : "static let hosts: [Host] = [", depth: 1)
        for (host, pins) in all {
            let name = Quoting.swift(host.pattern.text)
            let start = "Host(pattern: \(name), includesSubdomains: \(host.includesSubdomains), pins: ["
            out.add(pins.isEmpty ? start + "])," : start, depth: 2)
            guard !pins.isEmpty else { continue }
            for pin in pins { out.add("\(Quoting.swift(pin.pin.base64)),  // \(pin.role.rawValue)", depth: 3) }
            out.add("]),", depth: 2)
        }
        if !all.isEmpty { out.add("]", depth: 1) }
        out.add("}")
        self.finish(out, hosts)
    }

    /// A constant in Kotlin 1.3 and later for an app that falls back on it.
    mutating func kotlin(_ hosts: ExportHosts) {
        var out = SourceText()
        out.add(self.header("//"))
        out.add([
            "package pinledger", "", "/** The pins that hold until the app has fetched others. */",
            "object PinledgerPins {", "    /**",
            "     * A host name, or `*.` and one for exactly one more label, and the keys that its chain may have:",
            "     * SHA-256 of the SubjectPublicKeyInfo in base64. Where there are none, pins are not looked at,",
            "     * whatever a wider pattern says.", "     */",
            "    class Host(val pattern: String, val includesSubdomains: Boolean, val pins: List<String>)", "",
            "    /** In seconds since 1970, the time after which pins are not looked at; null for never. */",
        ])
        out.add("val validUntil: Long? = \(self.validUntilLiteral(nil: "null", suffix: "L"))", depth: 1)
        out.add()
        let all = hosts.withExceptions
        out.add(all.isEmpty ? "val hosts: List<Host> = listOf()" : "val hosts: List<Host> = listOf(", depth: 1)
        for (place, (host, pins)) in all.enumerated() {
            let start = "Host(\(Quoting.kotlin(host.pattern.text)), \(host.includesSubdomains), listOf("
            let end = place + 1 < all.count ? "))," : "))"
            out.add(pins.isEmpty ? start + end : start, depth: 2)
            guard !pins.isEmpty else { continue }
            out.add(Self.listed(pins) { Quoting.kotlin($0.base64) }, depth: 3)
            out.add(end, depth: 2)
        }
        if !all.isEmpty { out.add(")", depth: 1) }
        out.add("}")
        self.finish(out, hosts)
    }

    private mutating func finish(_ out: SourceText, _ hosts: ExportHosts) {
        self.bytes = out.bytes
        self.noteExceptions(hosts)
    }

    private func validUntilLiteral(nil none: String, suffix: String = "") -> String {
        self.view.document.pinsValidUntil.map { "\($0.seconds)\(suffix)  // \($0)" } ?? none
    }

    /// One line for each pin, each but the last with a comma: Kotlin allows a trailing one only since 1.4.
    private static func listed(_ pins: [ClientView.ClientPin], _ literal: (Pin) -> String) -> [String] {
        pins.enumerated().map { place, pin in
            "\(literal(pin.pin))\(place + 1 < pins.count ? "," : "")  // \(pin.role.rawValue)"
        }
    }
}

extension ExportHosts {
    /// Hosts with their pins, and hosts without any that have to be excepted from them, by pattern.
    var withExceptions: [(host: ClientView.Host, pins: [ClientView.ClientPin])] {
        (self.kept.map { ($0, $0.orderedPins) } + self.exceptions.map { ($0, []) })
            .sorted { $0.0.pattern < $1.0.pattern }
    }
}

extension ExportDraft {
    /// Notes the hosts that stand in the file without pins.
    mutating func noteExceptions(_ hosts: ExportHosts) {
        for host in hosts.exceptions {
            self.notes.append(
                "\(host.pattern) stands in the file without pins, so that no wider pattern's hold for it.")
        }
    }
}
