import PinWire

/// The rails about single keys and certificates: G06, G16, G20, G21, G22, G23.
enum CertificateRails {
    static func findings(of change: AppChange) -> [Finding] {
        let staged = change.events.compactMap { event -> Staged? in
            guard case .pinStaged(let pattern, let slot, let pin, let role, _) = event else { return nil }
            return Staged(pattern: pattern, slot: slot, pin: pin, role: role)
        }
        // Texts are hashed only for a pin without its key, because that takes longer than all the rest.
        let isBare = staged.contains { change.knowledge(of: $0.pin, at: $0.pattern) == nil }
        let shown =
            staged.isEmpty
            ? OtherHashes()
            : OtherHashes(of: change.after.keys.values) { isBare ? change.facts.material($0) : nil }
        return staged.flatMap { new -> [Finding] in
            let knowledge = change.knowledge(of: new.pin, at: new.pattern)
            return Self.wrongHash(new, shown, change) + Self.weakness(knowledge, new)
                + Self.fitness(knowledge, new, change) + Self.management(knowledge, new, change)
        } + Self.unknown(staged, change) + Self.described(staged, change) + Self.end(change) + Self.ladder(change)
    }

    /// A pin that the change adds.
    private struct Staged {
        var pattern: HostPattern
        var slot: PolicySlot
        var pin: Pin
        var role: PinRole
    }

    /// Hashes of known keys that people mistake for their pins.
    private struct OtherHashes {
        private var hashes: [[UInt8]: (what: String, pin: Pin)] = [:]

        init() {}

        /// - Parameter material: The DER of keys and certificates, by their SHA-256.
        init(of keys: some Sequence<KeyKnowledge>, _ material: (_ digest: [UInt8]) -> [UInt8]?) {
            for known in keys {
                self.add(known.key)
                if let der = material(known.key.pin.bytes) {
                    self.add(PEM.text(der, .publicKey), "the PEM text of a public key", known.key.pin)
                }
                for certificate in known.certificates {
                    self.add(certificate)
                    guard let der = material(certificate.sha256) else { continue }
                    self.add(
                        PEM.text(der, .certificate), "the PEM text of the certificate \(certificate.subject)",
                        known.key.pin)
                }
            }
        }

        /// A text as a file has it, with line ends of either kind, and as a variable of a shell does: without the last one, or the
        /// last byte of it.
        private mutating func add(_ text: String, _ what: String, _ pin: Pin) {
            let lines = Array(text.utf8)
            let windows = lines.flatMap { $0 == UInt8(ascii: "\n") ? [UInt8(ascii: "\r"), $0] : [$0] }
            for bytes in [lines[...], lines.dropLast(), windows[...], windows.dropLast(), windows.dropLast(2)] {
                self.hashes[sha256(bytes)] = (what, pin)
            }
        }

        mutating func add(_ certificate: CertificateFacts) {
            self.add(certificate.key)
            self.hashes[certificate.sha256] = ("the whole certificate \(certificate.subject)", certificate.key.pin)
        }

        private mutating func add(_ key: KeyFacts) {
            let what = "a key's raw bytes (what SecKeyCopyExternalRepresentation gives)"
            self.hashes[key.rawKeySHA256] = (what, key.pin)
        }

        func meaning(of pin: Pin) -> (what: String, pin: Pin)? { self.hashes[pin.bytes] }
    }

    /// G16.
    private static func wrongHash(_ new: Staged, _ shown: OtherHashes, _ change: AppChange) -> [Finding] {
        var served = OtherHashes()
        for (_, chain) in change.observed(of: new.pattern).recent {
            for certificate in chain.certificates { served.add(certificate) }
        }
        guard let (what, right) = served.meaning(of: new.pin) ?? shown.meaning(of: new.pin) else { return [] }
        return [
            Finding(
                .wrongHash, host: new.pattern, policy: new.slot, pin: new.pin,
                "\(new.pin) is the SHA-256 of \(what), not of the SubjectPublicKeyInfo: it would match on no client.",
                remedy: "Give \(right), the pin of that key."
            )
        ]
    }

