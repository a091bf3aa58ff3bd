import PinWire

/// The rules once more, each where it is needed and nothing worked out beforehand, to compare ``Evaluator`` with.
struct StraightforwardEvaluation {
    var document: Document
    var issuedAt: Int64
    var expiresAt: Int64

    struct Answer: Equatable {
        var outcome: String
        var pins: [String] = []
        var arm: String?
        var host: String?
        var reason: String
        var isStale = false
    }

    func answer(_ name: String, ids: [String: String], version: String?, build: Int64?, country: String?, now: Int64)
        -> Answer
    {
        guard let host = self.host(for: name) else { return Answer(outcome: "off", reason: "host_unknown") }
        let text = host.pattern.text

        for one in self.document.killSwitches {
            guard one.expiresAt.seconds > now, one.engagedAt.seconds <= now || one.engagedAt.seconds <= self.issuedAt
            else {
                continue
            }
            let holds =
                switch one.scope {
                case "everything", "app": true
                case "host": one.host?.text == text
                default: one.versions.map { self.gate($0, version, build) == nil } ?? false
                }
            if holds { return Answer(outcome: "off", host: text, reason: "kill_switch_engaged") }
        }
        if let end = self.document.pinsValidUntil?.seconds, now >= end {
            return Answer(outcome: "off", host: text, reason: "pins_expired")
        }
        let isStale = now >= self.expiresAt

        func give(_ arm: String, _ reason: String) -> Answer {
            guard let policy = arm == "candidate" ? host.candidate : host.baseline else {
                return Answer(outcome: "builtin", arm: arm, host: text, reason: reason, isStale: isStale)
            }
            let pins = policy.mode == .off ? [] : policy.pins.map { "\($0.role.rawValue) \($0.pin)" }
            return Answer(
                outcome: policy.mode.rawValue, pins: pins, arm: arm, host: text, reason: reason, isStale: isStale)
        }

        if host.candidate == nil { return give("baseline", "candidate_none") }
        if let gate = self.document.versionGate, let closed = self.gate(gate, version, build) {
            return give("baseline", closed)
        }
        var last = "rollout_none"
        for rollout in [self.document.rollout, host.rollout] {
            guard let rollout else { continue }
            let (isIn, reason) = self.isIn(rollout, ids, country)
            if !isIn { return give("baseline", reason) }
            last = reason
        }
        return give("candidate", last)
    }

    private func host(for name: String) -> Document.Host? {
        var best: (rank: Int, host: Document.Host)?
        for host in self.document.hosts {
            let base = host.pattern.text.replacing("*.", with: "")
            let isBelow = name.hasSuffix("." + base)
            let labelsAbove = name.split(separator: ".").count - base.split(separator: ".").count
            var rank = 0
            if host.pattern.text == name {
                rank = 3000
            } else if host.pattern.text.hasPrefix("*."), isBelow, labelsAbove == 1 {
                rank = 2000
            } else if host.includesSubdomains, isBelow {
                rank = 1000 + host.pattern.text.count
            }
            if rank > best?.rank ?? 0 { best = (rank, host) }
        }
        return best?.host
    }

    /// Why a gate is closed; nil where it is open.
    private func gate(_ gate: VersionGate, _ version: String?, _ build: Int64?) -> String? {
        let boundsVersions = gate.minimum != nil || gate.maximum != nil || !gate.excluded.isEmpty
        if boundsVersions {
            guard let version else { return "version_unknown" }
            guard let parsed = try? AppVersion(version) else { return "version_invalid" }
            if let bound = gate.minimum, !(parsed >= bound) { return "version_below_minimum" }
            if let bound = gate.maximum, !(parsed <= bound) { return "version_above_maximum" }
            for other in gate.excluded where other == parsed { return "version_excluded" }
        }
        if let bound = gate.minimumBuild {
            guard let build else { return "build_unknown" }
            if !(build >= bound) { return "build_below_minimum" }
        }
        return nil
    }

    private func isIn(_ rollout: Rollout, _ ids: [String: String], _ country: String?) -> (Bool, String) {
        let noIDs = ["unknown", "anonymous", "00000000-0000-0000-0000-000000000000"]
        let known = rollout.seed.compactMap { seed -> (String, String)? in
            guard let id = ids[seed.rawValue] else { return nil }
            let isNone = noIDs.contains(id.lowercased()) || id.allSatisfy { $0.isWhitespace } || id.contains("\0")
            return isNone ? nil : (seed.rawValue, self.folded(id))
        }
        let hashes = known.map { Rollout.hashedID($0.1, salt: rollout.salt ?? "") }
        for hash in hashes where rollout.exclusions.contains(hash) { return (false, "rollout_excluded") }
        for hash in hashes where rollout.whitelist.contains(hash) { return (true, "rollout_whitelisted") }
        if rollout.method == .whitelist { return (false, "rollout_not_whitelisted") }
        if rollout.method == .geography {
            guard let country else { return (false, "country_unknown") }
            if !rollout.countries.contains(country) { return (false, "country_outside") }
        }
        guard let (seed, id) = known.first else { return (false, "seed_missing") }
        let message = "pinroll/v1\0" + (rollout.salt ?? "") + "\0" + seed + "\0" + id
        var number: UInt64 = 0
        for byte in sha256(Array(message.utf8))[0..<4] { number = number * 256 + UInt64(byte) }
        let isIn = Int(number * 10_000 / 4_294_967_296) < rollout.basisPoints
        return (isIn, isIn ? "rollout_in" : "rollout_out")
    }

    private func folded(_ id: String) -> String {
        let isUUID =
            id.wholeMatch(of: /[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}/) != nil
        return isUUID ? id.lowercased() : id
    }
}
