import PinWire

extension AppChange {
    /// Refuses a change that weakens protection without a reason.
    func requireReasons() throws(Refusal) {
        for pattern in self.hosts {
            guard let was = self.before?.hosts[pattern] else { continue }
            guard let now = self.after.hosts[pattern] else {
                try self.context.requireReason("it removes the host \(pattern)")
                continue
            }
            try self.requireReason(from: was, to: now, pattern)
        }
    }

    private func requireReason(from before: Host, to after: Host, _ pattern: HostPattern) throws(Refusal) {
        if before.includesSubdomains, !after.includesSubdomains {
            try self.context.requireReason("it excludes the subdomains of \(pattern)")
        }
        // A promoted candidate replaces the baseline: compare the baseline's promise to all devices, and the
        // candidate's to its own, each with the policy that now replaces it.
        if let was = before[.baseline] {
            try self.requireReason(from: was, to: after[.baseline], pattern)
        } else if let now = after[.baseline] {
            try self.requireReason(from: Self.builtinMode, to: now.mode, pattern)
        }
        if let was = before.candidate {
            try self.requireReason(from: was, to: after.candidate ?? after[.baseline], pattern)
        } else if let now = after.candidate {
            // Its devices had the baseline so far. A candidate exists in order not to hold the baseline's pins.
            try self.requireReason(from: before[.baseline]?.mode ?? Self.builtinMode, to: now.mode, pattern)
        }
    }

    /// Pins that are built into an app are meant to be enforced.
    private static let builtinMode = PinMode.enforce

    private func requireReason(from before: PinMode, to after: PinMode, _ pattern: HostPattern) throws(Refusal) {
        guard after.strength < before.strength else { return }
        try self.context.requireReason("it lowers the mode of \(pattern) to \(after.rawValue)")
    }

    private func requireReason(from before: Policy, to after: Policy?, _ pattern: HostPattern) throws(Refusal) {
        guard let after else { return try self.context.requireReason("it withdraws a policy of \(pattern)") }
        try self.requireReason(from: before.mode, to: after.mode, pattern)
        let remaining = Set(after.activePins.map(\.pin))
        if before.activePins.contains(where: { !remaining.contains($0.pin) }) {
            try self.context.requireReason("it removes a published pin of \(pattern)")
        }
    }
}
