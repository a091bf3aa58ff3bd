import PinWire

/// The rules about the result of a change, judged on the states before and after it.
enum PolicyInvariants {
    /// Refuses a change that would lock clients out, and one that weakens protection without a reason.
    ///
    /// - Parameter lowered: The guard rails that only warn, besides those that the app itself has lowered.
    static func check(
        from before: App?, to after: App, lowered: Set<GuardRail> = [], in context: DecisionContext
    ) throws(Refusal) {
        let needsReserve = !lowered.union(after.loweredRails).contains(.backupNotServed)
        for (pattern, host) in after.hosts.sorted(by: { $0.key < $1.key }) {
            for slot in PolicySlot.allCases {
                guard let policy = host[slot] else { continue }
                let was = before?.hosts[pattern]?[slot]
                try Self.checkEnforceable(
                    policy, before: was, pattern, slot, needsReserve: needsReserve, in: context)
            }
        }
        guard let before else { return }
        for (pattern, host) in before.hosts.sorted(by: { $0.key < $1.key }) {
            guard let now = after.hosts[pattern] else {
                try context.requireReason("it removes the host \(pattern)")
                continue
            }
            try Self.checkReason(from: host, to: now, pattern, in: context)
        }
    }

    /// RFC 7469 section 4.3: an enforced set needs a second pin, of a key that is not in use yet.
    private static func checkEnforceable(
        _ policy: Policy, before: Policy?, _ pattern: HostPattern, _ slot: PolicySlot, needsReserve: Bool,
        in context: DecisionContext
    ) throws(Refusal) {
        guard policy.mode == .enforce, !policy.publishesTheSame(as: before) else { return }
        let active = policy.activePins.count
        guard active >= 2 else { throw .tooFewPins(pattern, slot, active: active) }
        guard !policy.hasActiveReserve else { return }
        guard before?.mode == .enforce else { throw .noBackupPin(pattern, slot) }
        // A policy with a backup may lose the last one with force and a reason.
        guard !needsReserve || context.insists else { throw .lastBackupPin(pattern, slot) }
    }

    private static func checkReason(
        from before: Host, to after: Host, _ pattern: HostPattern, in context: DecisionContext
    ) throws(Refusal) {
        if before.includesSubdomains, !after.includesSubdomains {
            try context.requireReason("it excludes the subdomains of \(pattern)")
        }
        // A promoted candidate replaces the baseline: compare the baseline's promise to all devices, and the
        // candidate's to its own, each with the policy that now replaces it.
        if let was = before[.baseline] {
            try Self.checkReason(from: was, to: after[.baseline], pattern, in: context)
        } else if let now = after[.baseline] {
            try Self.checkMode(from: Self.builtinMode, to: now.mode, pattern, in: context)
        }
        if let was = before.candidate {
            try Self.checkReason(from: was, to: after.candidate ?? after[.baseline], pattern, in: context)
        } else if let now = after.candidate {
            // Its devices had the baseline so far. A candidate exists in order not to hold the baseline's pins.
            try Self.checkMode(from: before[.baseline]?.mode ?? Self.builtinMode, to: now.mode, pattern, in: context)
        }
    }

    /// Pins that are built into an app are meant to be enforced.
    private static let builtinMode = PinMode.enforce

    private static func checkMode(
        from before: PinMode, to after: PinMode, _ pattern: HostPattern, in context: DecisionContext
    ) throws(Refusal) {
        guard after.strength < before.strength else { return }
        try context.requireReason("it lowers the mode of \(pattern) to \(after.rawValue)")
    }

    private static func checkReason(
        from before: Policy, to after: Policy?, _ pattern: HostPattern, in context: DecisionContext
    ) throws(Refusal) {
        guard let after else { return try context.requireReason("it withdraws a policy of \(pattern)") }
        try Self.checkMode(from: before.mode, to: after.mode, pattern, in: context)
        let remaining = Set(after.activePins.map(\.pin))
        if before.activePins.contains(where: { !remaining.contains($0.pin) }) {
            try context.requireReason("it removes a published pin of \(pattern)")
        }
    }
}

extension Policy {
    /// Whether this policy is equal to the other for clients.
    func publishesTheSame(as other: Policy?) -> Bool {
        guard let other, self.mode == other.mode else { return false }
        return Dictionary(uniqueKeysWithValues: self.activePins.map { ($0.pin, $0.role) })
            == Dictionary(uniqueKeysWithValues: other.activePins.map { ($0.pin, $0.role) })
    }
}
