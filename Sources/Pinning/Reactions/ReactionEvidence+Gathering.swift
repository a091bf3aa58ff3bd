import PinWire

extension ReactionEvidence {
    /// The evidence of a cell; nil where the app has no such host, or there are no reports.
    init?(
        _ cell: OutcomeCell, beside baseline: OutcomeCell?, of app: App, fleet: Fleet, facts: ExternalFacts,
        reactionsTaken: [Reaction.Taken], at now: Timestamp
    ) {
        guard let host = app.hosts[cell.host] else { return nil }
        let sample = Sample(cell.minutes)
        guard sample.installs > 0 else { return nil }
        self.host = cell.host
        self.arm = cell.arm
        self.version = cell.version
        self.judgedAt = now
        self.isAuthenticated = cell.isAuthenticated
        self.expectsSignatures = app.watch.telemetryKeys.contains(where: \.isInUse)
        self.threshold = app.monitoring.failureThreshold
        self.autoDisables = app.monitoring.autoDisables
        self.sample = sample
        self.excursion = Count(excursionOf: cell.minutes, threshold: app.monitoring.failureThreshold)
        // Numbered, because evidence stays in the ledger permanently, and the hash of an address must not.
        self.networks = cell.networks.prefix(OutcomeCell.networkLimit).enumerated().map { place, share in
            NetworkShare(network: "n\(place + 1)", failing: share.failing)
        }
        self.networkCount = cell.networkCount
        self.releases = Array(cell.releases.prefix(OutcomeCell.releaseLimit))
        let isCandidate = cell.arm == .candidate
        let other = isCandidate ? baseline : nil
        self.baselineReports = other.map { Count($0.minutes) }
        let threshold = app.monitoring.failureThreshold
        let reviewed = [host.plan?.reviewedAt, app.plan?.reviewedAt].compactMap { $0 }.max()
        self.review = reviewed.map { Review(at: $0, window: Window(cell, other, since: $0, threshold)) }
        self.expectedShare = isCandidate ? app.expectedShare(of: host) : nil
        self.fleet = facts.adoption(app.id, 0).flatMap { $0.basis == .installs ? Int($0.sample) : nil }
        self.reporting =
            cell.largestHour > sample.distinctInstalls ? min(cell.largestHour, Self.largestCount) : nil

        let slot = cell.arm ?? .baseline
        self.policy = Arm(host[slot])
        self.alternative = isCandidate ? Arm(host[.baseline]) : nil
        self.isOlder = cell.version < (host[slot]?.publishedSince ?? 0) + fleet.versionOffset || cell.version == 0
        self.isUnheardOf = cell.version > app.version + fleet.versionOffset
        self.hasCandidate = host.candidate != nil
        self.isExposed = host.candidate != nil && app.exposes(host)
        self.isRamping =
            self.isExposed && [app.rollout, host.rollout].contains { ($0?.basisPoints ?? 10_000) < 10_000 }
        self.isKilled = [fleet.killSwitch, app.killSwitch, host.killSwitch].contains {
            $0?.isInForce(at: now) == true
        }
        // One from the future is of a clock that has been put right since.
        self.last =
            reactionsTaken.filter { $0.host == cell.host && $0.done.step > .hold && $0.done.at <= now }
            .max { $0.done.at < $1.done.at }?.done

        let endpoints = host.probed(of: cell.host)
        let seen = endpoints.map { ($0, facts.endpoint($0)) }
        let (pins, others) = (Set(self.policy.pins), Set(self.alternative?.pins ?? []))
        let live = seen.flatMap { endpoint, facts in
            (facts?.live(at: now) ?? []).map {
                LiveKey(
                    endpoint: endpoint, address: $0.address, vantage: $0.vantage, lastSeen: $0.lastSeen, pins: $0.pins)
            }
        }
        // Observations for the pins are never left out, nor those for the pins that would replace them.
        let (pinned, unpinned) = (
            live.filter { !pins.isDisjoint(with: $0.pins) }, live.filter { pins.isDisjoint(with: $0.pins) }
        )
        let ordered =
            pinned + unpinned.filter { !others.isDisjoint(with: $0.pins) }
            + unpinned.filter { others.isDisjoint(with: $0.pins) }
        self.live = Array(ordered.prefix(Self.liveLimit))
        self.knownVantages = Set(seen.flatMap { ($0.1?.recent(at: now) ?? []).map(\.vantage) }).count
        self.isComplete = !endpoints.isEmpty && seen.allSatisfy { $0.1?.live(at: now).isEmpty == false }
    }
}

