/// Decides which pins hold for a device: a document prepared for evaluation, with all work done that does not depend on
/// the device.
///
/// The rules, in order: kill switch, validity, version gate, exclusions, whitelist, country and draw of the app's
/// rollout, the same of the host's, policy. Being outside of a gate or rollout means the baseline, never less pinning;
/// only a kill switch, `pins_valid_until`, a policy with the mode off and a name that the document does not know turn
/// pinning off. The same on server and device. Pure: the caller gives the time.
public struct Evaluator: Sendable {
    /// The document that it evaluates.
    public let document: Document
    /// `exp`; nil where it is unknown, in which case freshness is not judged.
    private let expiresAt: Timestamp?
    private let issuedAt: Timestamp?
    let index: HostIndex
    private let fallback: Set<String>
    private let versionGate: VersionGate?
    private let appRollout: PreparedRollout?
    /// The document's hosts, in its order.
    let hosts: [PreparedHost]
    /// The indices of the hosts with a candidate.
    let candidates: [Int]
    /// The kill switches for all hosts, the widest scope first.
    private let wideSwitches: [Document.KillSwitch]
    /// The kill switches of each pattern, by its text: for names that no host covers.
    private let hostSwitches: [String: [Document.KillSwitch]]

    /// Prepares an issued document.
    package init(_ issued: IssuedDocument) {
        self.init(issued.document, issuedAt: issued.issuedAt, expiresAt: issued.expiresAt)
    }

    /// Prepares a document whose time of signing is unknown.
    package init(_ document: Document) {
        self.init(document, issuedAt: nil, expiresAt: nil)
    }

    private init(_ document: Document, issuedAt: Timestamp?, expiresAt: Timestamp?) {
        self.document = document
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.index = HostIndex(document.hosts)
        self.fallback = document.fallback.usesBuiltinPins ? Set(document.fallback.hosts.map(\.text)) : []
        self.versionGate = document.versionGate
        self.appRollout = document.rollout.map(PreparedRollout.init)
        self.candidates = document.hosts.indices.filter { document.hosts[$0].candidate != nil }
        let scopes = ["everything", "app", "app_versions"]
        self.wideSwitches = scopes.flatMap { scope in document.killSwitches.filter { $0.scope == scope } }
        let switches = Dictionary(
            grouping: document.killSwitches.filter { $0.scope == "host" && $0.host != nil }, by: { $0.host?.text ?? "" }
        )
        self.hostSwitches = switches
        self.hosts = document.hosts.map { PreparedHost($0, killSwitches: switches[$0.pattern.text] ?? []) }
    }

    /// The decision for a device that connects to a host, without a trace.
    ///
    /// - Parameters:
    ///   - hostName: The name to connect to, in A-labels, in any case, with or without a trailing dot.
    ///   - device: The known attributes of the device.
    ///   - now: The time.
    public func decide(_ hostName: String, for device: Device, at now: Timestamp) -> DeviceDecision {
        var round = Round(self, device, now, isTracing: false)
        return self.decide(hostName, &round)
    }

    /// The decision of ``decide(_:for:at:)``, with its trace.
    public func explain(_ hostName: String, for device: Device, at now: Timestamp) -> DeviceDecision {
        var round = Round(self, device, now, isTracing: true)
        return self.decide(hostName, &round)
    }

    /// The decisions for a device and each host of the document, in the document's order, without traces.
    public func decideAll(for device: Device, at now: Timestamp) -> [(HostPattern, DeviceDecision)] {
        var round = Round(self, device, now, isTracing: false)
        // A pattern covers itself, whatever other patterns cover names below it.
        return self.hosts.map { ($0.pattern, self.decide($0, .hostExact, &round)) }
    }

