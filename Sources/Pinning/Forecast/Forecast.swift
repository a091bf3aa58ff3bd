package import PinWire

/// Whether pinned clients survive the renewals of their servers' certificates, now and as certificates get shorter.
///
/// A renewal with another key locks out the clients that do not have its pin. So its pin has to be published as long before as clients may use
/// an older document (``deliverySeconds``) and take to get the new one (``adoption``). A certificate is taken to be renewed after two thirds
/// of its life, each time with a new key.
package struct Forecast: Hashable, Sendable {
    package let app: AppID
    package let madeAt: Timestamp
    /// How long clients may use an older document, in seconds.
    package let deliverySeconds: Int64
    /// Nil where it was neither measured nor given.
    package let adoption: AdoptionTime?
    package let hosts: [HostForecast]

    /// How long a pin has to be published before its key is served: at least and, where it is known, at most, in seconds.
    package struct Lead: Hashable, Sendable {
        package let atLeast: Int64
        package let atMost: Int64?

        init(delivery: Int64, _ adoption: AdoptionTime?) {
            self.atLeast = delivery + (adoption?.atLeast ?? 0)
            self.atMost = adoption?.atMost.map { delivery + $0 }
        }

        /// What is left of a time before a renewal: bounds in seconds.
        func slack(of time: Int64) -> (atLeast: Int64?, atMost: Int64) {
            (self.atMost.map { time - $0 }, time - self.atLeast)
        }
    }

    package var lead: Lead { Lead(delivery: self.deliverySeconds, self.adoption) }
}

/// What one host's renewals mean for clients.
package struct HostForecast: Hashable, Sendable {
    package enum Verdict: String, CaseIterable, Sendable {
        /// No renewal locks clients out: they trust an authority's key, or are not pinned.
        case unaffected
        case survives
        /// It does, with less than a week to spare.
        case tight
        /// A renewal comes before clients have the next pin.
        case fails
        /// What was measured does not tell.
        case unknown

        /// The worst first.
        var rank: Int { [.fails, .unknown, .tight, .survives, .unaffected].firstIndex(of: self) ?? 0 }

        /// - Parameter slack: Bounds in seconds.
        init(slack: (atLeast: Int64?, atMost: Int64)) {
            if slack.atMost < 0 {
                self = .fails
            } else if let least = slack.atLeast, least >= 0 {
                self = least < 7 * 86_400 ? .tight : .survives
            } else {
                self = .unknown
            }
        }
    }

    /// The next renewal.
    package struct Next: Hashable, Sendable {
        /// When it is due.
        package var at: Timestamp
        /// A published pin that no server presents, the one that clients have had the longest.
        package var spare: Pin?
        /// Since when the spare is published; nil without one.
        package var spareSince: Timestamp?
        /// Seconds between the time when clients have the pin and the renewal.
        package var slackAtLeast: Int64?
        package var slackAtMost: Int64
        package var verdict: Verdict
    }

    /// Renewals from a time on.
    package struct Era: Hashable, Sendable {
        package var from: Timestamp
        /// The certificate's life and the time between two renewals, in seconds.
        package var lifetime: Int64
        package var interval: Int64
        package var slackAtLeast: Int64?
        package var slackAtMost: Int64
        package var verdict: Verdict
    }

    /// The life of a certificate.
    package struct Life: Hashable, Sendable {
        package var notBefore: Timestamp
        package var notAfter: Timestamp
    }

    package let host: HostPattern
    /// The worst of ``next`` and ``eras``.
    package let verdict: Verdict
    /// Why nothing needs to be forecast, or cannot be; nil where it is.
    package let remark: String?
    /// The certificate that is renewed first; nil where none needs to be looked at.
    package let certificate: Life?
    package let next: Next?
    package let eras: [Era]

    init(_ host: HostPattern, _ verdict: Verdict, because remark: String) {
        (self.host, self.verdict, self.remark) = (host, verdict, remark)
        (self.certificate, self.next, self.eras) = (nil, nil, [])
    }

    init(_ host: HostPattern, certificate: Life, next: Next, eras: [Era]) {
        self.verdict = eras.map(\.verdict).reduce(next.verdict) { $0.rank <= $1.rank ? $0 : $1 }
        (self.host, self.remark) = (host, nil)
        (self.certificate, self.next, self.eras) = (certificate, next, eras)
    }
}

