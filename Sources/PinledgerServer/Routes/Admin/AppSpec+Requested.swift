import PinWire
import Pinning

extension AppSpec {
    /// Reads a spec from a request.
    ///
    /// Reading uploaded keys may take a second: not on a cooperative thread.
    ///
    /// - Parameter uploads: All of the request.
    init(_ m: inout JSONMembers, _ uploads: inout Uploads) throws(JSONDefect) {
        self.init(
            displayName: try m.optional("display_name")?.plainText(atMost: 200),
            settings: try AppRoutes.settings(&m),
            isArchived: try m.optional("archived")?.bool())
        if let field = m.optional("lowered_guard_rails") {
            var rails: Set<GuardRail> = []
            for element in try field.elements(atMost: GuardRail.allCases.count) {
                guard rails.insert(try element.oneOf(GuardRail.self)).inserted else {
                    throw element.defect("is listed twice")
                }
            }
            self.loweredRails = rails
        }
        if let field = m.optional("clients") { self.clients = try Self.clients(field) }
        guard let field = m.optional("hosts") else { return }
        var hosts: [HostSpec] = []
        var patterns: Set<HostPattern> = []
        for element in try field.elements(atMost: App.hostLimit) {
            let host = try element.object { (m) throws(JSONDefect) in try HostSpec(&m, &uploads) }
            guard patterns.insert(host.pattern).inserted else { throw element.defect("names a host twice") }
            hosts.append(host)
        }
        self.hosts = hosts.sorted { $0.pattern < $1.pattern }
    }

    private static func clients(_ field: JSONField) throws(JSONDefect) -> [ClientKind: ClientSettings] {
        var clients: [ClientKind: ClientSettings] = [:]
        for element in try field.elements(atMost: ClientKind.allCases.count) {
            let (kind, settings) = try element.object { (m) throws(JSONDefect) in
                let kind = try m.required("client").oneOf(ClientKind.self)
                return (
                    kind,
                    try m.optional("settings").mapped { (field) throws(JSONDefect) in
                        try ClientSettings(field, of: kind)
                    } ?? ClientSettings()
                )
            }
            guard clients.updateValue(settings, forKey: kind) == nil else {
                throw element.defect("names a kind twice")
            }
        }
        return clients
    }
}

extension HostSpec {
    fileprivate init(_ m: inout JSONMembers, _ uploads: inout Uploads) throws(JSONDefect) {
        let pattern = try m.required("host").parse(HostPattern.init)
        let baseline = try m.required("baseline").object { (m) throws(JSONDefect) -> Baseline in
            let source = try m.required("source")
            switch try source.string() {
            case "builtin": return .builtin
            case "document": return .policy(try PolicySpec(&m, &uploads))
            default: throw source.defect("must be builtin or document")
            }
        }
        self.init(
            pattern: pattern, includesSubdomains: try m.optional("include_subdomains")?.bool(), baseline: baseline)
        if m.mentions("candidate") {
            let policy = try m.optional("candidate").mapped { (field) throws(JSONDefect) in
                try field.object { (m) throws(JSONDefect) in try PolicySpec(&m, &uploads) }
            }
            self.candidate = policy.map { .policy($0) } ?? .none
        }
        if m.mentions("endpoints") {
            self.settings.append(.setEndpoints(pattern, try m.optional("endpoints").mapped(Endpoint.list)))
        }
        if m.mentions("rollout") {
            self.settings.append(
                .setHostRollout(pattern, try m.optional("rollout").mapped(Rollout.init(requested:))))
        }
    }
}

extension PolicySpec {
    fileprivate init(_ m: inout JSONMembers, _ uploads: inout Uploads) throws(JSONDefect) {
        self.init(mode: try m.required("mode").oneOf(PinMode.self), pins: nil)
        guard let field = m.optional("pins") else { return }
        let pins = try HostRoutes.newPins(field, &uploads)
        var known: Set<Pin> = []
        for (place, pin) in pins.enumerated() where !known.insert(pin.pin).inserted {
            throw JSONDefect(pointer: field.pointer.appending(String(place)), message: "is a pin that is listed twice")
        }
        self.pins = pins
    }
}
