import PinWire
import Pinning

extension ImportedPins {
    /// The settings of a `domain-config`, its own or inherited.
    private struct Inherited {
        var pins: [Pin] = []
        /// Whether there is a `pin-set` with any content, understood or not.
        var isPinned = false
        var validUntil: Timestamp?
        var mode: PinMode = .enforce
    }

    /// A network security configuration of Android (`XmlConfigSource`), and TrustKit's additions to it.
    ///
    /// Every element and attribute is taken over or in a finding. A finding is a defect where pins are lost, and where
    /// Android refuses the whole file: no install has its pins.
    mutating func readNetworkSecurity(_ root: XMLElement) throws(TextDefect) {
        guard root.name == "network-security-config" else {
            throw root.defect("the root element should be network-security-config, and is \(root.name)")
        }
        self.noteAttributes(of: root, except: [])
        // TrustKit reads all pins of a file that has its settings anywhere.
        let isTrustKit = root.has("trustkit-config")
        var others: Set<String> = []
        for element in root.children {
            switch element.name {
            case "domain-config": self.readDomains(element, Inherited(), isTrustKit)
            case "base-config", "debug-overrides":
                let isSecond = !others.insert(element.name).inserted
                if isSecond { self.refuseSecond(element) }
                self.noteOther(element, isRefused: isSecond)
            default: self.noteUnknown(element)
            }
        }
    }

    private mutating func readDomains(_ config: XMLElement, _ outer: Inherited, _ isTrustKit: Bool) {
        var own = outer
        var domains: [XMLElement] = []
        var single: Set<String> = []
        self.noteAttributes(of: config, except: [])
        // An element's position among its siblings makes no difference.
        for element in config.children {
            if ["pin-set", "trust-anchors"].contains(element.name), !single.insert(element.name).inserted {
                self.refuseSecond(element)
                continue
            }
            switch element.name {
            case "domain": domains.append(element)
            case "pin-set":
                self.noteAttributes(of: element, except: ["expiration"])
                own.pins = self.readPins(element, isTrustKit)
                own.isPinned = !element.children.isEmpty
                own.validUntil = element.attribute("expiration").flatMap { self.end($0, at: element) }
            case "trust-anchors": self.noteAnchors(element)
            case "trustkit-config":
                if !single.insert(element.name).inserted {
                    self.say(
                        "TrustKit takes the last trustkit-config of a domain-config: those before it have no effect.",
                        at: element)
                }
                own.mode = self.readTrustKit(element)
            case "domain-config": break
            default: self.noteUnknown(element)
            }
        }
        if domains.isEmpty {
            self.say("Android refuses a domain-config without a domain.", at: config, isDefect: true)
        }
        for element in domains { self.readDomain(element, own) }
        for element in config.children where element.name == "domain-config" {
            self.readDomains(element, own, isTrustKit)
        }
    }

    private mutating func readDomain(_ element: XMLElement, _ own: Inherited) {
        self.noteAttributes(of: element, except: ["includeSubdomains"])
        let isDeep = self.boolean("includeSubdomains", of: element)
        guard element.children.isEmpty else {
            for child in element.children {
                self.say(
                    "Android refuses a \(child.name) inside of a domain: it belongs beside it, into the domain-config.",
                    at: child, isDefect: true)
            }
            return
        }
        // Many files have names of test servers that are reached without TLS: ignoring those loses nothing.
        let name = self.name(element.trimmedText.lowercased(), at: element, isPinned: own.isPinned)
        guard let pattern = name else { return }
        guard !self.hosts.contains(where: { $0.pattern == pattern }) else {
            self.say("Android refuses a file that names \(pattern) twice.", at: element, isDefect: true)
            return
        }
        var host = Host(pattern: pattern, includesSubdomains: isDeep, mode: .off)
        if own.isPinned {
            host.pins = own.pins
            host.mode = own.mode
            host.validUntil = own.validUntil
        }
        self.add(host, at: element)
    }

    private mutating func readPins(_ set: XMLElement, _ isTrustKit: Bool) -> [Pin] {
        var texts: [(text: String, element: XMLElement)] = []
        for element in set.children {
            guard element.name == "pin" else {
                self.noteUnknown(element)
                continue
            }
            self.noteAttributes(of: element, except: ["digest"])
            let digest = element.attribute("digest")
            if let child = element.children.first {
                self.say("Android refuses a \(child.name) inside of a pin.", at: child, isDefect: true)
            } else if digest?.uppercased() != "SHA-256" {
                self.say("The pin's digest is not SHA-256, the only one there is.", at: element, isDefect: true)
            } else {
                // Android compares the name without regard to case.
                if isTrustKit, digest != "SHA-256" {
                    self.say("TrustKit takes the digest's name in capital letters alone: SHA-256.", at: element)
                }
                texts.append((element.text, element))
            }
        }
        return self.pins(texts)
    }

    /// The end of a `pin-set`; nil where Android reads none.
    private mutating func end(_ text: String, at element: XMLElement) -> Timestamp? {
        guard let date = AndroidDate(text) else {
            self.say(
                "The expiration \"\(Self.quoted(text))\" is not a date such as 2026-01-31, and Android refuses the file.",
                at: element, isDefect: true)
            return nil
        }
        guard let start = date.start else {
            self.say(
                "The expiration \"\(Self.quoted(text))\" is after the year 9999: the pins are taken without an end.",
                at: element)
            return nil
        }
        if !date.isPlain {
            self.say(
                "Android reads the expiration \"\(Self.quoted(text))\" as \(start.day), and so it is taken.",
                at: element, advice: "Check that this is the day that you mean.")
        }
        return start
    }

