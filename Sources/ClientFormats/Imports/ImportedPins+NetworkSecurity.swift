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

    /// A network security configuration of Android, and TrustKit's additions to it.
    mutating func readNetworkSecurity(_ root: XMLElement) throws(TextDefect) {
        guard root.name == "network-security-config" else {
            throw root.defect("the root element should be network-security-config, and is \(root.name)")
        }
        for element in root.children {
            switch element.name {
            case "domain-config": self.readDomains(element, Inherited())
            case "base-config": self.readOther(element, of: "base-config")
            // For builds that are not released.
            case "debug-overrides": break
            default: self.say("The element \(element.name) is not known.", at: element)
            }
        }
    }

    private mutating func readDomains(_ config: XMLElement, _ outer: Inherited) {
        var own = outer
        var domains: [(includesSubdomains: Bool, element: XMLElement)] = []
        // An element's position among its siblings makes no difference.
        for element in config.children {
            switch element.name {
            case "domain":
                domains.append((self.boolean("includeSubdomains", of: element), element))
            case "pin-set":
                own.pins = self.readPins(element)
                own.isPinned = !element.children.isEmpty
                own.validUntil = element.attribute("expiration").flatMap { self.date($0, at: element) }
            case "trustkit-config":
                self.kind = .trustkitAndroid
                own.mode = self.boolean("enforcePinning", of: element) ? .enforce : .reportOnly
                if let reports = element.children.first(where: { $0.name == "report-uri" }) {
                    self.say("Where reports are sent is not taken over.", at: reports)
                }
            case "domain-config": break
            default: self.readOther(element, of: "domain-config")
            }
        }
        for (isDeep, element) in domains {
            // Many files have names of test servers that are reached without TLS: ignoring those loses nothing.
            let name = self.name(element.trimmedText.lowercased(), at: element, isPinned: own.isPinned)
            guard let pattern = name else { continue }
            var host = Host(pattern: pattern, includesSubdomains: isDeep, mode: .off)
            if own.isPinned {
                host.pins = own.pins
                host.mode = own.mode
                host.validUntil = own.validUntil
            }
            self.add(host, at: element)
        }
        for element in config.children where element.name == "domain-config" { self.readDomains(element, own) }
    }

    private mutating func readPins(_ set: XMLElement) -> [Pin] {
        var texts: [(text: String, element: XMLElement)] = []
        for element in set.children {
            if element.name != "pin" {
                self.say("The element \(element.name) is not known in a pin-set.", at: element)
            } else if element.attribute("digest") != "SHA-256" {
                self.say("The pin's digest is not SHA-256, the only one there is.", at: element, isDefect: true)
            } else {
                texts.append((element.trimmedText, element))
            }
        }
        return self.pins(texts)
    }

    /// Elements that do not concern pins are ignored, unless they disable pinning.
    private mutating func readOther(_ element: XMLElement, of parent: String) {
        let anchors = element.name == "trust-anchors" ? element.children : element.children.flatMap(\.children)
        if let certificates = anchors.first(where: { $0.attribute("overridePins") == "true" }) {
            self.say("Pins do not hold for these trust anchors there; that is not taken over.", at: certificates)
        } else if element.name != "trust-anchors", element.name != parent {
            self.say("The element \(element.name) is not known.", at: element)
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
