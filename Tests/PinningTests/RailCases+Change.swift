import PinWire
import Pinning

private let fresh: [AppCommand] = [.rename("Shop")]
/// As many hosts as are touched at once without a word, and one more, each with three keys.
private let many = (0...20).map { host("host-\($0).example.com") }
private func hosts(_ count: Int) -> [AppCommand] {
    many.prefix(count).map {
        .addHost($0, includesSubdomains: false, mode: .reportOnly, pins: [new(1), new(2, .backup), new(3, .backup)])
    }
}
private let unpinned: [AppCommand] = many.map { pattern in
    .addHost(host("new-\(pattern.text)"), includesSubdomains: false, mode: .off, pins: [])
}
private func engage(_ pattern: HostPattern? = api, hours: Int64 = 4) -> AppCommand {
    .engageKillSwitch(pattern, expiresAt: monday.adding(seconds: hours * 3600))
}
private func engage(versions: VersionRange, hours: Int64 = 4) -> AppCommand {
    .engageVersionKillSwitch(versions, expiresAt: monday.adding(seconds: hours * 3600))
}
private let automatic: [AppCommand] =
    sound + [.setMonitoring(Monitoring(isEnabled: true, autoDisables: true, reaction: .act))]
private let own = host("pins.example.com")
private let ownFacts = ExternalFacts(serving(1), ownHosts: ["pins.example.com"])
private let parent = host("example.com")
/// How many risky changes were made at these minutes before Monday noon.
private func risky(_ minutes: Int64...) -> @Sendable (inout App) -> Void {
    { $0.riskyChanges = minutes.map { monday.adding(seconds: -60 * $0) } }
}
private let saturday = noon.adding(seconds: 7 * day)

private let running: [AppCommand] = hosts(21) + many.map { engage($0) }