    /// One device at one time, and the results that are the same for all hosts, once they were computed.
    struct Round {
        let device: Device
        /// The time, and not earlier than the document was signed: a slow clock neither postpones what had begun by then, nor prolongs what
        /// had ended.
        let now: Timestamp
        let isTracing: Bool
        var steps: [DeviceDecision.Step] = []
        var gate: DeviceDecision.Reason?
        var appVerdict: PreparedRollout.Verdict?
        /// Whether a kill switch for all hosts is engaged.
        var isSwitchedOff: Bool?

        init(_ evaluator: Evaluator, _ device: Device, _ now: Timestamp, isTracing: Bool) {
            self.device = device
            self.now = max(now, evaluator.issuedAt ?? now)
            self.isTracing = isTracing
        }

        mutating func note(_ step: @autoclosure () -> DeviceDecision.Step) {
            if self.isTracing { self.steps.append(step()) }
        }
    }

    private func decide(_ hostName: String, _ round: inout Round) -> DeviceDecision {
        guard let name = HostIndex.canonical(hostName), let match = self.index.match(name) else {
            return self.decideUnknown(HostIndex.canonical(hostName), &round)
        }
        return self.decide(self.hosts[match.place], match.reason, &round)
    }

    /// - Parameter match: How the host covers the name.
    private func decide(
        _ host: PreparedHost, _ match: DeviceDecision.Reason, _ round: inout Round
    ) -> DeviceDecision {
        round.steps.removeAll(keepingCapacity: true)
        round.note(DeviceDecision.Step(.host, match))
        func settled(_ reason: DeviceDecision.Reason) -> DeviceDecision {
            DeviceDecision(outcome: .off, pattern: host.pattern, reason: reason, trace: round.steps)
        }
        if self.isSwitchedOff(host.killSwitches, &round) { return settled(.killSwitchEngaged) }
        if self.isExpired(&round) { return settled(.pinsExpired) }
        let (arm, reason) = self.arm(of: host, &round)
        let policy = arm == .candidate ? host.candidate : host.baseline
        let said = host.arm ?? arm
        let decision: (DeviceDecision.Outcome, DeviceDecision.Reason) =
            switch policy?.mode {
            case .enforce: (.enforce, .policyEnforce)
            case .reportOnly: (.reportOnly, .policyReportOnly)
            case .off: (.off, .policyOff)
            case nil: (.builtin, .policyBuiltin)
            }
        round.note(DeviceDecision.Step(.policy, decision.1, arm: said))
        return DeviceDecision(
            outcome: decision.0, pins: decision.0 == .off ? [] : policy?.pins ?? [], arm: said, pattern: host.pattern,
            reason: reason, trace: round.steps
        )
    }

    /// For a name that no pattern covers, or, with nil, a malformed name.
    private func decideUnknown(_ name: String?, _ round: inout Round) -> DeviceDecision {
        round.steps.removeAll(keepingCapacity: true)
        let isBuiltin = name.map(self.fallback(names:)) ?? false
        let reason: DeviceDecision.Reason = isBuiltin ? .hostBuiltin : .hostUnknown
        round.note(DeviceDecision.Step(.host, reason))
        guard let name, isBuiltin else {
            return DeviceDecision(outcome: .off, reason: reason, trace: round.steps)
        }
        let own = [name, Self.wildcard(above: name)].compactMap { $0 }.flatMap { self.hostSwitches[$0] ?? [] }
        if self.isSwitchedOff(own, &round) {
            return DeviceDecision(outcome: .off, reason: .killSwitchEngaged, trace: round.steps)
        }
        if self.isExpired(&round) { return DeviceDecision(outcome: .off, reason: .pinsExpired, trace: round.steps) }
        round.note(DeviceDecision.Step(.policy, .policyBuiltin))
        return DeviceDecision(outcome: .builtin, reason: reason, trace: round.steps)
    }

    private func fallback(names name: String) -> Bool {
        self.fallback.contains(name) || Self.wildcard(above: name).map(self.fallback.contains) ?? false
    }

