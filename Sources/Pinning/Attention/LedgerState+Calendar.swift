package import PinWire

/// The dates of one app, the first first.
package struct AppCalendar: Hashable, Sendable {
    package var app: AppID
    package var displayName: String
    package var entries: [CalendarEntry]
    /// Whether there are more of them than ``limit``; the last ones are left out.
    package var isTruncated: Bool

    /// The most dates of one calendar.
    package static let limit = 1000
}

extension LedgerState {
    /// The dates of an app as far as they are known now, including past ones of things that still exist; nil for an
    /// unknown app.
    ///
    /// - Parameter context: The present facts; its reason and force are not used.
    package func calendar(of id: AppID, in context: DecisionContext) -> AppCalendar? {
        guard let app = self.apps[id] else { return nil }
        var entries = app.hosts.flatMap { app.certificateDates(of: $0.key, $0.value, in: context) }
        entries += app.ends(in: context)
        for rotation in app.rotations where !rotation.phase.isOver {
            guard let progress = try? self.progress(of: rotation.id, app: id, in: context) else { continue }
            entries += app.dates(of: progress)
        }
        for place in app.plannedPlaces {
            guard let progress = try? self.progress(ofPlan: place, app: id, in: context) else { continue }
            entries += progress.dates(of: app)
        }
        entries.sort { ($0.date, $0.uid) < ($1.date, $1.uid) }
        return AppCalendar(
            app: id, displayName: app.displayName, entries: Array(entries.prefix(AppCalendar.limit)),
            isTruncated: entries.count > AppCalendar.limit
        )
    }
}

extension App {
    /// When certificates of a host expire: the served ones, and the newest ones of pinned keys that are not served.
    fileprivate func certificateDates(
        of pattern: HostPattern, _ host: Host, in context: DecisionContext
    ) -> [CalendarEntry] {
        let (facts, now) = (context.facts, context.now)
        var entries: [CalendarEntry] = []
        var served: Set<Pin> = []
        let roles = host.rolesInUse
        for endpoint in host.probed(of: pattern) {
            var first: [Pin: CertificateFacts] = [:]
            for chain in facts.endpoint(endpoint)?.live(at: now) ?? [] {
                for (place, certificate) in chain.certificates.enumerated() {
                    // The expiry of an authority that clients trust by themselves does not matter here.
                    guard place == 0 || !certificate.isSelfSigned else { continue }
                    let pin = certificate.key.pin
                    // Addresses may differ: the one that fails first counts.
                    if let known = first[pin], known.notAfter <= certificate.notAfter { continue }
                    first[pin] = certificate
                }
            }
            for (pin, certificate) in first {
                var entry = CalendarEntry(
                    .servedCertificateExpires, at: certificate.notAfter, of: self,
                    about: [pattern.text, endpoint.description, pin.description], host: pattern,
                    leads: facts.horizons.leads(life: certificate.life),
                    summary: "The certificate \(certificate.subject) that \(endpoint) presents expires."
                )
                entry.pin = pin
                entry.role = roles[pin]
                entry.endpoint = endpoint
                entry.certificate = certificate
                entries.append(entry)
                served.insert(pin)
            }
        }
        for (pin, role) in roles where !served.contains(pin) {
            guard let certificate = self.keys[pin]?.certificates.first else { continue }
            var entry = CalendarEntry(
                .certificateExpires, at: certificate.notAfter, of: self, about: [pattern.text, pin.description],
                host: pattern, leads: facts.horizons.leads(life: certificate.life),
                summary:
                    "The certificate \(certificate.subject) of the \(role.rawValue) key of \(pattern) expires."
            )
            entry.pin = pin
            entry.role = role
            entry.certificate = certificate
            entries.append(entry)
        }
        return entries
    }

    /// The ends of pins and kill switches.
    fileprivate func ends(in context: DecisionContext) -> [CalendarEntry] {
        var entries: [CalendarEntry] = []
        if let end = self.pinsValidUntil {
            // Thirty days are the usual setting: announced at once, it would be announced all the time.
            var leads = context.facts.horizons.leads().filter { $0 <= 15 * 86_400 }
            if leads.isEmpty { leads = [86_400] }
            entries.append(
                CalendarEntry(
                    .pinsValidUntil, at: end, of: self, about: [], leads: leads,
                    summary: "Clients of \(self.id) that cannot reach this service until then stop enforcing pins."
                ))
        }
        func add(
            _ killSwitch: KillSwitch?, _ scope: String, about subject: [String] = [], _ pattern: HostPattern? = nil
        ) {
            guard let killSwitch else { return }
            entries.append(
                CalendarEntry(
                    .killSwitchEnds, at: killSwitch.expiresAt, of: self, about: subject, host: pattern,
                    leads: [86_400, 3600], summary: "The kill switch of \(scope) ends: pinning is on again."
                ))
        }
        add(self.killSwitch, self.id.text)
        for engaged in self.versionKillSwitches {
            add(
                engaged.killSwitch, "the versions \(engaged.versions) of \(self.id)",
                about: ["versions", engaged.versions.json.canonicalText])
        }
        for (pattern, host) in self.hosts { add(host.killSwitch, pattern.text, about: [pattern.text], pattern) }
        return entries
    }

    /// When a rotation's waiting times are over.
    fileprivate func dates(of progress: RotationProgress) -> [CalendarEntry] {
        let rotation = progress.rotation
        return progress.waits.compactMap { wait in
            guard let until = wait.until else { return nil }
            var entry = CalendarEntry(
                .rotationDue, at: until, of: self, about: [rotation.id, rotation.phase.rawValue, wait.what],
                host: rotation.hosts.count == 1 ? rotation.hosts.first : nil, leads: [0],
                summary:
                    "The rotation \(rotation.id) has waited long enough in \(rotation.phase.rawValue): \(wait.what)."
            )
            entry.rotation = rotation.id
            entry.pin = rotation.next
            return entry
        }
    }
}

extension CertificateFacts {
    /// Its whole life, in seconds.
    fileprivate var life: Int64 { self.notAfter.seconds - self.notBefore.seconds }
}

extension Host {
    /// The pins that are published or about to be, with the role that matters most: primary before all others.
    fileprivate var rolesInUse: [Pin: PinRole] {
        var roles: [Pin: PinRole] = [:]
        for slot in PolicySlot.allCases {
            guard let policy = self[slot], policy.mode != .off else { continue }
            for (pin, record) in policy.pins where record.state.isInUse && roles[pin] != .primary {
                roles[pin] = record.role
            }
        }
        return roles
    }
}
