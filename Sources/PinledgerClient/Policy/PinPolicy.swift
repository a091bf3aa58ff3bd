public import PinWire

/// What holds for connections at one moment: a verified document, the pins built into the app, and this device.
///
/// A value: a TLS stack takes one for each connection and decides without waiting. ``PinledgerClient/policy`` is the present one.
public struct PinPolicy: Sendable {
    /// The document that holds; nil where there is none.
    public let document: VerifiedDocument?
    /// Counts up whenever another document holds, also the same one signed again, or another device is stated. Sessions that could be resumed (TLS tickets) belong to
    /// one generation: a stack drops those of another one, because resumption shows no certificates. What a document says by itself of
    /// time, the end of a kill switch or of its pins, does not count up.
    public let generation: UInt64

    let device: Device
    private let builtin: [BuiltinPins]
    private let ends: EndPolicies
    private let evaluator: Evaluator?

    init(
        document: VerifiedDocument?, device: Device, builtin: [BuiltinPins], ends: EndPolicies, generation: UInt64
    ) {
        self.document = document
        self.device = device
        self.builtin = builtin
        self.ends = ends
        self.generation = generation
        self.evaluator = document.map { Evaluator($0.issued) }
    }

    /// The policy after this one, with another document.
    func replacing(_ document: VerifiedDocument) -> PinPolicy {
        PinPolicy(
            document: document, device: self.device, builtin: self.builtin, ends: self.ends,
            generation: self.generation + 1)
    }

    /// The policy after this one, for what is known of the device now.
    func replacing(_ device: Device) -> PinPolicy {
        PinPolicy(
            document: self.document, device: device, builtin: self.builtin, ends: self.ends,
            generation: self.generation + 1)
    }

    /// A policy of a prepared document alone.
    package init(evaluator: Evaluator, device: Device) {
        self.document = nil
        self.device = device
        self.builtin = []
        self.ends = EndPolicies(afterExpiry: .platformTrust, exceptions: [:], withoutDocument: .platformTrust)
        self.generation = 0
        self.evaluator = evaluator
    }

    /// What the document says about a host for this device, with each rule's result: for support screens. It carries no id.
    ///
    /// - Returns: Nil where there is no document.
    public func explain(_ host: String, at now: Timestamp) -> DeviceDecision? {
        self.evaluator?.explain(host, for: self.device, at: now)
    }

    /// What the document says about a host for this device.
    ///
    /// - Returns: Nil where there is no document.
    public func decide(_ host: String, at now: Timestamp) -> DeviceDecision? {
        self.evaluator?.decide(host, for: self.device, at: now)
    }

    /// The hosts among these that the document says nothing of; none without a document.
    func uncovered(_ hosts: [HostPattern], at now: Timestamp) -> [HostPattern] {
        hosts.filter { host in
            // For a wildcard, some name that it covers: another pattern may cover it as well.
            let name = host.isWildcard ? "expected-by-the-app.\(host.name)" : host.text
            return self.decide(name, at: now)?.reason == .hostUnknown
        }
    }

    /// Judges a connection whose chain the platform has validated for the host's name already.
    ///
    /// - Parameters:
    ///   - chain: The pins (SHA-256 of the SubjectPublicKeyInfo) of the *validated* chain's certificates, the host's own first.
    ///   - host: The name that was connected to, in A-labels, or the address, for which nothing is ever pinned. Anything else, such as a URL or a
    ///     name with a port, is refused: no pattern would cover it, and the connection would be unpinned by mistake.
    public func judge(_ chain: [Pin], of host: String, at now: Timestamp) -> ConnectionVerdict {
        guard Self.canBeHost(host) else { return ConnectionVerdict(.refusedHost, nil) }
        guard let decision = self.decide(host, at: now) else { return self.judgeWithoutDocument(chain, host) }
        return self.judge(chain, of: host, by: decision)
    }

    /// What a decision of a document comes to for a chain.
    package func judge(_ chain: [Pin], of host: String, by decision: DeviceDecision) -> ConnectionVerdict {
        switch decision.outcome {
        case .off:
            guard decision.reason == .pinsExpired, self.ends.policy(of: host, decision.pattern) == .block else {
                return ConnectionVerdict(.unpinned, decision)
            }
            return ConnectionVerdict(.refusedExpired, decision)
        case .enforce, .reportOnly:
            let match = chain.first { pin in decision.pins.contains { $0.pin == pin } }
            if let match { return ConnectionVerdict(.matched, decision, match) }
            return ConnectionVerdict(decision.outcome == .enforce ? .refused : .mismatched, decision)
        case .builtin:
            // The server relies on pins that this release does not ship: that locks nobody out.
            guard let own = self.builtin(for: host, decision.pattern) else {
                return ConnectionVerdict(.unpinned, decision)
            }
            return Self.verdict(chain, own, decision)
        }
    }

