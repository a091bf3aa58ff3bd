package import PinWire
package import Pinning

/// The effect of an administrative request of Wultra's: commands for the ledger, and settings of the kind of client.
///
/// It decides nothing: the ledger judges the commands, and may refuse them.
package struct WultraAdminCommand: Hashable, Sendable {
    /// The commands to record as one change; none where nothing needs to change.
    package var commands: [AppCommand]
    /// The app's new settings for ``ClientKind/wultra``, in the same change; nil where they stay.
    package var settings: ClientSettings?
    /// Commands to record with ``commands`` where the ledger accepts them together; where it refuses that, ``commands``
    /// are recorded alone, and the request has succeeded.
    package var desired: [AppCommand]
    /// The reason for the ledger: Wultra's interface has no place for reasons.
    package var reason: String

    init(
        _ commands: [AppCommand], settings: ClientSettings? = nil, desired: [AppCommand] = [], reason: String
    ) {
        self.commands = commands
        self.settings = settings
        self.desired = desired
        self.reason = "\(reason), through the administrative interface of Wultra's mobile utility server"
    }

    /// A new app with clients of this kind.
    ///
    /// - Parameter texts: All existing texts: with Wultra, texts belong to no app.
    /// - Throws: ``WultraAdminError`` where these are more than one app may have.
    package static func creating(displayName: String, texts: [ClientText]) throws(WultraAdminError) -> Self {
        guard texts.count <= ClientSettings.ruleLimit else {
            throw WultraAdminError(
                .refused,
                "All apps together have \(texts.count) texts, which a new one would begin with, and an app may have at "
                    + "most \(ClientSettings.ruleLimit): delete some of them first.")
        }
        return Self([.create(displayName: displayName)], settings: ClientSettings(texts: texts), reason: "App created")
    }
}

// Certificates and domains. They concern only an app's baseline: Wultra knows no rollouts.
extension WultraAdminCommand {
    /// A certificate for a domain, uploaded or looked up.
    ///
    /// The host is added where it is missing. Its first certificate's key becomes the primary pin, further ones
    /// backups; one more certificate of a pinned key is noted with the key.
    ///
    /// A host with one pin cannot enforce (guard rail G01), while operators of Wultra expect a domain to be pinned once
    /// it has a certificate. So a host begins with reporting, and is to enforce, as ``desired``, with the certificate
    /// that gives it a second pin and a reserve. Where a guard rail refuses that, for example because servers present
    /// another key, the certificate is recorded all the same. A mode that an operator set stays: the mode of a host
    /// that could have enforced before is not changed. Clients before 2.x ignore the mode, and pin from the first
    /// certificate on. A deleted certificate is given to clients again.
    ///
    /// - Parameter depth: The request's depth; it is not stored, but follows from the certificates.
    /// - Throws: ``WultraAdminError`` for a server's certificate that is not for the domain, a depth that is not the
    ///   certificate's, and a host whose pins are built into the app.
    package static func adding(
        _ certificate: CertificateFacts, depth: Int64? = nil, to pattern: HostPattern, of app: App
    ) throws(WultraAdminError) -> Self {
        try Self.check(certificate, depth: depth ?? 0, pattern)
        let pin = certificate.key.pin
        let evidence = KeyEvidence.certificate(certificate)
        let reason = "Certificate added to \(pattern)"
        let settings = app.wultraSettings.keeping(certificate, at: pattern)
        func new(_ role: PinRole) -> AppCommand.NewPin { AppCommand.NewPin(pin: pin, role: role, evidence: evidence) }
        guard let host = app.hosts[pattern] else {
            return Self(
                [.addHost(pattern, includesSubdomains: false, mode: .reportOnly, pins: [new(.primary)])],
                settings: settings, reason: reason)
        }
        guard let policy = host[.baseline] else {
            throw WultraAdminError(.refused, "The pins of \(pattern) are those built into the app.")
        }
        let before = policy.activePins.map(\.role)
        let commands: [AppCommand]
        let role: PinRole
        switch policy.pins[pin] {
        case let record? where record.state == .active:
            return Self([.describeKeys([evidence])], settings: settings, reason: reason)
        case let record? where record.state == .staged:
            role = record.role
            commands = [.describeKeys([evidence]), .activatePin(pattern, .baseline, pin)]
        default:
            role = before.contains(.primary) ? .backup : .primary
            commands = [.addPin(pattern, .baseline, new(role))]
        }
        let begins = policy.mode == .reportOnly && !Self.canEnforce(before) && Self.canEnforce(before + [role])
        return Self(
            commands, settings: settings, desired: begins ? [.setMode(pattern, .baseline, .enforce)] : [],
            reason: reason)
    }

