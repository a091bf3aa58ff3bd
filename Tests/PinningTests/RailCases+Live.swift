import PinWire
import Pinning

private let two = AppCommand.setEndpoints(api, endpoints("api.example.com", "b.example.com"))
private let b = "b.example.com:443"
private let reporting: [AppCommand] = [enforcing(mode: .reportOnly, shown(certificate(1)), requested(2), requested(3))]
private let wildcard: [AppCommand] = [
    enforcing(on: cdn, shown(certificate(1, names: [cdn.text])), requested(2), requested(3))
]
private let engaged: [AppCommand] = sound + [.engageKillSwitch(api, expiresAt: monday.adding(seconds: day))]
private let allOff: [AppCommand] = sound + [.engageKillSwitch(nil, expiresAt: monday.adding(seconds: day))]

/// A candidate with keys of its own, which was started before there were probes.
private let apart: [AppCommand] =
    sound + [.startCandidate(api, mode: .enforce, copiesBaseline: true, pins: [requested(7), requested(8)])]

/// G07, G08, G09, G24 and G42.
let liveCases: [RailCase] = [
    // G07
    RailCase(
        .stillServed, .override, "while a service presents the key",
        given: sound + [.addPin(api, .baseline, shown(certificate(5)))],
        when: .retirePin(api, .baseline, pin(1)), facts: ExternalFacts(serving(1, 5))),
    RailCase(
        .stillServed, .override, "where it did within a week, from any address",
        given: sound + [.addPin(api, .baseline, shown(certificate(5)))], when: .retirePin(api, .baseline, pin(1)),
        facts: ExternalFacts(serving(5), serving(1, hoursAgo: 167))),
    RailCase(
        .stillServed, .override, "where a revoked key is presented",
        given: sound + [.addPin(api, .baseline, shown(certificate(5)))], when: .revokePin(api, .baseline, pin(1)),
        facts: ExternalFacts(serving(1, 5))),
    RailCase(
        .stillServed, .override, "where a candidate goes whose key is presented", given: apart,
        when: .dropCandidate(api), facts: ExternalFacts(serving(1, 7))),
    RailCase(
        .stillServed, .override, "where one of two services presents the key",
        given: sound + [.addPin(api, .baseline, shown(certificate(5))), two], when: .retirePin(api, .baseline, pin(2)),
        facts: ExternalFacts(serving(1), serving(2, 5, at: b))),
    RailCase(
        .stillServed, .unknown, "where no probe looked", when: .retirePin(api, .baseline, pin(3)), facts: unseen
    ),
    RailCase(
        .stillServed, .unknownOverride, "where a probe looked too long ago", when: .retirePin(api, .baseline, pin(3)),
        facts: ExternalFacts(serving(1, hoursAgo: 24))),
    RailCase(
        .stillServed, .unknown, "where one of two services was not seen", given: sound + [two],
        when: .retirePin(api, .baseline, pin(3)), facts: ExternalFacts(serving(1))),
    RailCase(
        .stillServed, .unknown, "of a wildcard of which no service is named", given: wildcard,
        when: .retirePin(cdn, .baseline, pin(3)), facts: unseen),
    RailCase(.stillServed, quiet: "of a key that nobody saw", when: .retirePin(api, .baseline, pin(3))),
    RailCase(
        .stillServed, quiet: "of a key that was seen more than a week ago", when: .retirePin(api, .baseline, pin(3)),
        facts: ExternalFacts(serving(1), serving(3, hoursAgo: 168, isCurrent: false))),
    RailCase(
        .stillServed, quiet: "of a policy that was off",
        given: [enforcing(mode: .off, shown(certificate(1)), requested(2))],
        when: .retirePin(api, .baseline, pin(1))),

    // G08
    RailCase(
        .lastLivePin, .block, "where the last match is retired",
        given: sound + [.addPin(api, .baseline, shown(certificate(5)))],
        when: .retirePin(api, .baseline, pin(1))),
    RailCase(
        .lastLivePin, .block, "where the last match is revoked",
        given: sound + [.addPin(api, .baseline, shown(certificate(5)))],
        when: .revokePin(api, .baseline, pin(1))),
    RailCase(
        .lastLivePin, .block, "for one of two services, the other being lost already",
        given: sound + [two], when: .retirePin(api, .baseline, pin(3)),
        facts: ExternalFacts(serving(9), serving(3, at: b))),
    RailCase(
        .lastLivePin, .block, "in an emergency too, while a server has the old key",
        given: sound + [rotation(kind: .emergency)], when: advance(), facts: ExternalFacts(serving(1))),
    RailCase(
        .lastLivePin, .warn, "where mismatches are only reported", given: reporting,
        when: .retirePin(api, .baseline, pin(2)), facts: ExternalFacts(serving(2, hoursAgo: 1))),
    RailCase(
        .lastLivePin, quiet: "while another pin matches", given: sound, when: .retirePin(api, .baseline, pin(3))),
    RailCase(
        .lastLivePin, quiet: "where nothing matched before", when: .retirePin(api, .baseline, pin(3)),
        facts: ExternalFacts(serving(9))),

    // G09
    RailCase(
        .liveChainUnmatched, .block, "where a new host's pins are of other keys", given: [.rename("Shop")],
        when: enforcing(shown(certificate(1)), requested(2)), facts: ExternalFacts(serving(9))),
    RailCase(
        .liveChainUnmatched, .block, "where enforcing begins", given: reporting,
        when: .setMode(api, .baseline, .enforce), facts: ExternalFacts(serving(9))),
    RailCase(
        .liveChainUnmatched, .block, "where a candidate without the served key is promoted",
        given: apart + [
            .retirePin(api, .candidate, pin(1))
        ], when: .promoteCandidate(api)),
    RailCase(
        .liveChainUnmatched, .block, "where one of two services presents another key", given: [.rename("Shop")],
        when: enforcing(shown(certificate(1)), requested(2)), two, facts: ExternalFacts(serving(1), serving(9, at: b))),
    RailCase(
        .liveChainUnmatched, .block, "where one of two addresses presents another key", given: [.rename("Shop")],
        when: enforcing(shown(certificate(1)), requested(2)), facts: ExternalFacts(serving(1), serving(9))),
    RailCase(
        .liveChainUnmatched, .block, "where a kill switch is released over the wrong pins", given: engaged,
        when: .releaseKillSwitch(api), facts: ExternalFacts(serving(9))),
    RailCase(
        .liveChainUnmatched, .block, "where that of the app is", given: allOff, when: .releaseKillSwitch(nil),
        facts: ExternalFacts(serving(9))),
    RailCase(
        .liveChainUnmatched, .warn, "where mismatches are only reported", given: [.rename("Shop")],
        when: enforcing(mode: .reportOnly, shown(certificate(1)), requested(2)), facts: ExternalFacts(serving(9))),
    RailCase(
        .liveChainUnmatched, .warn, "where clients are locked out already", when: .addPin(api, .baseline, requested(8)),
        facts: ExternalFacts(serving(9))),
    RailCase(
        .liveChainUnmatched, .unknown, "where no probe looked", given: [.rename("Shop")],
        when: enforcing(shown(certificate(1)), requested(2)), facts: unseen),
    RailCase(
        .liveChainUnmatched, .unknown, "where one of two services was not seen", given: [.rename("Shop")],
        when: enforcing(shown(certificate(1)), requested(2)), two, facts: ExternalFacts(serving(1))),
    RailCase(
        .liveChainUnmatched, .unknown, "where a kill switch is released unseen", given: allOff,
        when: .releaseKillSwitch(nil), facts: unseen),
    RailCase(
        .liveChainUnmatched, .unknown, "of the names below a host",
        when: .setSubdomains(api, includesSubdomains: true)),
    RailCase(
        .liveChainUnmatched, quiet: "where the served key is pinned", given: [.rename("Shop")],
        when: enforcing(shown(certificate(1)), requested(2))),
    RailCase(
        .liveChainUnmatched, quiet: "where the served authority is pinned", given: [.rename("Shop")],
        when: enforcing(shown(certificate(1)), requested(2)), facts: ExternalFacts(serving(9, 1))),
    RailCase(
        .liveChainUnmatched, quiet: "of what is off", given: [.rename("Shop")],
        when: enforcing(mode: .off, shown(certificate(1)), requested(2)), facts: ExternalFacts(serving(9))),
    RailCase(
        .liveChainUnmatched, quiet: "where a kill switch is released over the right pins", given: engaged,
        when: .releaseKillSwitch(api)),
    RailCase(
        .liveChainUnmatched, quiet: "where another kill switch still holds",
        given: engaged + [.engageKillSwitch(nil, expiresAt: monday.adding(seconds: day))],
        when: .releaseKillSwitch(api), facts: ExternalFacts(serving(9))),
    RailCase(
        .liveChainUnmatched, quiet: "where the kill switch has run out", given: engaged, when: .releaseKillSwitch(api),
        facts: ExternalFacts(serving(9)), at: monday.adding(seconds: 2 * day)),
    RailCase(
        .liveChainUnmatched, quiet: "of the names below a host, where one is named",
        given: sound + [.setEndpoints(api, endpoints("api.example.com", "v2.api.example.com"))],
        when: .setSubdomains(api, includesSubdomains: true),
        facts: ExternalFacts(serving(1), serving(1, at: "v2.api.example.com:443"))),

    // G24
    RailCase(
        .vantagePoints, .warn, "where one place looked", when: .retirePin(api, .baseline, pin(3)),
        facts: ExternalFacts(serving(1, from: ["oslo"]))),
    RailCase(
        .vantagePoints, .warn, "where the other place has no name", when: .retirePin(api, .baseline, pin(3)),
        facts: ExternalFacts(serving(1, from: ["oslo", "unnamed"]))),
    RailCase(.vantagePoints, quiet: "where two did", when: .retirePin(api, .baseline, pin(3))),
    RailCase(
        .vantagePoints, quiet: "where nothing is taken away", when: .addPin(api, .baseline, requested(8)),
        facts: ExternalFacts(serving(1, from: ["oslo"]))),

    // G42
    RailCase(
        .armWithoutServedKey, .block, "where a candidate lacks the served key",
        when: .startCandidate(
            api, mode: .enforce, copiesBaseline: false, pins: [shown(certificate(6)), requested(7)])),
    RailCase(
        .armWithoutServedKey, .warn, "where it only reports",
        when: .startCandidate(
            api, mode: .reportOnly, copiesBaseline: false, pins: [shown(certificate(6)), requested(7)])),
    RailCase(
        .armWithoutServedKey, quiet: "where it has it",
        when: .startCandidate(api, mode: .enforce, copiesBaseline: true, pins: [requested(7)])),
]
