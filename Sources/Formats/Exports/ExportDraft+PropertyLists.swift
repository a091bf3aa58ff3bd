import PinWire
import Pinning

extension ExportDraft {
    /// `NSPinnedDomains` of App Transport Security (Apple, Bundle Resources; iOS 14, macOS 11).
    ///
    /// Where a host had both kinds of identities, both would have to match. So there is one: those of servers' own
    /// keys, and those of authorities only where all the pins are known to be such.
    mutating func appTransportSecurity(_ entries: [ExportPlan.Entry]) {
        var domains: [(String, PropertyList)] = []
        for entry in entries {
            guard let host = entry.host else { continue }
            let pins = host.orderedPins
            let own = pins.filter { !$0.isAuthority }
            if !own.isEmpty, own.count < pins.count {
                let dropped = pins.filter(\.isAuthority).map(\.pin.description).joined(separator: " and ")
                self.notes.append(
                    "\(entry.name): \(dropped) left out. With keys of authorities beside those of servers, App "
                        + "Transport Security asks for one of each.")
            }
            let identities = (own.isEmpty ? pins : own).map { PropertyList.spki($0.pin) }
            domains.append(
                (
                    entry.name,
                    .dictionary([
                        ("NSIncludesSubdomains", .boolean(entry.reach != .own)),
                        (own.isEmpty ? "NSPinnedCAIdentities" : "NSPinnedLeafIdentities", .array(identities)),
                    ])
                ))
        }
        self.write(.dictionary([("NSAppTransportSecurity", .dictionary([("NSPinnedDomains", .dictionary(domains))]))]))
    }

    /// `TSKConfiguration` as TrustKit for iOS 3 reads it from an Info.plist. It is refused there without a domain.
    mutating func trustKit(_ entries: [ExportPlan.Entry]) throws(ExportRefusal) {
        guard !entries.isEmpty else { throw .nothingToPin(self.format, notes: self.notes) }
        let domains = entries.map { entry -> (String, PropertyList) in
            // An exception must have no other member.
            guard let host = entry.host else {
                // TrustKit's constant has a T, and its value has not: any other key it takes for a policy without pins,
                // and throws (TSKTrustKitConfig.m, 3.0).
                return (entry.name, .dictionary([("kSKExcludeSubdomainFromParentPolicy", .boolean(true))]))
            }
            var members: [(String, PropertyList)] = [
                ("TSKDisableDefaultReportUri", .boolean(true)),
                ("TSKEnforcePinning", .boolean(host.outcome == .enforce)),
            ]
            if let date = self.validUntilDate { members.append(("TSKExpirationDate", .string(date))) }
            members.append(("TSKIncludeSubdomains", .boolean(entry.reach != .own)))
            members.append(("TSKPublicKeyHashes", .array(host.orderedPins.map { .string($0.pin.base64) })))
            return (entry.name, .dictionary(members))
        }
        self.write(
            .dictionary([
                (
                    "TSKConfiguration",
                    .dictionary([
                        ("TSKPinnedDomains", .dictionary(domains)), ("TSKSwizzleNetworkDelegates", .boolean(false)),
                    ])
                )
            ]))
    }

    private mutating func write(_ list: PropertyList) {
        var out = SourceText()
        out.add(#"<?xml version="1.0" encoding="UTF-8"?>"#)
        out.add(
            #"<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">"#)
        out.add(self.xmlHeader)
        out.add(#"<plist version="1.0">"#)
        list.write(to: &out, depth: 0)
        out.add("</plist>")
        self.bytes = out.bytes
    }
}

/// A value of a property list, as far as files need it. Members keep their order.
private indirect enum PropertyList {
    case dictionary([(String, PropertyList)])
    case array([PropertyList])
    case string(String)
    case boolean(Bool)

    static func spki(_ pin: Pin) -> PropertyList { .dictionary([("SPKI-SHA256-BASE64", .string(pin.base64))]) }

    func write(to out: inout SourceText, depth: Int) {
        switch self {
        case .dictionary(let members) where members.isEmpty: out.add("<dict/>", depth: depth)
        case .dictionary(let members):
            out.add("<dict>", depth: depth)
            for (name, value) in members {
                out.add("<key>\(Quoting.xml(name))</key>", depth: depth + 1)
                value.write(to: &out, depth: depth + 1)
            }
            out.add("</dict>", depth: depth)
        case .array(let elements):
            out.add("<array>", depth: depth)
            for element in elements { element.write(to: &out, depth: depth + 1) }
            out.add("</array>", depth: depth)
        case .string(let text): out.add("<string>\(Quoting.xml(text))</string>", depth: depth)
        case .boolean(let value): out.add(value ? "<true/>" : "<false/>", depth: depth)
        }
    }
}

extension ClientView.ClientPin {
    /// Whether all its certificates are known to be authorities'.
    var isAuthority: Bool { !self.certificates.isEmpty && self.certificates.allSatisfy(\.isAuthority) }
}