    private static func check(
        _ certificate: CertificateFacts, depth: Int64, _ pattern: HostPattern
    ) throws(WultraAdminError) {
        let isServers = certificate.isServers(at: pattern)
        guard depth == 0 else {
            guard !isServers else {
                throw WultraAdminError("depth", "must be 0: the certificate is not an authority's")
            }
            return
        }
        guard isServers else {
            throw WultraAdminError("depth", "must not be 0: the certificate is an authority's")
        }
        if case .notCovered(let names) = certificate.covers(pattern) {
            let list = names.isEmpty ? "no host" : names.prefix(5).joined(separator: ", ")
            throw WultraAdminError(.refused, "The certificate is not for \(pattern): it names \(list).")
        }
    }

    /// The requirement of guard rail G01 for a policy that enforces.
    private static func canEnforce(_ roles: [PinRole]) -> Bool {
        roles.count >= 2 && roles.contains(where: \.isReserve)
    }

    /// Removes the certificate with a fingerprint. Where its key has another certificate, it is withheld from Wultra's
    /// clients; where it is its key's last one, the key's pin is retired, and where that was the primary one, the pin
    /// whose certificate expires first takes its place. Where there is no such certificate, there is no command.
    ///
    /// - Throws: ``WultraAdminError`` where as many are withheld as may be. The ledger refuses to leave a host that
    ///   enforces with fewer than two pins.
    package static func deleting(
        _ fingerprint: [UInt8], from pattern: HostPattern, of app: App, at now: Timestamp
    ) throws(WultraAdminError) -> Self {
        let reason = "Certificate deleted from \(pattern)"
        guard let policy = app.hosts[pattern]?[.baseline] else { return Self([], reason: reason) }
        var settings = app.wultraSettings
        for (pin, _) in policy.activePins {
            guard let known = app.keys[pin], known.certificates.contains(where: { $0.sha256 == fingerprint }) else {
                continue
            }
            let listed = known.listed(at: pattern, settings, now)
            guard listed.contains(where: { $0.sha256 == fingerprint }) else { return Self([], reason: reason) }
            guard listed.count > 1 else {
                settings.withheld.removeAll { one in
                    one.host == pattern && known.certificates.contains { $0.sha256 == one.sha256 }
                }
                return Self(
                    Self.retirement(of: [pin], policy, pattern, app).commands,
                    settings: settings == app.wultraSettings ? nil : settings, reason: reason)
            }
            settings.withheld.removeAll { !app.holds($0, at: now) }
            do throws(ClientSettings.Malformed) {
                try settings.withhold(WithheldCertificate(host: pattern, sha256: fingerprint))
            } catch {
                throw WultraAdminError(
                    .refused,
                    "The certificate \(error) deleted ones of keys with another certificate: wait until some expire.")
            }
            return Self([], settings: settings, reason: reason)
        }
        return Self([], reason: reason)
    }

    /// Removes a domain, with everything known of it. Where there is none, there is no command.
    package static func deletingDomain(_ pattern: HostPattern, of app: App) -> Self {
        let reason = "Domain \(pattern) deleted"
        guard app.hosts[pattern] != nil else { return Self([], reason: reason) }
        var settings = app.wultraSettings
        settings.withheld.removeAll { $0.host == pattern }
        return Self(
            [.removeHost(pattern)], settings: settings == app.wultraSettings ? nil : settings, reason: reason)
    }

