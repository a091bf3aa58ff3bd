import PinWire
import Pinning

private let engaged: [AppCommand] = sound + [.engageKillSwitch(api, expiresAt: monday.adding(seconds: day))]
private let allOff: [AppCommand] = sound + [.engageKillSwitch(nil, expiresAt: monday.adding(seconds: day))]
private let someOff: [AppCommand] =
    sound + [.engageVersionKillSwitch(range("3.1", "3.2"), expiresAt: monday.adding(seconds: day))]
private let lapsed: [AppCommand] = sound + [.setPinsValidUntil(monday.adding(seconds: -60))]
private let ahead = monday.adding(seconds: 30 * day)
private let named: [AppCommand] =
    sound + [.setEndpoints(api, endpoints("api.example.com", "eu.api.example.com", "b.example.com"))]
private let below = "eu.api.example.com:443"
private let narrow = VersionGate(minimum: version("2.0"), maximum: version("3.0"), excluded: [version("2.5")])
/// A candidate with keys of its own only.
private let wrong: [AppCommand] =
    sound + [.startCandidate(api, mode: .enforce, copiesBaseline: false, pins: [requested(7), requested(8)])]
private let plan = RolloutPlan.Terms(steps: [.init(100, .init(seconds: 60)), .init(200)])
/// Its plan at the first of two steps, and due.
private let stepping: [AppCommand] =
    wrong + [.setHostRollout(api, Rollout(basisPoints: 0)), .rollout(api, .setPlan(plan))]
private let aborted: [AppCommand] = sound + [rotation(), advance(), .abortRotation("r", keepsNext: true)]

