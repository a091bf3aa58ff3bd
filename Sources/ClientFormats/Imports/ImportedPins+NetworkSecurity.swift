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
                if !others.insert(element.name).inserted { self.refuseSecond(element) }
                self.noteOther(element)
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
                own.validUntil = element.attribute("expiration").flatMap { self.date($0, at: element) }
            case "trust-anchors": self.noteAnchors(element)
            case "trustkit-config": own.mode = self.readTrustKit(element)
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
    private mutating func noteOther(_ element: XMLElement) {
        let parts =
            element.attributes.filter(\.isOwn).map { "\($0.name)=\"\(Self.quoted($0.value))\"" }
            + element.children.prefix(5).map(\.name)
        let list = parts.isEmpty ? "" : " (\(parts.joined(separator: ", ")))"
        self.say(
            "The \(element.name)\(list) is not taken over, and an export has none: keep it in the app's file.",
            at: element)
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

    private mutating func noteUnknown(_ element: XMLElement) {
        self.say("The element \(element.name) is not known.", at: element)
        self.refusePins(in: element, of: nil)
    }

    /// Names the outermost elements in `element`, or itself, that Android looks for elsewhere.
    private mutating func refusePins(in element: XMLElement, of parent: String?) {
        let place = element.name == "pin" ? "pin-set" : "domain-config"
        guard !["pin-set", "pin", "domain", "domain-config"].contains(element.name) else {
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

    /// Notes attributes that have no counterpart. Those of other programs have a prefix.
    private mutating func noteAttributes(of element: XMLElement, except known: Set<String>) {
        for attribute in element.attributes where attribute.isOwn && !known.contains(attribute.name) {
            self.say(
                "\(attribute.name)=\"\(Self.quoted(attribute.value))\" of \(element.name) is not taken over, and an export has none.",
                at: element)
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
    /// True where an element of the name stands anywhere below.
    fileprivate func has(_ name: String) -> Bool {
        self.children.contains { $0.name == name || $0.has(name) }
    }
}

extension XMLElement.Attribute {
    /// True for an attribute of the format itself: XML's name spaces are not.
    fileprivate var isOwn: Bool { self.name != "xmlns" && !self.name.contains(":") }
}