    /// The gaps of G20 to G22 for keys of which only the hash is known.
    private static func unknown(_ staged: [Staged], _ change: AppChange) -> [Finding] {
        let bare = staged.filter { change.knowledge(of: $0.pin, at: $0.pattern) == nil }
        return Dictionary(grouping: bare, by: \.pattern).sorted { $0.key < $1.key }.map { pattern, new in
            .unknown(
                .weakKey, host: pattern, pin: new.count == 1 ? new[0].pin : nil,
                "Only the hash of \(new.count == 1 ? "a new pin" : "\(new.count) new pins") of \(pattern) is known: the strength of the key (G21), its certificate and its issuer (G17 to G20, G22) are unknown.",
                remedy: "Give the certificate, public key or signing request instead, or have \(pattern) probed."
            )
        }
    }

    /// G21 for a key that is pinned already, and is only now known to be weak.
    private static func described(_ staged: [Staged], _ change: AppChange) -> [Finding] {
        let new = Set(staged.map(\.pin))
        return change.events.flatMap { event -> [Finding] in
            guard case .keyDescribed(let evidence) = event, !new.contains(evidence.key.pin) else { return [] }
            return evidence.key.objections.map { objection in
                Finding(
                    .weakKey, .warn, pin: evidence.key.pin, "The key is already pinned, but \(objection.reason).",
                    remedy: "Replace it: `pinledger rotation start \(change.id) HOST --next FILE`."
                )
            }
        }
    }

    /// G21.
    private static func weakness(_ knowledge: KeyKnowledge?, _ new: Staged) -> [Finding] {
        (knowledge?.key.objections ?? []).map { objection in
            Finding(
                .weakKey, objection.severity, host: new.pattern, policy: new.slot, pin: new.pin,
                "The key \(objection.reason).", remedy: "Make a new one: \(KeyObjection.soundKinds)."
            )
        }
    }

    /// G22. The certificate of a key in service must be right; that of a key in reserve only shows that the key exists.
    private static func fitness(_ knowledge: KeyKnowledge?, _ new: Staged, _ change: AppChange) -> [Finding] {
        let pattern = new.pattern
        // A renewed certificate of the same key may be among them: the newest counts. Authorities' are not a host's.
        guard let certificate = knowledge?.certificates.first, !certificate.isAuthority else { return [] }
        let severity: GuardRail.Severity = new.role == .primary ? .override : .warn
        var findings: [Finding] = []
        func add(_ severity: GuardRail.Severity, _ detail: String, _ remedy: String) {
            findings.append(
                Finding(
                    .certificateUnfit, severity, host: pattern, policy: new.slot, pin: new.pin, detail, remedy: remedy)
            )
        }
        if certificate.notAfter <= change.now {
            add(
                severity, "The certificate of the key expired at \(certificate.notAfter).",
                "Give the current certificate.")
        } else if change.now < certificate.notBefore {
            add(
                severity, "The certificate of the key is not valid before \(certificate.notBefore).",
                "Publish the key as a backup until then.")
        }
        if !certificate.covers(pattern).isCovered, certificate.dnsNames.count >= CertificateFacts.nameLimit {
            findings.append(
                .unknown(
                    .certificateUnfit, host: pattern, pin: new.pin,
                    "The certificate has \(CertificateFacts.nameLimit) names or more, and \(pattern) is not among those that are kept.",
                    remedy: "Compare the names yourself: `openssl x509 -noout -ext subjectAltName -in FILE`."))
        } else if !certificate.covers(pattern).isCovered {
            let names = certificate.dnsNames.prefix(5).joined(separator: ", ")
            add(
                severity,
                "The certificate is not for \(pattern): \(names.isEmpty ? "it names no host" : "it names \(names)").",
                "Give the certificate that \(pattern) presents."
            )
        }
        if certificate.isSelfSigned, new.role == .primary {
            add(
                .warn, "The certificate is self-signed: clients that validate chains refuse it, whatever is pinned.",
                "Give the certificate that \(pattern) presents."
            )
        }
        return findings
    }