extension LedgerState {
    /// The forecast of an app.
    ///
    /// - Parameters:
    ///   - adoption: How long clients take to hold a new document, where that is given; nil to reckon with what was measured.
    ///   - share: The share of clients that holds a version of the document or a newer one; nil where it is unknown.
    package func forecast(
        of id: AppID, adoption: AdoptionTime?, in context: DecisionContext, share: (Int64) -> AdoptionShare?
    ) throws(Refusal) -> Forecast {
        guard let app = self.apps[id] else { throw .appUnknown(id) }
        var points: [(version: Int64, since: Timestamp)] = []
        func add(_ version: Int64, since time: Timestamp) { points.append((version + self.fleet.versionOffset, time)) }
        for policy in app.hosts.values.flatMap({ host in PolicySlot.allCases.compactMap { host[$0] } }) {
            for record in policy.pins.values where record.state == .active && record.publishedBy > 0 {
                add(record.publishedBy, since: record.since)
            }
        }
        add(app.version, since: app.updatedAt)
        let measured = AdoptionTime(points, at: context.now, share: share)
        let adoption = adoption ?? (measured.atMost == nil && measured.atLeast == 0 ? nil : measured)
        let delivery = context.facts.deliverySeconds
        let lead = Forecast.Lead(delivery: delivery, adoption)
        return Forecast(
            app: id, madeAt: context.now, deliverySeconds: delivery, adoption: adoption,
            hosts: app.hosts.sorted { $0.key < $1.key }.map { pattern, host in
                let forecast = host.forecast(of: pattern, lead, in: context)
                return app.builtInForecast(of: forecast, in: context) ?? forecast
            })
    }
}

extension App {
    /// The forecast of a host for installs with built-in pins, where theirs is worse: no document brings them a pin, nor takes one away.
    fileprivate func builtInForecast(of forecast: HostForecast, in context: DecisionContext) -> HostForecast? {
        guard forecast.verdict != .fails else { return nil }
        let (host, next) = (forecast.host, forecast.next)
        let checks = self.clientChecks(in: context).sorted { $0.key < $1.key }.map(\.value).filter {
            !$0.profile.isServed
        }
        for check in checks {
            if let rotation = check.view.rotations[host], case .lockedOut = check.reach(of: rotation, at: host) {
                return HostForecast(
                    host, .fails,
                    because:
                        "installs of \(check.kind.rawValue) do not have the next key of the rotation \(rotation.id) built in: they refuse a server with it until they are updated"
                )
            }
            guard let next else { continue }
            let lost = check.builtIn(at: host).contains { file in
                file.isEnforced && next.spare.map { !check.accepts($0, by: file, at: host) } ?? true
            }
            guard lost else { continue }
            return HostForecast(
                host, .fails,
                because:
                    "installs of \(check.kind.rawValue) do not have the next key built in: the renewal locks them out until they are updated"
            )
        }
        if next != nil, let check = checks.first(where: { $0.builtIn(at: host).isEmpty }) {
            return HostForecast(
                host, .unknown,
                because:
                    "which keys installs of \(check.kind.rawValue) have built in is unknown: no file of theirs was imported or exported"
            )
        }
        guard forecast.verdict == .unaffected else { return nil }
        let own = checks.first { check in
            check.builtIn(at: host).contains { $0.isEnforced && !check.trustsAuthority(in: $0, at: host) }
        }
        return own.map { check in
            HostForecast(
                host, .unknown,
                because:
                    "installs of \(check.kind.rawValue) enforce the pins that they have built in, whatever documents say: a renewal with another key locks them out until they are updated"
            )
        }
    }
}

extension Host {
    /// The worse of what its two policies mean for the devices that have them.
    fileprivate func forecast(
        of pattern: HostPattern, _ lead: Forecast.Lead, in context: DecisionContext
    ) -> HostForecast {
        guard self[.baseline] != nil else {
            return HostForecast(
                pattern, .unknown, because: "its pins are shipped in the app: only a new app version can change them")
        }
        let policies = PolicySlot.allCases.compactMap { self[$0] }.filter { $0.mode != .off && !$0.activePins.isEmpty }
        guard !policies.isEmpty else {
            return HostForecast(pattern, .unaffected, because: "clients are not pinned there")
        }
        let enforced = policies.filter { $0.mode == .enforce }
        guard !enforced.isEmpty else {
            return HostForecast(
                pattern, .unaffected,
                because: "clients only report there: a renewal makes them report, and refuse nothing")
        }
        let forecasts = enforced.map { self.forecast(of: pattern, $0, lead, in: context) }
        return forecasts.min { $0.verdict.rank < $1.verdict.rank } ?? forecasts[0]
    }

