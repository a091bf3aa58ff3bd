extension Document {
    /// The most hosts of a document that are read.
    static let hostLimit = 1000

    /// Reads the members of ``content``.
    init(_ members: inout JSONMembers) throws(JSONDefect) {
        let bucketing = try members.required("bucketing")
        guard try bucketing.string() == Self.bucketing else {
            throw bucketing.defect("must be \(Self.bucketing)")
        }
        let issuer = try members.required("iss")
        guard try issuer.string().isPrintableASCII else { throw issuer.defect("must be printable ASCII") }
        self.init(
            issuer: try issuer.string(),
            app: try members.required("aud").parse(AppID.init),
            version: try members.required("version").integer(0...JSON.largestInteger),
            pinsValidUntil: try members.optional("pins_valid_until")?.instant(),
            killSwitches: try Self.killSwitches(try members.required("kill_switches")),
            rollout: try members.optional("rollout").map { (field) throws(JSONDefect) in try Rollout(field) },
            versionGate: try members.optional("version_gate").map { (field) throws(JSONDefect) in
                let gate = try VersionGate(field)
                guard !gate.isOpen else { throw field.defect("must be absent where it lets every version in") }
                return gate
            },
            hosts: try Self.hosts(try members.required("hosts")),
            fallback: try Fallback(try members.required("fallback"), isSigned: true),
            monitoring: try Monitoring(try members.required("monitoring")),
            archivedAt: try members.optional("archived_at")?.instant(),
            evaluatedFrom: try members.optional("evaluated_from")?.digest()
        )
    }

    private static func killSwitches(_ field: JSONField) throws(JSONDefect) -> [KillSwitch] {
        var switches: [KillSwitch] = []
        for element in try field.elements(atMost: 2 * Self.hostLimit) { switches.append(try KillSwitch(element)) }
        return switches
    }

    private static func hosts(_ field: JSONField) throws(JSONDefect) -> [Host] {
        var hosts: [Host] = []
        var seen: Set<HostPattern> = []
        for element in try field.elements(atMost: Self.hostLimit) {
            let host = try Host(element)
            guard seen.insert(host.pattern).inserted else { throw element.defect("names the same host twice") }
            hosts.append(host)
        }
        return hosts
    }
}

extension Document.KillSwitch {
    fileprivate init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (members) throws(JSONDefect) in
            let scope = try members.required("scope")
            let host = try members.optional("host")?.parse(HostPattern.init(signed:))
            let versions = try members.optional("versions").map { (field) throws(JSONDefect) in try VersionGate(field) }
            let isWhole =
                switch try scope.string() {
                case "everything", "app": host == nil && versions == nil
                case "host": host != nil && versions == nil
                case "app_versions": host == nil && versions?.isOpen == false
                default: false
                }
            guard isWhole else {
                throw scope.defect("must be everything, app, host (with a host) or app_versions (with a range)")
            }
            return Document.KillSwitch(
                scope: try scope.string(), host: host, versions: versions,
                engagedAt: try members.required("engaged_at").instant(),
                expiresAt: try members.required("expires_at").instant()
            )
        }
    }
}

extension Document.Host {
    fileprivate init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (members) throws(JSONDefect) in
            let candidate = members.optional("candidate")
            let policy = try candidate.flatMap { (field) throws(JSONDefect) in try Document.Policy.read(field) }
            if let candidate, policy == nil { throw candidate.defect("must have pins of its own") }
            return Document.Host(
                pattern: try members.required("host").parse(HostPattern.init(signed:)),
                includesSubdomains: try members.required("include_subdomains").bool(),
                baseline: try Document.Policy.read(try members.required("baseline")),
                candidate: policy,
                rollout: try members.optional("rollout").map { (field) throws(JSONDefect) in try Rollout(field) },
                arm: try members.optional("arm")?.oneOf(PolicyArm.self)
            )
        }
    }
}

extension Document.Policy {
    /// The most pins of a policy that are read.
    static let pinLimit = 100

    /// Nil for the pins built into the app.
    fileprivate static func read(_ field: JSONField) throws(JSONDefect) -> Document.Policy? {
        try field.object { (members) throws(JSONDefect) -> Document.Policy? in
            let source = try members.required("source")
            switch try source.string() {
            case "builtin": return nil
            case "document": break
            default: throw source.defect("must be document or builtin")
            }
            let mode = try members.required("mode").oneOf(PinMode.self)
            var pins: [Document.RolePin] = []
            for element in try members.required("pins").elements(atMost: Self.pinLimit) {
                pins.append(try Document.RolePin(element))
            }
            return Document.Policy(mode: mode, pins: pins)
        }
    }
}

extension Document.RolePin {
    fileprivate init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (members) throws(JSONDefect) in
            let algorithm = try members.required("alg")
            guard try algorithm.string() == "sha256" else { throw algorithm.defect("must be sha256") }
            let digest = try members.required("spki")
            guard let bytes = Base64.decode(try digest.string()), let pin = Pin(bytes: bytes) else {
                throw digest.defect("must be 32 bytes in base64")
            }
            return Document.RolePin(pin: pin, role: try members.required("role").oneOf(PinRole.self))
        }
    }
}

extension JSONField {
    /// An instant in whole seconds since 1970, before the year 10000.
    func instant() throws(JSONDefect) -> Timestamp {
        Timestamp(seconds: try self.integer(0...253_402_300_799))
    }

    /// 32 bytes in hexadecimal digits.
    func digest() throws(JSONDefect) -> [UInt8] {
        guard let bytes = Hex.decode(try self.string()), bytes.count == 32 else {
            throw self.defect("must be the 64 hexadecimal digits of a SHA-256")
        }
        return bytes
    }
}