    /// G20.
    private static func management(_ knowledge: KeyKnowledge?, _ new: Staged, _ change: AppChange)
        -> [Finding]
    {
        guard new.role == .primary, let certificate = knowledge?.certificates.first, !certificate.isAuthority,
            !certificate.isSelfSigned
        else { return [] }
        let day: Int64 = 86_400
        let life = (certificate.notAfter.seconds - certificate.notBefore.seconds) / day
        guard (0...100).contains(life) else { return [] }
        return [
            Finding(
                .managedCertificate, .warn, host: new.pattern, policy: new.slot, pin: new.pin,
                "The certificate is valid for \(life) days and renewed after about \(life * 2 / 3): if the renewal makes a new key, that key's pin must reach clients before it is served, which takes up to \(change.facts.deliverySeconds / 3600 + 1) hours.",
                remedy: "Have the renewal keep its key (certbot: --reuse-key), or publish two future keys in advance."
            )
        ]
    }

    /// G06: a document that is enforced for longer than any of its keys can be served.
    private static func end(_ change: AppChange) -> [Finding] {
        let isNew = change.before?.pinsValidUntil != change.after.pinsValidUntil
        guard let end = change.after.pinsValidUntil else { return [] }
        let patterns = isNew ? change.after.hosts.keys : change.hosts
        let changed = Set(change.arms.filter(\.isChanged).map { Place(pattern: $0.pattern, slot: $0.slot) })
        return patterns.flatMap { pattern -> [Finding] in
            guard let host = change.after.hosts[pattern] else { return [] }
            return PolicySlot.allCases.compactMap { slot -> Finding? in
                guard let policy = host[slot], policy.mode == .enforce,
                    isNew || changed.contains(Place(pattern: pattern, slot: slot))
                else { return nil }
                var ends: [Timestamp] = []
                for (pin, _) in policy.activePins {
                    // A key without a certificate can still be given one, valid for any time.
                    guard let notAfter = change.knowledge(of: pin, at: pattern)?.notAfter else { return nil }
                    ends.append(notAfter)
                }
                guard let last = ends.max(), last < end, change.now < end else { return nil }
                let soon = last < change.now.adding(seconds: change.facts.deliverySeconds)
                return Finding(
                    .outlivesItsPins, soon ? .override : .warn, host: pattern, policy: slot,
                    "The last certificate of the pinned keys of \(pattern) \(last <= change.now ? "expired" : "expires") at \(last), and the pins are enforced until \(end): in between, clients accept no certificate.",
                    remedy:
                        "Renew a certificate with one of these keys and upload it, or set `pins_valid_until` before \(last)."
                )
            }
        }
    }
    private struct Place: Hashable {
        var pattern: HostPattern
        var slot: PolicySlot
    }

    /// G23: a change publishes a key whose certificate expires soon: within thirty days, or in the second half of a
    /// shorter life.
    private static func ladder(_ change: AppChange) -> [Finding] {
        let month: Int64 = 30 * 86_400
        return change.arms.filter { $0.now.mode != .off && $0.isChanged }.flatMap { arm in
            arm.now.activePins.compactMap { pin, _ -> Finding? in
                guard let certificate = change.knowledge(of: pin, at: arm.pattern)?.certificates.first,
                    change.now < certificate.notAfter
                else { return nil }
                let half = max(0, (certificate.notAfter.seconds - certificate.notBefore.seconds) / 2)
                guard certificate.notAfter.adding(seconds: -min(month, half)) <= change.now else { return nil }
                let days = (certificate.notAfter.seconds - change.now.seconds) / 86_400
                return Finding(
                    .expiryLadder, .warn, host: arm.pattern, policy: arm.slot, pin: pin,
                    "The certificate of this key expires at \(certificate.notAfter), in \(days) day\(days == 1 ? "" : "s").",
                    remedy:
                        "Renew it with the same key, or start to replace the key: `pinledger rotation start \(change.id) \(arm.pattern) --next FILE`. `pinledger attention` lists everything that expires."
                )
            }
        }
    }
}