    private func judgeWithoutDocument(_ chain: [Pin], _ host: String) -> ConnectionVerdict {
        if let own = self.builtin(for: host, nil) { return Self.verdict(chain, own, nil) }
        return ConnectionVerdict(self.ends.withoutDocument == .block ? .refusedWithoutDocument : .unpinned, nil)
    }

    private static func verdict(
        _ chain: [Pin], _ own: BuiltinPins, _ decision: DeviceDecision?
    ) -> ConnectionVerdict {
        if own.mode == .off { return ConnectionVerdict(.unpinned, decision) }
        if let match = chain.first(where: own.pins.contains) { return ConnectionVerdict(.matched, decision, match) }
        return ConnectionVerdict(own.mode == .enforce ? .refused : .mismatched, decision)
    }

    /// The app's own pins for a name: those of the name itself, or of a wildcard, or of the document's pattern that covers the name.
    private func builtin(for host: String, _ pattern: HostPattern?) -> BuiltinPins? {
        guard let name = HostPattern.canonical(host) else { return nil }
        return self.builtin.first { $0.host.text == name } ?? self.builtin.first { $0.host.matches(name) }
            ?? pattern.flatMap { pattern in self.builtin.first { $0.host == pattern } }
    }

    /// Whether a text has the form of a name, with a trailing dot or without, or of an address.
    package static func canBeHost(_ text: String) -> Bool {
        let (colon, dot) = (UInt8(ascii: ":"), UInt8(ascii: "."))
        guard text.utf8.count(where: { $0 == colon }) > 1 else {
            let isPlain = text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), dot:
                    true
                default: false
                }
            }
            return isPlain && HostPattern.canonical(text) != nil
        }
        // An address of IPv6, perhaps in brackets, and perhaps with a zone.
        let inner = text.hasPrefix("[") && text.hasSuffix("]") ? text.dropFirst().dropLast() : text[...]
        return inner.prefix { $0 != "%" }.utf8.allSatisfy { byte in
            switch byte {
            case colon, dot, UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                UInt8(ascii: "A")...UInt8(ascii: "F"):
                true
            default: false
            }
        }
    }
}

/// Pins that are built into the app, for a host: what holds until there is a document, and where the document says so.
public struct BuiltinPins: Hashable, Sendable {
    public var host: HostPattern
    public var mode: PinMode
    public var pins: Set<Pin>

    public init(host: HostPattern, mode: PinMode = .enforce, pins: Set<Pin>) {
        self.host = host
        self.mode = mode
        self.pins = pins
    }
}

/// What becomes of connections whose pins have ended, or of which nothing is known yet.
@nonexhaustive
public enum EndPolicy: String, CaseIterable, Hashable, Sendable {
    /// The platform's own validation decides; the connection is reported.
    case platformTrust = "platform_trust"
    /// No connection.
    case block
}

/// The app's choices for what no document decides.
struct EndPolicies: Sendable {
    /// From `pins_valid_until` on.
    var afterExpiry: EndPolicy
    var exceptions: [HostPattern: EndPolicy]
    /// While there is neither a document nor a pin built in.
    var withoutDocument: EndPolicy

    /// - Parameter pattern: The document's pattern that covers the name.
    func policy(of host: String, _ pattern: HostPattern?) -> EndPolicy {
        guard let name = HostPattern.canonical(host) else { return self.afterExpiry }
        // A name is covered by itself and by one wildcard.
        let exact = self.exceptions.first { $0.key.text == name }
        return (exact ?? self.exceptions.first { $0.key.matches(name) })?.value
            ?? pattern.flatMap { self.exceptions[$0] } ?? self.afterExpiry
    }
}

/// The decision on one connection.
public struct ConnectionVerdict: Hashable, Sendable {
    /// The raw values are stable.
    @nonexhaustive
    public enum Result: String, CaseIterable, Hashable, Sendable {
        /// No pins hold for the host: the platform's validation was all.
        case unpinned
        /// A certificate of the chain has one of the pins.
        case matched
        /// None has, and the policy only reports that.
        case mismatched
        /// None has, and the policy is enforced.
        case refused
        /// The document's pins have ended, and the app blocks the host then.
        case refusedExpired = "refused_expired"
        /// There is no document and no pin built in, and the app blocks such hosts.
        case refusedWithoutDocument = "refused_without_document"
        /// What was given as the host is neither a name nor an address: a mistake of the app's.
        case refusedHost = "refused_host"
    }

    public let result: Result
    /// What the document said; nil without one.
    public let decision: DeviceDecision?
    /// The pin that matched: of the certificate nearest to the host's own.
    public let match: Pin?

    package init(_ result: Result, _ decision: DeviceDecision?, _ match: Pin? = nil) {
        self.result = result
        self.decision = decision
        self.match = match
    }

    /// Whether a newer document could let the connection through that this one ends.
    package var callsForDocument: Bool { !self.isAccepted && self.result != .refusedHost }

    /// Whether the connection may be used.
    public var isAccepted: Bool {
        switch self.result {
        case .unpinned, .matched, .mismatched: true
        case .refused, .refusedExpired, .refusedWithoutDocument, .refusedHost: false
        }
    }
}