/// G09 where an unchanged policy comes to be enforced, and G07 of what is not seen or not looked at any more.
let reachCases: [RailCase] = [
    RailCase(
        .liveChainUnmatched, .override, "where a kill switch is engaged anew for a shorter time", given: engaged,
        when: .engageKillSwitch(api, expiresAt: monday.adding(seconds: 1)), facts: ExternalFacts(serving(9))),
    RailCase(
        .liveChainUnmatched, .override, "where that of the app is, and its hosts have none", given: allOff,
        when: .engageKillSwitch(nil, expiresAt: monday.adding(seconds: 1)), facts: ExternalFacts(serving(9))),
    RailCase(
        .liveChainUnmatched, quiet: "where it is engaged for longer", given: engaged,
        when: .engageKillSwitch(api, expiresAt: monday.adding(seconds: day + 1)), facts: ExternalFacts(serving(9))),
    RailCase(
        .liveChainUnmatched, quiet: "where that of the app holds while the host's ends",
        given: allOff + [.engageKillSwitch(api, expiresAt: monday.adding(seconds: day))],
        when: .releaseKillSwitch(api), facts: ExternalFacts(serving(9))),
    RailCase(
        .liveChainUnmatched, .block, "where that of some versions is released", given: someOff,
        when: .releaseVersionKillSwitch(range("3.1", "3.2")), facts: ExternalFacts(serving(9))),
    RailCase(
        .liveChainUnmatched, .override, "where that of versions is engaged anew for a shorter time", given: someOff,
        when: .engageVersionKillSwitch(range("3.1", "3.2"), expiresAt: monday.adding(seconds: 1)),
        facts: ExternalFacts(serving(9))),
    RailCase(
        .liveChainUnmatched, quiet: "where that of versions is engaged for longer", given: someOff,
        when: .engageVersionKillSwitch(range("3.1", "3.2"), expiresAt: monday.adding(seconds: day + 1)),
        facts: ExternalFacts(serving(9))),
    RailCase(
        .liveChainUnmatched, quiet: "where another range holds its versions",
        given: someOff + [.engageVersionKillSwitch(range("3.0"), expiresAt: monday.adding(seconds: day))],
        when: .releaseVersionKillSwitch(range("3.1", "3.2")), facts: ExternalFacts(serving(9))),
    RailCase(
        .liveChainUnmatched, .block, "where another range holds some of its versions only",
        given: someOff + [.engageVersionKillSwitch(range("3.0", "3.1.5"), expiresAt: monday.adding(seconds: day))],
        when: .releaseVersionKillSwitch(range("3.1", "3.2")), facts: ExternalFacts(serving(9))),
    RailCase(
        .liveChainUnmatched, .block, "where the range that would hold its versions ends with it",
        given: someOff + [.engageVersionKillSwitch(range("3.0"), expiresAt: monday.adding(seconds: day))],
        when: .releaseVersionKillSwitch(range("3.0")), .releaseVersionKillSwitch(range("3.1", "3.2")),
        facts: ExternalFacts(serving(9))),
    RailCase(
        .liveChainUnmatched, quiet: "where that of the app holds while the one of versions ends",
        given: allOff + [.engageVersionKillSwitch(range("3.0"), expiresAt: monday.adding(seconds: day))],
        when: .releaseVersionKillSwitch(range("3.0")), facts: ExternalFacts(serving(9))),
    RailCase(
        .liveChainUnmatched, quiet: "where that of versions has run out", given: someOff,
        when: .releaseVersionKillSwitch(range("3.1", "3.2")),
        facts: ExternalFacts(serving(9, now: monday.adding(seconds: day))),
        at: monday.adding(seconds: day)),
    RailCase(
        .liveChainUnmatched, .block, "where clients had stopped enforcing and are to begin again", given: lapsed,
        when: .setPinsValidUntil(ahead), facts: ExternalFacts(serving(9))),
    RailCase(
        .liveChainUnmatched, .block, "where they are never to stop again", given: lapsed,
        when: .setPinsValidUntil(nil), facts: ExternalFacts(serving(9))),
    RailCase(
        .liveChainUnmatched, .unknown, "where they begin again unseen", given: lapsed,
        when: .setPinsValidUntil(ahead), facts: unseen),
    RailCase(
        .liveChainUnmatched, quiet: "where they begin again with the right pins", given: lapsed,
        when: .setPinsValidUntil(ahead)),
    RailCase(
        .liveChainUnmatched, quiet: "where they have not stopped, and it is moved on",
        given: sound + [.setPinsValidUntil(monday.adding(seconds: 60))], when: .setPinsValidUntil(ahead),
        facts: ExternalFacts(serving(9))),
    RailCase(
        .liveChainUnmatched, .block, "where subdomains come in, one of which presents another key", given: named,
        when: .setSubdomains(api, includesSubdomains: true),
        facts: ExternalFacts(serving(1), serving(9, at: below), serving(1, at: "b.example.com:443"))),
    RailCase(
        .liveChainUnmatched, quiet: "where subdomains come in that present the same", given: named,
        when: .setSubdomains(api, includesSubdomains: true),
        facts: ExternalFacts(serving(1), serving(1, at: below), serving(9, at: "b.example.com:443"))),
    RailCase(
        .liveChainUnmatched, .block, "where a candidate with the wrong pins gets more devices",
        given: wrong + [.setHostRollout(api, Rollout(basisPoints: 0))],
        when: .setHostRollout(api, Rollout(basisPoints: 1)), facts: ExternalFacts(serving(1))),
    RailCase(
        .liveChainUnmatched, .block, "where it gets all of them",
        given: wrong + [.setHostRollout(api, Rollout(basisPoints: 9999))], when: .setHostRollout(api, nil),
        facts: ExternalFacts(serving(1))),
    RailCase(
        .liveChainUnmatched, .block, "where it gets others",
        given: wrong + [.setHostRollout(api, Rollout(basisPoints: 500, salt: "a"))],
        when: .setHostRollout(api, Rollout(basisPoints: 500, salt: "b")), facts: ExternalFacts(serving(1))),
    RailCase(
        .liveChainUnmatched, .block, "where a plan's first step would bring it to devices",
        given: wrong + [.setHostRollout(api, Rollout(basisPoints: 0))], when: .rollout(api, .setPlan(plan)),
        facts: ExternalFacts(serving(1))),
    RailCase(
        .liveChainUnmatched, .block, "where its next step would, by the server itself", given: stepping,
        when: .rollout(api, .drive), facts: ExternalFacts(serving(1)), actor: .system),
    RailCase(
        .liveChainUnmatched, .override, "where a plan would that begins later",
        given: wrong + [.setHostRollout(api, Rollout(basisPoints: 0))],
        when: .rollout(api, .setPlan(RolloutPlan.Terms(steps: plan.steps, startsAt: ahead))),
        facts: ExternalFacts(serving(1))),
    RailCase(
        .liveChainUnmatched, .warn, "where somebody rolls a candidate back that alone has the served key",
        given: stepping, when: .rollout(api, .rollBack(.requested, detail: nil)), facts: ExternalFacts(serving(7))),
    RailCase(
        .liveChainUnmatched, .block, "where the server would", given: stepping,
        when: .rollout(api, .rollBack(.reports, detail: nil)), facts: ExternalFacts(serving(7)), actor: .system),
    RailCase(
        .liveChainUnmatched, quiet: "where a plan brings the right pins",
        given: sound + [
            .startCandidate(api, mode: .enforce, copiesBaseline: true, pins: [requested(7)]),
            .setHostRollout(api, Rollout(basisPoints: 0)),
        ], when: .rollout(api, .setPlan(plan))),
    RailCase(
        .liveChainUnmatched, quiet: "where it gets fewer",
        given: wrong + [.setHostRollout(api, Rollout(basisPoints: 500))],
        when: .setHostRollout(api, Rollout(basisPoints: 499)), facts: ExternalFacts(serving(1))),
    RailCase(
        .liveChainUnmatched, quiet: "where it gets none",
        given: wrong + [.setHostRollout(api, Rollout(basisPoints: 500, salt: "a"))],
        when: .setHostRollout(api, Rollout(basisPoints: 0, salt: "b")), facts: ExternalFacts(serving(1))),
    RailCase(
        .liveChainUnmatched, .block, "where the app's rollout lets more in",
        given: wrong + [.setRollout(Rollout(basisPoints: 100))], when: .setRollout(Rollout(basisPoints: 200)),
        facts: ExternalFacts(serving(1))),
    RailCase(
        .liveChainUnmatched, .block, "where one that is not sticky draws lots anew",
        given: wrong + [.setRollout(Rollout(basisPoints: 100, isSticky: false))],
        when: .setRollout(Rollout(basisPoints: 99, isSticky: false)), facts: ExternalFacts(serving(1))),
    RailCase(
        .liveChainUnmatched, .warn, "where those who come are locked out where they come from",
        given: wrong + [.setRollout(Rollout(basisPoints: 100))], when: .setRollout(Rollout(basisPoints: 200)),
        facts: ExternalFacts(serving(9))),
    RailCase(
        .liveChainUnmatched, quiet: "where the app's rollout takes devices out of a baseline that locks them out",
        given: wrong + [.setRollout(Rollout(basisPoints: 100))], when: .setRollout(Rollout(basisPoints: 200)),
        facts: ExternalFacts(serving(7))),
    RailCase(
        .liveChainUnmatched, .block, "where it sends devices back to such a baseline",
        given: wrong + [.setRollout(Rollout(basisPoints: 200))], when: .setRollout(Rollout(basisPoints: 100)),
        facts: ExternalFacts(serving(7))),
    RailCase(
        .liveChainUnmatched, quiet: "where no candidate is for more or fewer",
        given: sound + [.setRollout(Rollout(basisPoints: 100))], when: .setRollout(Rollout(basisPoints: 200)),
        facts: ExternalFacts(serving(9))),
    RailCase(
        .liveChainUnmatched, .block, "where the version gate is opened", given: wrong + [.setVersionGate(narrow)],
        when: .setVersionGate(nil), facts: ExternalFacts(serving(1))),
    RailCase(
        .liveChainUnmatched, .block, "where it lets in one version more", given: wrong + [.setVersionGate(narrow)],
        when: .setVersionGate(VersionGate(minimum: version("2.0"), maximum: version("3.0"))),
        facts: ExternalFacts(serving(1))),
    RailCase(
        .liveChainUnmatched, quiet: "where it lets in fewer", given: wrong + [.setVersionGate(narrow)],
        when: .setVersionGate(VersionGate(minimum: version("2.6"), maximum: version("3.0"))),
        facts: ExternalFacts(serving(1))),
    RailCase(
        .liveChainUnmatched, .block, "where it sends versions back to a baseline that locks them out",
        given: wrong + [.setVersionGate(narrow)],
        when: .setVersionGate(VersionGate(minimum: version("2.6"), maximum: version("3.0"))),
        facts: ExternalFacts(serving(7))),

    // Endpoints
    RailCase(
        .liveChainUnmatched, .block, "where the very change that begins to enforce names the service no more",
        given: [enforcing(mode: .reportOnly, shown(certificate(1)), requested(2), requested(3))],
        when: .setMode(api, .baseline, .enforce), .setEndpoints(api, []), facts: ExternalFacts(serving(9))),
    RailCase(
        .stillServed, .override, "of a service that answers and is not to be looked at any more",
        when: .setEndpoints(api, [])),
    RailCase(
        .stillServed, quiet: "of one that has not answered for a day", when: .setEndpoints(api, []),
        facts: ExternalFacts(serving(1, hoursAgo: 24))),
    RailCase(
        .stillServed, quiet: "of one that nothing is enforced of",
        given: [enforcing(mode: .reportOnly, shown(certificate(1)), requested(2), requested(3))],
        when: .setEndpoints(api, [])),

    RailCase(
        .stillServed, .warn, "of a rotation's next key, where nothing is enforced",
        given: [
            enforcing(mode: .reportOnly, shown(certificate(1)), requested(2), requested(3)), rotation(), advance(),
        ], when: .retirePin(api, .baseline, pin(4))),

    // A rotation that was broken off
    RailCase(
        .stillServed, .override, "of a rotation's next key, where the servers were not seen since it was aborted",
        given: aborted, when: .retirePin(api, .baseline, pin(4)),
        facts: ExternalFacts(serving(1, now: noon)), at: noon.adding(seconds: 60)),
    RailCase(
        .stillServed, quiet: "where they were seen with the old key since", given: aborted,
        when: .retirePin(api, .baseline, pin(4))),
    RailCase(
        .stillServed, quiet: "where it was aborted before anybody was told to change a server",
        given: sound + [rotation(), .abortRotation("r", keepsNext: true)], when: .retirePin(api, .baseline, pin(4)),
        facts: ExternalFacts(serving(1, now: noon)), at: noon.adding(seconds: 60)),
]