/// G15 where it only warns, G26 to G29, G32, G33, G36 and G37.
let changeCases: [RailCase] = [
    // G15; what is no host name at all is in heldRails.
    RailCase(
        .hostName, .warn, "for a name that mixes scripts", given: fresh,
        when: enforcing(on: host("xn--pypal-4ve.com"), mode: .off), facts: unseen),
    RailCase(
        .hostName, .warn, "for a name that looks like another of the same change", given: fresh,
        when: enforcing(on: host("xn--80ak6aa92e.com"), mode: .off), enforcing(on: host("apple.com"), mode: .off),
        facts: unseen),
    RailCase(
        .hostName, quiet: "for a name in one script", given: fresh,
        when: enforcing(on: host("xn--bcher-kva.example"), mode: .off)),

    // G26
    RailCase(
        .tooManyRiskyChanges, .override, "for the fourth within an hour", when: .retirePin(api, .baseline, pin(3)),
        prepare: risky(50, 30, 1)),
    RailCase(
        .tooManyRiskyChanges, quiet: "for the third", when: .retirePin(api, .baseline, pin(3)),
        prepare: risky(61, 30, 1)),
    RailCase(
        .tooManyRiskyChanges, quiet: "for those from the future, by a clock that was ahead",
        when: .retirePin(api, .baseline, pin(3)), prepare: risky(-4320, -4320, -4321)),
    RailCase(
        .tooManyRiskyChanges, quiet: "for what takes nothing away", when: .addPin(api, .baseline, requested(8)),
        prepare: risky(50, 30, 1)),
    RailCase(
        .tooManyRiskyChanges, quiet: "for the end of a pin that was never published",
        given: sound + [.addPin(api, .baseline, new(8, .backup, isActive: false))],
        when: .retirePin(api, .baseline, pin(8)), prepare: risky(50, 30, 1)),

    // G27
    RailCase(
        .changeFreeze, .warn, "on a Saturday", when: .retirePin(api, .baseline, pin(3)),
        facts: ExternalFacts(serving(1, now: saturday)), at: saturday),
    RailCase(
        .changeFreeze, .warn, "on a Sunday", when: .setMode(api, .baseline, .reportOnly),
        facts: ExternalFacts(serving(1, now: saturday)), at: saturday.adding(seconds: 86_399)),
    RailCase(.changeFreeze, quiet: "on a Monday", when: .retirePin(api, .baseline, pin(3))),
    RailCase(
        .changeFreeze, quiet: "for what takes nothing away", when: .addPin(api, .baseline, requested(8)),
        facts: ExternalFacts(serving(1, now: saturday)), at: saturday),

    // G28
    RailCase(.canary, .unknown, "for what takes something away", when: .retirePin(api, .baseline, pin(3))),
    RailCase(
        .canary, .unknown, "for subdomains that are left out",
        given: [enforcing(subdomains: true, shown(certificate(1)), requested(2))],
        when: .setSubdomains(api, includesSubdomains: false)),
    RailCase(
        .canary, .unknown, "for a host that changes places with another", when: .removeHost(api),
        enforcing(on: own, mode: .off), prepare: { $0.loweredRails = [.massChange] }),
    RailCase(.canary, quiet: "for what takes nothing away", when: .addPin(api, .baseline, requested(8))),

    // G29
    RailCase(
        .killSwitchAlone, .override, "together with a change of pins", when: engage(),
        .retirePin(api, .baseline, pin(3))),
    RailCase(.killSwitchAlone, .warn, "for more than a day", when: engage(hours: 25)),
    RailCase(
        .killSwitchAlone, .override, "for versions, together with a change of pins",
        when: engage(versions: range("3.1")), .retirePin(api, .baseline, pin(3))),
    RailCase(
        .killSwitchAlone, .warn, "for versions, for more than a day", when: engage(versions: range("3.1"), hours: 25)),
    RailCase(.killSwitchAlone, quiet: "for versions, for a day", when: engage(versions: range("3.1"), hours: 24)),
    RailCase(.killSwitchAlone, quiet: "by itself, for a day", when: engage(hours: 24)),

    // G32
    RailCase(
        .bootstrapLoop, .warn, "for this service's own name", given: fresh, when: enforcing(on: own, mode: .off),
        facts: ownFacts),
    RailCase(
        .bootstrapLoop, .warn, "for a wildcard over it", given: fresh,
        when: enforcing(on: host("*.example.com"), mode: .off),
        facts: ownFacts),
    RailCase(
        .bootstrapLoop, .warn, "for a host with it among its subdomains", given: [enforcing(on: parent, mode: .off)],
        when: .setSubdomains(parent, includesSubdomains: true),
        facts: ExternalFacts(serving(1), ownHosts: ["eu.pins.example.com"])),
    RailCase(
        .bootstrapLoop, quiet: "for another name", given: fresh, when: enforcing(on: parent, mode: .off),
        facts: ExternalFacts(serving(1), ownHosts: ["pins.example.com", "notexample.com"])),

    // G33
    RailCase(
        .restoredBackup, .warn, "where clients hold documents that were never made", when: .rename("Store"),
        facts: ExternalFacts(serving(1), claims: AdoptionClaims(sightings: 5000, ahead: [109: 150]))),
    RailCase(
        .restoredBackup, .warn, "where they hold more of those than there is room for", when: .rename("Store"),
        facts: ExternalFacts(serving(1), claims: AdoptionClaims(sightings: 5000, ahead: [0: 1]))),
    RailCase(
        .restoredBackup, quiet: "where what they hold has been made meanwhile", when: .rename("Store"),
        facts: ExternalFacts(serving(1), claims: AdoptionClaims(sightings: 5000, ahead: [1: 150]))),
    RailCase(
        .restoredBackup, quiet: "where none does", when: .rename("Store"),
        facts: ExternalFacts(serving(1), claims: AdoptionClaims(sightings: 5000))),
    RailCase(
        .restoredBackup, quiet: "where nobody counted", when: .rename("Store"),
        facts: ExternalFacts(serving(1))),

    // G36
    RailCase(
        .massChange, .override, "where pins of several hosts go", given: hosts(3),
        when: .retirePin(many[0], .baseline, pin(3)), .retirePin(many[1], .baseline, pin(3)), facts: unseen),
    RailCase(
        .massChange, .override, "where they are exchanged for others", given: hosts(3),
        when: .retirePin(many[0], .baseline, pin(3)), .retirePin(many[1], .baseline, pin(3)),
        .addPin(many[0], .baseline, requested(7)), .addPin(many[1], .baseline, requested(7)), facts: unseen),
    RailCase(
        .massChange, .override, "where several hosts go", given: hosts(3), when: .removeHost(many[0]),
        .removeHost(many[1]), facts: unseen),
    RailCase(
        .massChange, .override, "where more than twenty hosts are touched", given: hosts(1) + sound,
        commands: unpinned),
    RailCase(
        .massChange, quiet: "where kill switches of many hosts run out", given: running,
        commands: many.map { .releaseKillSwitch($0) },
        at: monday.adding(seconds: day), actor: .system),
    RailCase(
        .massChange, quiet: "where a tenth of the pins goes", given: hosts(7),
        when: .retirePin(many[0], .baseline, pin(3)), .retirePin(many[1], .baseline, pin(3)), facts: unseen),
    RailCase(
        .massChange, quiet: "where a host comes and another stays", given: hosts(3),
        when: enforcing(on: own, mode: .off),
        facts: unseen),
    RailCase(
        .massChange, quiet: "for a step of a rotation of several hosts",
        given: hosts(2) + [rotation([many[0], many[1]]), advance(), advance()], when: advance(),
        facts: ExternalFacts(
            serving(4, at: "host-0.example.com:443", now: monday), serving(4, at: "host-1.example.com:443"))),

    // G37
    RailCase(
        .telemetryWeakens, .block, "where reports would turn an app off", given: automatic, when: engage(nil),
        actor: .system),
    RailCase(
        .telemetryWeakens, .block, "where they would turn versions of it off", given: automatic,
        when: engage(versions: range("3.1")), facts: ExternalFacts(serving(9)), actor: .system),
    RailCase(
        .telemetryWeakens, .block, "where nobody allowed it", when: engage(), facts: ExternalFacts(serving(9)),
        actor: .system),
    RailCase(
        .telemetryWeakens, .block, "while the served key is pinned", given: automatic, when: engage(), actor: .system),
    RailCase(
        .telemetryWeakens, .block, "while the served key is not known", given: automatic, when: engage(),
        facts: unseen,
        actor: .system),
    RailCase(
        .telemetryWeakens, .block, "for a mode", given: automatic, when: .setMode(api, .baseline, .reportOnly),
        actor: .system),
    RailCase(
        .telemetryWeakens, .block, "in the shadow",
        given: sound + [.setMonitoring(Monitoring(isEnabled: true, autoDisables: true))], when: engage(),
        facts: ExternalFacts(serving(9)), actor: .system),
    RailCase(
        .telemetryWeakens, quiet: "where it was allowed and clients are locked out", given: automatic, when: engage(),
        facts: ExternalFacts(serving(9)), actor: .system),
    RailCase(.telemetryWeakens, quiet: "for a person", when: engage()),
    RailCase(
        .telemetryWeakens, .block, "where the server would promote a candidate by itself", given: replacing,
        when: .promoteCandidate(api), actor: .system),
    RailCase(
        .telemetryWeakens, .block, "where it would approve of a step", given: planned(.init(needsApproval: true)),
        when: .rollout(api, .advance(step: nil)), actor: .system),
    RailCase(
        .telemetryWeakens, .block, "where it would make a plan", given: planned(.init(needsApproval: true)),
        when: .rollout(api, .setPlan(RolloutPlan.Terms(steps: [.init(200)]))), actor: .system),
    RailCase(
        .telemetryWeakens, .block, "where it would resume one",
        given: planned(.init(seconds: 1)) + [.rollout(api, .pause(.requested, detail: nil))],
        when: .rollout(api, .resume), actor: .system),
    RailCase(
        .telemetryWeakens, quiet: "of the steps of a plan that a person set", given: planned(.init(seconds: 1)),
        when: .rollout(api, .drive), actor: .system),
    RailCase(
        .telemetryWeakens, quiet: "of the promotion at its end", given: replacing + [atTheEnd],
        when: .rollout(api, .drive), actor: .system),
    RailCase(
        .telemetryWeakens, quiet: "of a pause and of a way back", given: planned(.init(seconds: 1)),
        when: .rollout(api, .pause(.reports, detail: "D1")), .rollout(api, .rollBack(.reports, detail: "D1")),
        actor: .system),
]

/// A candidate that leaves one of the baseline's pins out, on its way to all devices.
private let replacing: [AppCommand] =
    sound + [
        .startCandidate(
            api, mode: .enforce, copiesBaseline: false, pins: [shown(certificate(1)), requested(2), requested(4)]),
        .setHostRollout(api, Rollout(basisPoints: 0)),
    ]

/// A plan at its last step, which is to end with the promotion.
private let atTheEnd = AppCommand.rollout(
    api, .setPlan(RolloutPlan.Terms(steps: [.init(10_000, .init(seconds: 1))], ending: .promote)))

/// A plan at the first of two steps, with such a hold.
private func planned(_ hold: RolloutPlan.Hold) -> [AppCommand] {
    replacing + [.rollout(api, .setPlan(RolloutPlan.Terms(steps: [.init(100, hold), .init(10_000)])))]
}
