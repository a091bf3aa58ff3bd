/// The hosts of a payload, read in place: nearly all of a large payload is hosts.
///
/// It takes the one text that ``Document/Host`` has in payloads of documents for all devices, byte for byte, so that no host has to be
/// written again to see that its form is canonical. Any other text makes it nil, and ``IssuedDocument/init(parsing:)`` reads the payload: a
/// short cut, and never the judge.
struct ScannedHosts {
    private(set) var hosts: [Document.Host] = []
    /// Where their array stands in the payload.
    let range: Range<Int>

    init?(of payload: UnsafeBufferPointer<UInt8>) {
        var scanner = CanonicalScanner(payload)
        guard scanner.skip("{") else { return nil }
        while let name = scanner.plainBytes() {
            guard scanner.skip(":") else { return nil }
            if name.matches("hosts") {
                let start = scanner.at
                guard let hosts = scanner.documentHosts() else { return nil }
                self.hosts = hosts
                self.range = start..<scanner.at
                return
            }
            guard scanner.skipValue(), scanner.skip(",") else { return nil }
        }
        return nil
    }
}

extension CanonicalScanner {
    fileprivate mutating func documentHosts() -> [Document.Host]? {
        guard self.skip("[") else { return nil }
        var hosts: [Document.Host] = []
        var seen: Set<HostPattern> = []
        guard !self.skip("]") else { return hosts }
        repeat {
            guard hosts.count < Document.hostLimit, let host = self.documentHost(),
                seen.insert(host.pattern).inserted
            else { return nil }
            hosts.append(host)
        } while self.skip(",")
        return self.skip("]") ? hosts : nil
    }

    private mutating func documentHost() -> Document.Host? {
        guard self.skip("{\"baseline\":") else { return nil }
        var baseline: Document.Policy?
        if !self.skip("{\"source\":\"builtin\"}") {
            baseline = self.policy()
            guard baseline != nil else { return nil }
        }
        var candidate: Document.Policy?
        if self.skip(",\"candidate\":") {
            candidate = self.policy()
            guard candidate != nil else { return nil }
        }
        guard self.skip(",\"host\":"), let name = self.plainBytes(), let pattern = HostPattern(plain: name),
            self.skip(",\"include_subdomains\":"), let includesSubdomains = self.bool()
        else { return nil }
        var rollout: Rollout?
        if self.skip(",\"rollout\":") {
            rollout = self.plainRollout() ?? self.rollout()
            guard rollout != nil else { return nil }
        }
        guard self.skip("}") else { return nil }
        return Document.Host(
            pattern: pattern, includesSubdomains: includesSubdomains, baseline: baseline, candidate: candidate,
            rollout: rollout)
    }

    private mutating func policy() -> Document.Policy? {
        guard self.skip("{\"mode\":"), let mode = self.word(PinMode.self), self.skip(",\"pins\":[") else { return nil }
        var pins: [Document.RolePin] = []
        if !self.skip("]") {
            repeat {
                guard pins.count < Document.Policy.pinLimit, self.skip("{\"alg\":\"sha256\",\"role\":"),
                    let role = self.word(PinRole.self), self.skip(",\"spki\":\""), let pin = self.digest(),
                    self.skip("}")
                else { return nil }
                pins.append(Document.RolePin(pin: pin, role: role))
            } while self.skip(",")
            guard self.skip("]") else { return nil }
        }
        return self.skip(",\"source\":\"document\"}") ? Document.Policy(mode: mode, pins: pins) : nil
    }

    private mutating func word<T: RawRepresentable>(_ type: T.Type) -> T? where T.RawValue == String {
        self.plainText().flatMap { T(rawValue: $0) }
    }

    /// A share of all devices, as most rollouts are. Nil, with the scanner back where it was, for all others.
    private mutating func plainRollout() -> Rollout? {
        let saved = self
        guard let rollout = self.share() else {
            self = saved
            return nil
        }
        return rollout
    }

    private mutating func share() -> Rollout? {
        guard self.skip("{\"basis_points\":"), let points = self.natural(), points <= 10_000,
            self.skip(",\"method\":\"percentage\"")
        else { return nil }
        var salt: String?
        if self.skip(",\"salt\":") {
            guard let text = self.plainText(), (1...128).contains(text.utf8.count), text.isPrintableASCII else {
                return nil
            }
            salt = text
        }
        guard self.skip(",\"seed\":[") else { return nil }
        var seeds: [Rollout.Seed] = []
        repeat {
            guard let seed = self.word(Rollout.Seed.self), !seeds.contains(seed) else { return nil }
            seeds.append(seed)
        } while self.skip(",")
        guard self.skip("],\"sticky\":"), let isSticky = self.bool(), self.skip("}") else { return nil }
        return Rollout(basisPoints: Int(points), seed: seeds, isSticky: isSticky, salt: salt)
    }

    /// Any rollout in canonical form, read as JSON values.
    private mutating func rollout() -> Rollout? {
        guard let text = self.object(), let json = try? JSON(parsing: text),
            let rollout = try? Rollout(JSONField(json)), rollout.documentJSON.canonicalBytes.elementsEqual(text)
        else { return nil }
        return rollout
    }
}