extension ReactionEvidence.Count {
    fileprivate init(_ minutes: [OutcomeMinute]) {
        let sample = ReactionEvidence.Sample(minutes)
        self.init(installs: sample.installs, failing: sample.failing)
    }

    /// - Parameter threshold: In basis points.
    fileprivate init(excursionOf minutes: [OutcomeMinute], threshold: Int) {
        var cusum = BernoulliCUSUM(threshold: Double(threshold) / 10_000, oneIn: Reaction.changeOneIn)
        for minute in minutes { cusum.add(failing: minute.failing, of: minute.installs) }
        self.init(installs: cusum.installs, failing: cusum.failing)
    }
}

extension ReactionEvidence.Window {
    /// The minutes that began at an instant or later: one that was under way may hold known failures.
    fileprivate init(_ cell: OutcomeCell, _ baseline: OutcomeCell?, since start: Timestamp, _ threshold: Int) {
        func since(_ cell: OutcomeCell) -> [OutcomeMinute] { cell.minutes.filter { start <= $0.minute } }
        self.init(
            sample: .init(since(cell)), excursion: .init(excursionOf: since(cell), threshold: threshold),
            baseline: baseline.map { ReactionEvidence.Count(since($0)) })
    }
}

extension ReactionEvidence.Sample {
    init(_ minutes: [OutcomeMinute]) {
        self.init(
            installs: 0, failing: 0, distinctInstalls: 0, distinctFailing: 0, windows: 0, seconds: 0,
            firstMinute: minutes.first?.minute)
        var hours: [Int64: ReactionEvidence.Count] = [:]
        for minute in minutes where minute.installs > 0 && (0...minute.installs).contains(minute.failing) {
            self.installs += minute.installs
            self.failing += minute.failing
            hours[minute.minute.seconds / 3600, default: .init(installs: 0, failing: 0)].installs += minute.installs
            hours[minute.minute.seconds / 3600]?.failing += minute.failing
        }
        self.distinctInstalls = hours.values.map(\.installs).max() ?? 0
        self.distinctFailing = hours.values.map(\.failing).max() ?? 0
        self.windows = hours.values.count { $0.failing > 0 }
        let failing = minutes.filter { $0.failing > 0 }
        if let first = failing.first, let last = failing.last {
            self.seconds = last.minute.seconds - first.minute.seconds + (failing.count > 1 ? 60 : 0)
        }
    }
}

extension ReactionEvidence.Arm {
    fileprivate init(_ policy: Policy?) {
        self.init(mode: policy?.mode, pins: policy?.activePins.map(\.pin) ?? [])
    }
}

extension Policy {
    /// The app's version since which every published pin is published.
    fileprivate var publishedSince: Int64 {
        self.pins.values.filter { $0.state == .active }.map(\.publishedBy).max() ?? 0
    }
}

extension App {
    /// Whether the candidate reaches any device.
    fileprivate func exposes(_ host: Host) -> Bool {
        [self.rollout, host.rollout].allSatisfy { $0.map { $0.basisPoints > 0 || !$0.whitelist.isEmpty } ?? true }
    }

    /// The share of devices that a candidate should reach, in basis points; nil where versions, countries, lists of ids
    /// or a common salt affect it.
    fileprivate func expectedShare(of host: Host) -> Int? {
        let rollouts = [self.rollout, host.rollout].compactMap(\.self)
        guard self.versionGate?.isOpen ?? true, !rollouts.isEmpty,
            rollouts.allSatisfy({ $0.method == .percentage && $0.whitelist.isEmpty && $0.exclusions.isEmpty })
        else { return nil }
        if rollouts.count == 2, rollouts[0].salt != nil, rollouts[0].salt == rollouts[1].salt { return nil }
        return rollouts.reduce(10_000) { $0 * $1.basisPoints / 10_000 }
    }
}