    private mutating func readTrustKit(_ element: XMLElement) -> PinMode {
        self.kind = .trustkitAndroid
        self.noteAttributes(of: element, except: ["enforcePinning", "disableDefaultReportUri"])
        for child in element.children {
            if child.name == "report-uri" {
                self.say("Where reports are sent is not taken over.", at: child)
            } else {
                self.noteUnknown(child)
            }
        }
        return self.boolean("enforcePinning", of: element) ? .enforce : .reportOnly
    }

    /// Notes a `base-config` or `debug-overrides`, which have no pins.
    ///
    /// - Parameter isRefused: Whether Android refuses the element.
    private mutating func noteOther(_ element: XMLElement, isRefused: Bool) {
        // An element that Android refuses is none to keep: the defects say what is wrong with it.
        if !isRefused, !element.children.contains(where: \.hasPins) {
            let parts =
                element.attributes.filter { !$0.isOfTools }.map { "\($0.name)=\"\(Self.quoted($0.value))\"" }
                + element.children.prefix(5).map(\.name)
            let list = parts.isEmpty ? "" : " (\(parts.joined(separator: ", ")))"
            self.say(
                "The \(element.name)\(list) is not taken over, and an export has none: keep it in the app's file.",
                at: element)
        }
        for child in element.children {
            if child.name == "trust-anchors" {
                self.noteOverride(child)
            } else {
                self.refusePins(in: child, of: element.name)
            }
        }
    }

    private mutating func noteAnchors(_ element: XMLElement) {
        self.say("The trust-anchors of a domain-config are not taken over, and an export has none.", at: element)
        self.noteOverride(element)
    }

    private mutating func noteOverride(_ anchors: XMLElement) {
        for element in anchors.children {
            if element.attribute("overridePins")?.lowercased() == "true" {
                self.say("Pins do not hold for these trust anchors there; that is not taken over.", at: element)
            } else {
                self.refusePins(in: element, of: anchors.name)
            }
        }
    }

    /// The elements of the format without those that are refused in a wrong place.
    private static let knownElements: Set<String> = [
        "network-security-config", "base-config", "debug-overrides", "trust-anchors", "certificates", "trustkit-config",
        "report-uri",
    ]

    private mutating func noteUnknown(_ element: XMLElement) {
        if Self.knownElements.contains(element.name) {
            self.say("The element \(element.name) does not belong here, where clients ignore it.", at: element)
        } else if !element.isOfPins {
            self.say("The element \(element.name) is not known.", at: element)
        }
        self.refusePins(in: element, of: nil)
    }

    /// Names the outermost elements in `element`, or itself, that Android looks for elsewhere.
    private mutating func refusePins(in element: XMLElement, of parent: String?) {
        let place = element.name == "pin" ? "pin-set" : "domain-config"
        guard !element.isOfPins else {
            let there = parent.map { "in \($0)" } ?? "here"
            self.say(
                element.name == "domain-config"
                    ? "No domain-config belongs \(there)."
                    : "No \(element.name) belongs \(there), where Android finds no pins: put it into a \(place).",
                at: element, isDefect: true)
            return
        }
        for child in element.children { self.refusePins(in: child, of: element.name) }
    }

    private mutating func refuseSecond(_ element: XMLElement) {
        self.say("Android refuses a second \(element.name) here.", at: element, isDefect: true)
    }

    /// Notes attributes that have no counterpart, or that clients look for without a name space.
    private mutating func noteAttributes(of element: XMLElement, except known: Set<String>) {
        for attribute in element.attributes where !known.contains(attribute.name) {
            let words = "\(attribute.name)=\"\(Self.quoted(attribute.value))\" of \(element.name)"
            if let own = attribute.name.split(separator: ":").last.map(String.init), known.contains(own),
                !attribute.isDeclaration
            {
                self.say(
                    "\(words) is ignored, as clients do it: they look for \(own) without a name space.", at: element,
                    advice:
                        "If it is meant, write it without \(attribute.name.dropLast(own.utf8.count)) in front, here and in the app."
                )
            } else if !attribute.isOfTools {
                self.say("\(words) is not taken over, and an export has none.", at: element)
            }
        }
    }

    /// A boolean that is false where it is missing.
    private mutating func boolean(_ name: String, of element: XMLElement) -> Bool {
        switch element.attribute(name)?.lowercased() {
        case "true": return true
        case "false", nil: return false
        case let other?:
            self.say(
                "\(name) is \"\(Self.quoted(other))\", which is neither true nor false, and counts as false.",
                at: element)
            return false
        }
    }
}

extension XMLElement {
    /// True for an element that Android looks for in one place, and refuses or ignores in all others, with its pins.
    fileprivate var isOfPins: Bool { ["pin-set", "pin", "domain", "domain-config"].contains(self.name) }

    /// True where it or any element below is one of pins.
    fileprivate var hasPins: Bool { self.isOfPins || self.children.contains(where: \.hasPins) }

    /// True where an element of the name stands anywhere below.
    fileprivate func has(_ name: String) -> Bool {
        self.children.contains { $0.name == name || $0.has(name) }
    }
}

extension XMLElement.Attribute {
    /// True for one that declares a name space.
    fileprivate var isDeclaration: Bool { self.name == "xmlns" || self.name.hasPrefix("xmlns:") }

    /// True for an attribute of XML itself, or of Android's build tools, which leave it out of the app.
    fileprivate var isOfTools: Bool {
        self.isDeclaration || self.name.hasPrefix("xml:") || self.name.hasPrefix("tools:")
    }
}
