import PinWire
import Pinning

private let started = sound + [rotation()]
private let switched = started + [advance()]
private let settling = switched + [advance()]
/// When the settling that began at noon on Saturday is over, and every document without the key is stale.
private let settled = noon.adding(seconds: 3 * day)
private let hour = noon.adding(seconds: 3600)
private let other = host("www.example.com")
private let two: [AppCommand] =
    sound + [
        enforcing(on: other, shown(certificate(5, names: [other.text])), requested(6), requested(7)),
        rotation([api, other], to: requested(4)),
    ]
private let off: [AppCommand] = started + [.setMode(api, .baseline, .off)]
private let replaced: [AppCommand] = sound + [.addPin(api, .baseline, shown(certificate(5)))]

/// A further address of the service, which was seen only now.
private func elsewhere(_ number: Int, now: Timestamp) -> Presented {
    var presented = serving(number, sinceDays: 0, now: now)
    presented.chains = presented.chains.map { chain in
        var chain = chain
        chain.address = "192.0.2.99"
        chain.firstSeen = chain.lastSeen
        return chain
    }
    return presented
}

/// G10, G11, G34 and G43.
let deliveryCases: [RailCase] = [
    // G10
    RailCase(
        .notDelivered, .override, "where too few clients have the key", given: started, when: advance(),
        facts: ExternalFacts(serving(1, now: hour), share: installs(98, 100)), at: hour),
    RailCase(
        .notDelivered, .override, "before the least time, however many have it", given: started, when: advance(),
        facts: ExternalFacts(serving(1, now: noon), share: installs(100, 100)), at: hour.adding(seconds: -1)),
    RailCase(
        .notDelivered, .override, "where nothing was counted, until time alone is enough", given: started,
        when: advance(), facts: ExternalFacts(serving(1, now: noon)), at: noon.adding(seconds: 89_999)),
    RailCase(
        .notDelivered, .override, "where the key came to a candidate only now",
        given: started + [.startCandidate(api, mode: .enforce, copiesBaseline: true, pins: [])], when: advance(),
        facts: ExternalFacts(serving(1, now: hour), share: installs(10, 20)), at: hour),
    RailCase(
        .notDelivered, .warn, "where a role says that a key is served, and few have it",
        given: sound, when: .setPinRole(api, .baseline, pin(2), .primary),
        facts: ExternalFacts(serving(1, now: hour), share: installs(10, 20)), at: hour),
    RailCase(
        .notDelivered, .warn, "where an emergency changes the key before anybody has it",
        when: rotation(kind: .emergency)),
    RailCase(
        .notDelivered, .override, "where only those say that they have it who did not sign", given: started,
        when: advance(), facts: ExternalFacts(serving(1, now: hour), claims: AdoptionClaims(sightings: 500_000)),
        at: hour),
    RailCase(
        .notDelivered, quiet: "where enough have it", given: started, when: advance(),
        facts: ExternalFacts(serving(1, now: hour), share: installs(99, 100)), at: hour),
    RailCase(
        .notDelivered, quiet: "where time alone is enough", given: started, when: advance(),
        facts: ExternalFacts(serving(1, now: noon)), at: noon.adding(seconds: 90_000)),
    RailCase(
        .notDelivered, .override,
        "where the policy is off today, since clients may hold a document in which it was not",
        given: off, when: advance(),
        facts: ExternalFacts(serving(1, now: hour)), at: hour),
    RailCase(
        .notDelivered, quiet: "where the host is gone", given: started + [.removeHost(api)], when: advance(),
        facts: unseen, at: hour),

    RailCase(
        .notDelivered, .warn, "of a rotation that asks for less than all but a hundredth",
        when: rotation(goals: Rotation.Goals(adoption: 9899))),
    RailCase(
        .notDelivered, .warn, "of a rotation that does not wait for an hour",
        when: rotation(goals: Rotation.Goals(minimumWait: 0))),
    RailCase(.notDelivered, quiet: "of a rotation that asks for what is usual", when: rotation()),
    RailCase(
        .notDelivered, .override, "where a candidate takes the place of pins that are built in",
        given: [
            .addHost(api, includesSubdomains: false, mode: nil, pins: []),
            .startCandidate(
                api, mode: .enforce, copiesBaseline: false,
                pins: [shown(certificate(1)), requested(2), requested(3)]),
            .promoteCandidate(api), rotation(to: AppCommand.NewPin(pin: pin(2), role: .backup)),
        ],
        when: advance(), facts: ExternalFacts(serving(1, now: hour), share: installs(10, 20)), at: hour),

    // G11
    RailCase(
        .oldKeyTooSoon, .warn, "of a rotation that gives the old key up in less than a day",
        when: rotation(goals: Rotation.Goals(settling: day - 1))),
    RailCase(
        .oldKeyTooSoon, .override, "of a rotation that ends before the last document with the old key is stale",
        given: settling + [advance()], when: advance(), facts: ExternalFacts(serving(4, now: noon)),
        at: noon.adding(seconds: 89_999)),
    RailCase(
        .oldKeyTooSoon, quiet: "of one that ends after that", given: settling + [advance()], when: advance(),
        facts: ExternalFacts(serving(4, now: noon)), at: noon.adding(seconds: 90_000)),
    RailCase(
        .oldKeyTooSoon, quiet: "where a load balancer has a new address for a service that has proved itself",
        given: settling, when: advance(),
        facts: ExternalFacts(serving(4, now: settled), elsewhere(4, now: settled)), at: settled),
    RailCase(
        .oldKeyTooSoon, .override, "before the next key was served for long enough", given: settling, when: advance(),
        facts: ExternalFacts(serving(4, now: noon)), at: noon.adding(seconds: day - 1)),
    RailCase(
        .oldKeyTooSoon, .override, "where a probe saw the next key only since yesterday", given: settling,
        when: advance(), facts: ExternalFacts(serving(4, sinceDays: 0, now: settled)), at: settled),
    RailCase(
        .oldKeyTooSoon, .override, "where too few clients have the next key",
        given: [
            enforcing(shown(certificate(1)), requested(2), requested(3)),
            rotation(goals: Rotation.Goals(sufficientWait: 30 * day)), advance(), advance(),
        ], when: advance(), facts: ExternalFacts(serving(4, now: settled), share: installs(10, 20)), at: settled),
    RailCase(
        .oldKeyTooSoon, .override, "where a primary goes and what is served instead is new",
        given: replaced, when: .retirePin(api, .baseline, pin(1)), facts: ExternalFacts(serving(5, sinceDays: 0))),
    RailCase(
        .oldKeyTooSoon, .override, "where a primary goes and few have the pin of what is served instead",
        given: replaced, when: .retirePin(api, .baseline, pin(1)),
        facts: ExternalFacts(serving(5, now: hour), share: installs(10, 20)), at: hour),
    RailCase(
        .oldKeyTooSoon, .unknown, "where a primary goes and nobody knows what is served instead",
        given: replaced, when: .retirePin(api, .baseline, pin(1)), facts: unseen),
    RailCase(
        .oldKeyTooSoon, quiet: "where the next key was served for a day and everybody has it", given: settling,
        when: advance(), facts: ExternalFacts(serving(4, now: settled)), at: settled),
    RailCase(
        .oldKeyTooSoon, quiet: "where a primary goes and another has proved itself", given: replaced,
        when: .retirePin(api, .baseline, pin(1)), facts: ExternalFacts(serving(5))),
    RailCase(.oldKeyTooSoon, quiet: "of a reserve that was never served", when: .retirePin(api, .baseline, pin(3))),

    // G34
    RailCase(
        .removalWhileInUse, .override, "while clients fetch the document", when: .removeHost(api),
        facts: ExternalFacts(serving(1), claims: AdoptionClaims(sightings: 5000))),
    RailCase(.removalWhileInUse, .unknown, "where nobody counts them", when: .removeHost(api)),
    RailCase(
        .removalWhileInUse, .unknown, "where nobody was seen", when: .removeHost(api),
        facts: ExternalFacts(serving(1), claims: AdoptionClaims(sightings: 0))),
    RailCase(
        .removalWhileInUse, quiet: "of a host that is not enforced",
        given: [enforcing(mode: .reportOnly, shown(certificate(1)), requested(2))], when: .removeHost(api),
        facts: ExternalFacts(serving(1), claims: AdoptionClaims(sightings: 5000))),

    // G43
    RailCase(
        .notSeenServed, .override, "where a service presents the old key", given: switched, when: advance(),
        facts: ExternalFacts(serving(1))),
    RailCase(
        .notSeenServed, .override, "where one of two addresses presents the old key", given: switched, when: advance(),
        facts: ExternalFacts(serving(4), serving(1))),
    RailCase(
        .notSeenServed, .override, "where one of two hosts presents its old key", given: two + [advance()],
        when: advance(), facts: ExternalFacts(serving(4), serving(5, at: "www.example.com:443"))),
    RailCase(
        .notSeenServed, .unknownOverride, "where no probe looked", given: switched, when: advance(), facts: unseen),
    RailCase(
        .notSeenServed, .unknownOverride, "of a wildcard of which no service is named",
        given: [
            enforcing(on: cdn, shown(certificate(1, names: [cdn.text])), requested(2), requested(3)), rotation([cdn]),
            advance(),
        ], when: advance(), facts: unseen),
    RailCase(
        .notSeenServed, .override, "of an emergency, of a host without a match yet",
        given: [
            enforcing(shown(certificate(1)), shown(certificate(5)), requested(2), requested(3)),
            rotation(kind: .emergency),
        ],
        when: advance(), facts: ExternalFacts(serving(2)), prepare: { $0.loweredRails = [.notDelivered] }),
    RailCase(
        .notSeenServed, quiet: "where every service presents it", given: switched, when: advance(),
        facts: ExternalFacts(serving(4))),
    RailCase(
        .notSeenServed, quiet: "where both hosts present it", given: two + [advance()], when: advance(),
        facts: ExternalFacts(serving(4), serving(4, at: "www.example.com:443"))),
    RailCase(
        .notSeenServed, quiet: "of a host that is gone", given: switched + [.removeHost(api)], when: advance(),
        facts: unseen),
]
