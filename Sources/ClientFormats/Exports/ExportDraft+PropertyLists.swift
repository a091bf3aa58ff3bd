import PinWire
import Pinning

extension ExportDraft {
    /// `NSPinnedDomains` of App Transport Security (Apple, Bundle Resources; iOS 14, macOS 11).
    ///
    /// A host has the identities of one kind, servers' own or authorities' (``PinnedIdentities``).
    mutating func appTransportSecurity(_ entries: [ExportPlan.Entry]) {
        var domains: [(String, PropertyList)] = []
        for entry in entries {
            guard let host = entry.host else { continue }
            let identities = PinnedIdentities(of: host)
            self.note(identities, of: host, as: entry.name)
            let key = identities.areAuthorities ? "NSPinnedCAIdentities" : "NSPinnedLeafIdentities"
            domains.append(
                (
                    entry.name,
                    .dictionary([
                        ("NSIncludesSubdomains", .boolean(entry.reach != .own)),
                        (key, .array(identities.kept.map { PropertyList.spki($0.pin) })),
                    ])
                ))
        }
        self.write(.dictionary([("NSAppTransportSecurity", .dictionary([("NSPinnedDomains", .dictionary(domains))]))]))
    }

    /// Notes what is left out, and what is assumed.
    private mutating func note(_ identities: PinnedIdentities, of host: ClientView.Host, as name: String) {
        if !identities.dropped.isEmpty {
            self.notes.append(
                "\(name): \(Self.listed(identities.dropped)) left out. With keys of authorities beside those of servers, "
                    + "App Transport Security asks for one of each, so that those stay that are of the primary pin's "
                    + "kind.")
        }
        if identities.isGuess {
            self.notes.append(
                "\(name): nobody showed a certificate of \(Self.listed(host.leadingPins)), and the key is taken for "
                    + "the server's own. If it is an authority's, App Transport Security refuses the server.")
        }
    }

    private static func listed(_ pins: [ClientView.ClientPin]) -> String {
        pins.map(\.pin.description).joined(separator: " and ")
    }

    /// `TSKConfiguration` as TrustKit for iOS 3 reads it from an Info.plist. It is refused there without a domain.
    mutating func trustKit(_ entries: [ExportPlan.Entry]) throws(ExportRefusal) {
        guard !entries.isEmpty else { throw .nothingToPin(self.format, notes: self.notes) }
        let domains = entries.map { entry -> (String, PropertyList) in
            // An exception must have no other member.
            guard let host = entry.host else {
                // TrustKit's constant has a T, and its value does not: TrustKit takes any other key for a policy
                // without pins, and throws (TSKTrustKitConfig.m, 3.0).
                return (entry.name, .dictionary([("kSKExcludeSubdomainFromParentPolicy", .boolean(true))]))
            }
            var members: [(String, PropertyList)] = [
                ("TSKDisableDefaultReportUri", .boolean(true)),
                ("TSKEnforcePinning", .boolean(host.mode == .enforce)),
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
        out.add(self.xmlHeader())
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
