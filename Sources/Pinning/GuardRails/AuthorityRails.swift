import PinWire

/// The rails about the issuers of pinned keys: G17, G18, G19.
enum AuthorityRails {
    static func findings(of change: AppChange) -> [Finding] {
        change.arms.filter { $0.now.mode == .enforce && $0.isChanged }.flatMap { arm in
            Self.authorities(arm, change) + Self.variety(arm, change)
        }
    }

    private enum Kind { case leaf, intermediate, root }

    /// The kind of a key, by its known certificates. A root that another authority has signed too remains a root.
    private static func kind(_ knowledge: KeyKnowledge?) -> Kind? {
        guard let certificates = knowledge?.certificates, !certificates.isEmpty else { return nil }
        if certificates.contains(where: { $0.isAuthority && $0.isSelfSigned }) { return .root }
        return certificates.contains(where: \.isAuthority) ? .intermediate : .leaf
    }

    /// The kind of key that vouches for a policy's server: the one kind of all its primaries, where that is known.
    private static func kind(of policy: Policy, _ pattern: HostPattern, _ change: AppChange) -> Kind? {
        let pins = policy.activePins
        let primaries = pins.filter { $0.role == .primary }.map { Self.kind(change.knowledge(of: $0.pin, at: pattern)) }
        guard let kind = primaries.first ?? nil, primaries.allSatisfy({ $0 == kind }) else { return nil }
        // Clients use every pin, whatever its role: with a root among them, any intermediate of it is accepted.
        if kind == .intermediate,
            pins.contains(where: { Self.kind(change.knowledge(of: $0.pin, at: pattern)) == .root })
        {
            return nil
        }
        return kind
    }

    /// G17 and G18: the kind that vouches for the server now, where it is known completely.
    private static func authorities(_ arm: AppChange.Arm, _ change: AppChange) -> [Finding] {
        let kind = Self.kind(of: arm.now, arm.pattern, change)
        if kind == .root {
            return [
                Finding(
                    .rootAlone, .warn, host: arm.pattern, policy: arm.slot,
                    "Only a root authority is pinned for \(arm.pattern): clients accept every certificate that it ever issues for the name, to anyone.",
                    remedy: "Add a CAA record and watch certificate transparency, or pin the server's own key."
                )
            ]
        }
        guard kind == .intermediate else { return [] }
        let certificates = arm.now.activePins.filter { $0.role == .primary }.compactMap { entry in
            change.knowledge(of: entry.pin, at: arm.pattern)?.certificates.first { $0.isAuthority }
        }
        guard let first = certificates.first else { return [] }
        let rotating = certificates.first { certificate in
            Self.rotating.contains { certificate.subject.contains("O=\($0)") }
        }
        // An existing defect must not hold up other changes.
        let wasSo =
            arm.was.map { $0.mode == .enforce && Self.kind(of: $0, arm.pattern, change) == .intermediate } == true
        return [
            Finding(
                .intermediateAlone, wasSo ? .warn : rotating == nil ? .override : .block, host: arm.pattern,
                policy: arm.slot, pin: (rotating ?? first).key.pin,
                rotating.map {
                    "\($0.subject) is one of several intermediates that its owner rotates without notice: the next certificate may come from another one."
                } ?? "\(first.subject) is an intermediate authority, which its owner may replace at any time.",
                remedy: "Pin the server's own key, or add the root."
            )
        ]
    }

    /// Owners of intermediates that are chosen at random or exchanged without notice, as their certificates name them.
    private static let rotating = ["Let's Encrypt", "Google Trust Services", "Amazon", "DigiCert"]

    /// The owner of a name: its organisation, or the whole name without one. One authority has many intermediates.
    private static func owner(_ name: String) -> String {
        // RFC 4514 writes a comma of a value as \, or \2C.
        var parts: [String] = [""]
        var isEscaped = false
        for character in name {
            if character == ",", !isEscaped {
                parts.append("")
            } else {
                parts[parts.count - 1].append(character)
            }
            isEscaped = character == "\\" && !isEscaped
        }
        return parts.first { $0.hasPrefix("O=") }.map { String($0.dropFirst(2)) } ?? name
    }

    /// G19.
    private static func variety(_ arm: AppChange.Arm, _ change: AppChange) -> [Finding] {
        let pins = arm.now.activePins
        let issuers = pins.compactMap { entry -> String? in
            guard let certificate = change.knowledge(of: entry.pin, at: arm.pattern)?.certificates.first else {
                return nil
            }
            // A self-signature says nothing about the issuer of the next certificate.
            guard certificate.isAuthority || !certificate.isSelfSigned else { return nil }
            return Self.owner(certificate.isAuthority ? certificate.subject : certificate.issuer)
        }
        guard pins.count > 1, issuers.count == pins.count, Set(issuers).count == 1, let issuer = issuers.first else {
            return []
        }
        return [
            Finding(
                .oneAuthority, .warn, host: arm.pattern, policy: arm.slot,
                "All keys of \(arm.pattern) have certificates from \(issuer): if that authority fails, no key can be used.",
                remedy: "Keep a backup key that another authority can certify within a day."
            )
        ]
    }
}
