extension Evaluator {
    /// The result of gate and rollouts for a device: the hosts whose candidates it gets, and the kill switches for
    /// versions that may concern it. It does not change with time, and devices of one resolution get the same document.
    package struct Resolution: Hashable, Sendable {
        /// One bit for each host with a candidate, in the document's order.
        fileprivate var candidates: Bits
        /// One bit for each kill switch, in the document's order; set for those that stay.
        fileprivate var killSwitches: Bits
    }

    /// The number of hosts with a candidate: a resolution costs as many decisions.
    package var candidateCount: Int { self.candidates.count }

    /// Whether the device's country can make a difference.
    package var dependsOnCountry: Bool {
        guard !self.candidates.isEmpty else { return false }
        return self.document.rollout?.method == .geography
            || self.candidates.contains { self.document.hosts[$0].rollout?.method == .geography }
    }

    /// Resolves gate and rollouts for a device.
    package func resolution(for device: Device) -> Resolution {
        // Neither gate nor rollouts depend on the time.
        var round = Round(self, device, Timestamp(seconds: 0), isTracing: false)
        var candidates = Bits(count: self.candidates.count)
        for (bit, place) in self.candidates.enumerated() {
            let (arm, _) = self.arm(of: self.hosts[place], &round)
            if arm == .candidate { candidates.set(bit) }
        }
        var killSwitches = Bits(count: self.document.killSwitches.count)
        for (bit, one) in self.document.killSwitches.enumerated() {
            switch one.versions?.admission(of: device) {
            // The device itself knows the attributes that it has not stated.
            case nil, .inside, .unknown: killSwitches.set(bit)
            case .outside: break
            }
        }
        return Resolution(candidates: candidates, killSwitches: killSwitches)
    }

    /// The document for the devices of a resolution: each host has the one policy that they get, and the gates,
    /// rollouts and kill switches that do not concern them are gone. Evaluated for one of them it decides as this one
    /// does.
    package func document(for resolution: Resolution) -> Document {
        var document = self.document
        document.rollout = nil
        document.versionGate = nil
        document.evaluatedFrom = self.document.contentDigest
        document.killSwitches = document.killSwitches.enumerated().filter { resolution.killSwitches[$0.offset] }
            .map(\.element)
        for place in document.hosts.indices {
            document.hosts[place].arm = .baseline
            document.hosts[place].rollout = nil
        }
        for (bit, place) in self.candidates.enumerated() {
            if resolution.candidates[bit] {
                document.hosts[place].arm = .candidate
                document.hosts[place].baseline = document.hosts[place].candidate
            }
            document.hosts[place].candidate = nil
        }
        return document
    }
}

/// A set of small numbers. One of up to 64 takes no memory of its own: each request for an evaluated document makes two.
private struct Bits: Hashable, Sendable {
    private var first: UInt64 = 0
    /// From 64 on.
    private var rest: [UInt64]

    init(count: Int) { self.rest = count <= 64 ? [] : Array(repeating: 0, count: (count - 1) / 64) }

    mutating func set(_ bit: Int) {
        if bit < 64 { self.first |= 1 << UInt64(bit) } else { self.rest[bit / 64 - 1] |= 1 << UInt64(bit % 64) }
    }

    subscript(_ bit: Int) -> Bool {
        (bit < 64 ? self.first : self.rest[bit / 64 - 1]) & 1 << UInt64(bit % 64) != 0
    }
}