    private func forecast(
        of pattern: HostPattern, _ policy: Policy, _ lead: Forecast.Lead, in context: DecisionContext
    ) -> HostForecast {
        let (pins, now) = (Set(policy.activePins.map(\.pin)), context.now)
        let chains = self.probed(of: pattern).flatMap { context.facts.endpoint($0)?.live(at: now) ?? [] }
        guard chains.contains(where: { !$0.certificates.isEmpty }) else {
            return HostForecast(
                pattern, .unknown,
                because: "no probe has seen its certificate: name its endpoints, and let a node probe")
        }
        guard chains.allSatisfy({ !pins.isDisjoint(with: $0.pins) }) else {
            return HostForecast(
                pattern, .fails,
                because: "no published pin matches what a server presents now: clients refuse it already")
        }
        let renewed = chains.filter { pins.isDisjoint(with: $0.pins.dropFirst()) }.compactMap(\.certificates.first)
        // The one that is renewed first decides.
        guard let certificate = renewed.min(by: { $0.renewal(at: now) < $1.renewal(at: now) }) else {
            return HostForecast(
                pattern, .unaffected,
                because:
                    "clients trust a key of its authority: a renewal by the same authority changes nothing for them")
        }
        let presented = Set(chains.flatMap(\.pins))
        let spares = policy.pins.filter { $0.value.state == .active && !presented.contains($0.key) }
        let spare = spares.min { ($0.value.since, $0.key) < ($1.value.since, $1.key) }
        let due = certificate.renewal(at: now)
        // Without a spare, its pin can be published now at the earliest.
        let slack = lead.slack(of: due.seconds - (spare?.value.since ?? now).seconds)
        // Who keeps two pins ahead publishes each two renewals before its key is served.
        let ahead = Int64(max(1, spares.count))
        return HostForecast(
            pattern, certificate: .init(notBefore: certificate.notBefore, notAfter: certificate.notAfter),
            next: .init(
                at: due, spare: spare?.key, spareSince: spare?.value.since, slackAtLeast: slack.atLeast,
                slackAtMost: slack.atMost, verdict: .init(slack: slack)),
            eras: certificate.eras(at: now).map { from, lifetime in
                let slack = lead.slack(of: lifetime * 2 / 3 * ahead)
                return .init(
                    from: from, lifetime: lifetime, interval: lifetime * 2 / 3, slackAtLeast: slack.atLeast,
                    slackAtMost: slack.atMost, verdict: .init(slack: slack))
            })
    }
}

extension CertificateFacts {
    /// Seconds from the beginning of its life to the end.
    private var lifetime: Int64 { max(0, self.notAfter.seconds - self.notBefore.seconds) }

    /// When it is renewed: when two thirds of its life are over, or at any moment where they are already.
    fileprivate func renewal(at now: Timestamp) -> Timestamp {
        max(now, self.notBefore.adding(seconds: self.lifetime * 2 / 3))
    }

    /// From when on its successors live how long, in seconds: as long as it, but no longer than public authorities may issue. One that lives
    /// longer than that already is of an authority that is bound by no rule.
    fileprivate func eras(at now: Timestamp) -> [(from: Timestamp, lifetime: Int64)] {
        // A last second more or less is a habit of issuers.
        guard self.lifetime <= CertificateEra.at(self.notBefore).days * 86_400 + 1 else {
            return [(now, self.lifetime)]
        }
        var eras: [(from: Timestamp, lifetime: Int64)] = []
        for era in CertificateEra.ahead(of: now) {
            let lifetime = min(self.lifetime, era.days * 86_400)
            // An era that changes nothing for this host is none of its own.
            if eras.last?.lifetime != lifetime { eras.append((max(era.from, now), lifetime)) }
        }
        return eras
    }
}