    /// The wildcard pattern that covers a name; nil for a name of one label.
    private static func wildcard(above name: String) -> String? {
        name.firstIndex(of: ".").map { "*\(name[$0...])" }
    }
}

extension Evaluator {
    /// Whether a kill switch holds, of those for all hosts or of these.
    private func isSwitchedOff(_ own: [Document.KillSwitch], _ round: inout Round) -> Bool {
        // A trace names each of them for each host; without one the common part is evaluated once.
        if let known = round.isSwitchedOff, !round.isTracing {
            if known { return true }
        } else {
            let isSwitchedOff = self.isOneEngaged(of: self.wideSwitches, &round)
            round.isSwitchedOff = isSwitchedOff
            if isSwitchedOff { return true }
        }
        if self.isOneEngaged(of: own, &round) { return true }
        if self.wideSwitches.isEmpty, own.isEmpty { round.note(DeviceDecision.Step(.killSwitch, .killSwitchNone)) }
        return false
    }

    /// Whether a kill switch holds for the device now; the first is enough.
    private func isOneEngaged(of switches: [Document.KillSwitch], _ round: inout Round) -> Bool {
        for one in switches {
            let reason = Self.state(of: one, round)
            round.note(DeviceDecision.Step(.killSwitch, reason, killSwitch: one))
            if reason == .killSwitchEngaged { return true }
        }
        return false
    }

    private static func state(of one: Document.KillSwitch, _ round: Round) -> DeviceDecision.Reason {
        if one.expiresAt <= round.now { return .killSwitchExpired }
        if round.now < one.engagedAt { return .killSwitchAhead }
        guard one.scope == "app_versions" else { return .killSwitchEngaged }
        // Without a range it would be the scope `app`, which was not stated.
        guard let versions = one.versions, !versions.isOpen else { return .killSwitchOtherVersions }
        switch versions.admission(of: round.device) {
        case .inside: return .killSwitchEngaged
        case .unknown: return .killSwitchVersionUnknown
        case .outside: return .killSwitchOtherVersions
        }
    }

    /// Whether the document's pins are past their time.
    private func isExpired(_ round: inout Round) -> Bool {
        if let end = self.document.pinsValidUntil, end <= round.now {
            round.note(DeviceDecision.Step(.validity, .pinsExpired))
            return true
        }
        if let end = self.expiresAt {
            let isStale = end <= round.now
            round.note(DeviceDecision.Step(.validity, isStale ? .documentStale : .documentFresh))
        }
        return false
    }

    /// The policy that a device gets, and the rule that decided it.
    func arm(of host: PreparedHost, _ round: inout Round) -> (PolicyArm, DeviceDecision.Reason) {
        guard host.candidate != nil else {
            let reason: DeviceDecision.Reason = host.arm == nil ? .candidateNone : .serverDecided
            round.note(DeviceDecision.Step(.candidate, reason))
            return (.baseline, reason)
        }
        round.note(DeviceDecision.Step(.candidate, .candidateThere))
        let gate = round.gate ?? self.versionGate?.admission(of: round.device).reason ?? .versionGateNone
        round.gate = gate
        round.note(DeviceDecision.Step(.versionGate, gate))
        guard gate == .versionGateIn || gate == .versionGateNone else { return (.baseline, gate) }

        let open = PreparedRollout.Verdict(isIn: true, reason: .rolloutNone, draw: nil)
        let app = round.appVerdict ?? self.appRollout?.verdict(on: round.device) ?? open
        round.appVerdict = app
        round.note(DeviceDecision.Step(.appRollout, app.reason, draw: app.draw))
        guard app.isIn else { return (.baseline, app.reason) }

        let own = host.rollout?.verdict(on: round.device) ?? open
        round.note(DeviceDecision.Step(.hostRollout, own.reason, draw: own.draw))
        guard own.isIn else { return (.baseline, own.reason) }
        return (.candidate, own.reason == .rolloutNone ? app.reason : own.reason)
    }
}
