import PinWire

extension ImportedPins {
    /// `TSKPinnedDomains` of TrustKit for iOS.
    mutating func readTrustKit(_ root: XMLElement) throws(TextDefect) {
        let configuration = try root.member("TSKConfiguration") ?? root
        guard let domains = try configuration.member("TSKPinnedDomains") else {
            throw configuration.defect("there is no TSKPinnedDomains here")
        }
        for (name, value) in try domains.members() {
            guard let pattern = self.name(name, at: value) else { continue }
            try self.readTrustKit(pattern, value)
        }
        self.noteOther("NSAppTransportSecurity", "NSPinnedDomains", of: root, for: .appleATS)
    }

    private mutating func readTrustKit(_ pattern: HostPattern, _ policy: XMLElement) throws(TextDefect) {
        // TrustKit's default where a member is missing.
        var host = Host(pattern: pattern)
        var texts: [(text: String, element: XMLElement)] = []
        var unknown: [(key: String, value: XMLElement)] = []
        for (key, value) in try policy.members() {
            switch key {
            case "TSKPublicKeyHashes":
                for element in try value.elements() { texts.append((try element.string(), element)) }
            case "TSKEnforcePinning": host.mode = try value.boolean() ? .enforce : .reportOnly
            case "TSKIncludeSubdomains": host.includesSubdomains = try value.boolean()
            case "TSKExpirationDate": host.validUntil = self.date(try value.string(), at: value)
            // The value of TrustKit's constant, and what the constant is called.
            case "kSKExcludeSubdomainFromParentPolicy", "TSKExcludeSubdomainFromParentPolicy":
                guard try value.boolean() else { continue }
                self.add(Host(pattern: pattern, mode: .off), at: policy)
                return
            case "TSKReportUris":
                self.say("\(pattern): where reports are sent is not taken over.", at: value)
            // Versions before 1.6 needed this member; now there is one way to hash a key.
            case "TSKDisableDefaultReportUri", "TSKPublicKeyAlgorithms": break
            default: unknown.append((key, value))
            }
        }
        self.say(unknown, of: pattern, isDefect: texts.isEmpty)
        // `initWithBase64EncodedString:options:0` gives nil, and `TSKTrustKitConfig` raises.
        host.pins = self.pins(texts, strictReader: "TrustKit")
        self.add(host, at: policy)
    }

    /// `NSPinnedDomains` of App Transport Security. An entry with subdomains covers its name and one more label, and so
    /// becomes two hosts.
    mutating func readTransportSecurity(_ root: XMLElement) throws(TextDefect) {
        let security = try root.member("NSAppTransportSecurity") ?? root
        guard let domains = try security.member("NSPinnedDomains") else {
            throw security.defect("there is no NSPinnedDomains here")
        }
        for (name, value) in try domains.members() {
            guard let pattern = self.name(name, at: value) else { continue }
            try self.readTransportSecurity(pattern, value)
        }
        self.noteOther("TSKConfiguration", "TSKPinnedDomains", of: root, for: .trustkitIOS)
    }

    private mutating func readTransportSecurity(_ pattern: HostPattern, _ policy: XMLElement) throws(TextDefect) {
        var includesSubdomains = false
        var identities: [String: XMLElement] = [:]
        var unknown: [(key: String, value: XMLElement)] = []
        for (key, value) in try policy.members() {
            switch key {
            case "NSIncludesSubdomains": includesSubdomains = try value.boolean()
            case "NSPinnedLeafIdentities", "NSPinnedCAIdentities": identities[key] = value
            default: unknown.append((key, value))
            }
        }
        self.say(unknown, of: pattern, isDefect: identities.isEmpty)
        let leaf = identities["NSPinnedLeafIdentities"]
        let authority = identities["NSPinnedCAIdentities"]
        if leaf != nil, let authority {
            self.say(
                "\(pattern): keys of authorities are asked for beside those of servers, both at once; only the "
                    + "servers' are taken over.", at: authority)
        }
        var texts: [(text: String, element: XMLElement)] = []
        for element in try (leaf ?? authority)?.elements() ?? [] {
            let members = try element.members()
            // An identity has no other member.
            let others = members.filter { $0.key != "SPKI-SHA256-BASE64" }
            self.say(others, of: pattern, isDefect: others.count == members.count)
            for (key, value) in members where key == "SPKI-SHA256-BASE64" {
                texts.append((try value.string(), value))
            }
        }
        let pins = self.pins(texts)
        self.add(Host(pattern: pattern, pins: pins), at: policy)
        guard includesSubdomains, !pins.isEmpty else { return }
        do {
            self.add(Host(pattern: try HostPattern("*.\(pattern)"), pins: pins), at: policy)
        } catch {
            self.say("\(pattern): names below it are left out, because *.\(pattern) \(error).", at: policy)
        }
    }

    /// Notes pins for the other one of the two readers of a property list.
    private mutating func noteOther(
        _ configuration: String, _ domains: String, of root: XMLElement, for format: ImportFormat
    ) {
        // No defect of what is not read: it may be of any form.
        guard let other = try? root.member(configuration), let pinned = try? other.member(domains),
            !pinned.children.isEmpty
        else { return }
        self.say(
            "The pins in \(domains) of \(configuration) are not taken over: another format reads them.", at: pinned,
            advice: "Import the file as \(format.rawValue), too.")
    }

    /// Names members that are not known: defects where a known one in their place would have pins.
    private mutating func say(
        _ members: [(key: String, value: XMLElement)], of pattern: HostPattern, isDefect: Bool
    ) {
        for (key, value) in members {
            self.say("\(pattern): \(Self.quoted(key)) is not known.", at: value, isDefect: isDefect)
        }
    }
}