    /// Removes a host's keys whose certificates have all expired, where no install can need them.
    ///
    /// Only uploaded certificates of a key are known: a renewed one may be missing, and clients that compare keys
    /// accept the key for as long as a server presents it. So a key stays unless every service of the host was seen
    /// within a day, and none of them still presents it. A host that enforces and could not without those keys keeps
    /// them too, since clients of this kind do not get them anyway.
    ///
    /// - Parameter facts: Probes' results for an endpoint; nil where none ever answered for it.
    /// - Returns: The command, which does nothing where no key is removed; and the pins of expired keys that stay.
    package static func deletingExpired(
        from pattern: HostPattern, of app: App, at now: Timestamp, facts: (Endpoint) -> EndpointFacts?
    ) -> (command: Self, kept: [Pin]) {
        let reason = "Expired certificates deleted from \(pattern)"
        guard let host = app.hosts[pattern], let policy = host[.baseline] else { return (Self([], reason: reason), []) }
        let expired = policy.activePins.map(\.pin).filter { pin in
            app.keys[pin]?.notAfter.map { $0 <= now } == true
        }
        let presented = host.presented(as: pattern, at: now, facts)
        let unused = presented.map { presented in expired.filter { !presented.contains($0) } } ?? []
        guard !unused.isEmpty else { return (Self([], reason: reason), expired) }
        let retirement = Self.retirement(of: Set(unused), policy, pattern, app)
        guard policy.mode != .enforce || Self.canEnforce(retirement.remaining) else {
            return (Self([], reason: reason), expired)
        }
        return (Self(retirement.commands, reason: reason), expired.filter { !unused.contains($0) })
    }

    /// The commands that remove pins, and the roles of those that remain.
    private static func retirement(
        of pins: Set<Pin>, _ policy: Policy, _ pattern: HostPattern, _ app: App
    ) -> (commands: [AppCommand], remaining: [PinRole]) {
        var commands: [AppCommand] = pins.sorted().map { .retirePin(pattern, .baseline, $0) }
        var remaining = policy.activePins.filter { !pins.contains($0.pin) }
        guard !remaining.contains(where: { $0.role == .primary }) else { return (commands, remaining.map(\.role)) }
        // The older of two keys is more likely to be in service, and one that is kept offline is not.
        func rank(_ place: Int) -> (Int, Timestamp, Pin) {
            let (pin, role) = remaining[place]
            return (role == .emergency ? 1 : 0, app.keys[pin]?.notAfter ?? Timestamp(microseconds: .max), pin)
        }
        guard let heir = remaining.indices.min(by: { rank($0) < rank($1) }) else { return (commands, []) }
        remaining[heir].role = .primary
        commands.append(.setPinRole(pattern, .baseline, remaining[heir].pin, .primary))
        return (commands, remaining.map(\.role))
    }
}

extension KeyKnowledge {
    /// The certificates that Wultra's administrators see of the key for a host, the newest first: the valid ones, or
    /// the last valid one, without those that they deleted.
    func listed(at pattern: HostPattern, _ settings: ClientSettings, _ now: Timestamp) -> [CertificateFacts] {
        let kept = self.certificates.filter { !settings.withholds($0, at: pattern) }
        let valid = kept.filter { now < $0.notAfter }
        return valid.isEmpty ? Array(kept.prefix(1)) : valid
    }
}

extension App {
    /// The app's settings for clients of Wultra's kind.
    var wultraSettings: ClientSettings { self.clients[.wultra]?.settings ?? ClientSettings() }

    /// Whether a host has a key with a certificate that has not expired.
    fileprivate func holds(_ certificate: WithheldCertificate, at now: Timestamp) -> Bool {
        self.hosts[certificate.host]?[.baseline]?.activePins.contains { pin, _ in
            self.keys[pin]?.certificates.contains { $0.sha256 == certificate.sha256 && now < $0.notAfter } == true
        } == true
    }
}

extension ClientSettings {
    /// The settings that give a certificate to Wultra's clients for a host; nil where they have it.
    fileprivate func keeping(_ certificate: CertificateFacts, at pattern: HostPattern) -> ClientSettings? {
        guard self.withholds(certificate, at: pattern) else { return nil }
        var settings = self
        settings.withheld.removeAll { $0.host == pattern && $0.sha256 == certificate.sha256 }
        return settings
    }
}

extension Host {
    /// The keys that services of the host present, authorities' too; nil where not all of them were seen within a day.
    ///
    /// An address that did not answer today counts with its last chain, for a week.
    fileprivate func presented(
        as pattern: HostPattern, at now: Timestamp, _ facts: (Endpoint) -> EndpointFacts?
    ) -> Set<Pin>? {
        // Names below a host are examined only where they are listed.
        guard self.endpoints != nil || !self.includesSubdomains else { return nil }
        let endpoints = self.probed(of: pattern)
        guard !endpoints.isEmpty else { return nil }
        var presented: Set<Pin> = []
        for endpoint in endpoints {
            guard let facts = facts(endpoint), !facts.live(at: now).isEmpty else { return nil }
            for chain in facts.recent(at: now) where chain.isCurrent { presented.formUnion(chain.pins) }
        }
        return presented
    }
}
