import PinWire
import Pinning

/// Pins that RFC 7469 prints, and that anyone may have typed.
private let example = pin(text: "sha256/d6qzRu9zOECb90Uez27xWltNsj0e1Md7GkYYkVoZWmM=")
private let zeroes = pin(text: "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")

/// Enforced with one reserve, which is shown.
private let narrow: [AppCommand] = [enforcing(shown(certificate(1)), shown(certificate(5)), requested(2))]
/// Taken over from where only hashes were kept.
private let bare: [AppCommand] = [enforcing(new(1), new(2, .backup), new(3, .backup))]
private let other = host("www.example.com")

/// G01, G02, G04, G05, G13, G41 and what G42 says without probes.
let policyCases: [RailCase] = [
    // G01
    RailCase(
        .twoPins, .block, "where one pin would be enforced", given: [.rename("Shop")],
        when: enforcing(requested(2))),
    RailCase(
        .twoPins, .block, "where the second last pin goes", given: [enforcing(shown(certificate(1)), requested(2))],
        when: .retirePin(api, .baseline, pin(2))),
    RailCase(
        .twoPins, .block, "of a candidate too",
        when: .startCandidate(
            api, mode: .enforce, copiesBaseline: false, pins: [requested(2)])),
    RailCase(
        .twoPins, quiet: "with two pins", given: [.rename("Shop")], when: enforcing(shown(certificate(1)), requested(2))
    ),
    RailCase(
        .twoPins, quiet: "where nothing is enforced", given: [.rename("Shop")],
        when: enforcing(mode: .reportOnly, shown(certificate(1)))),

    // G02
    RailCase(
        .backupNotServed, .block, "where enforcing begins without a backup", given: [.rename("Shop")],
        when: enforcing(shown(certificate(1)), shown(certificate(2)))),
    RailCase(
        .backupNotServed, .override, "where the last backup goes", given: narrow,
        when: .retirePin(api, .baseline, pin(2))),
    RailCase(
        .backupNotServed, .override, "where the last backup becomes a primary", given: narrow,
        when: .setPinRole(api, .baseline, pin(2), .primary)),
    RailCase(
        .backupNotServed, .override, "where another pin is published without a backup",
        given: narrow + [.retirePin(api, .baseline, pin(2))], when: .addPin(api, .baseline, shown(certificate(6)))),
    RailCase(
        .backupNotServed, .override, "where every pin is in the served chain",
        when: .retirePin(api, .baseline, pin(3)), facts: ExternalFacts(serving(1, 2))),
    RailCase(
        .backupNotServed, .override, "where two services between them present every pin",
        given: sound + [.setEndpoints(api, endpoints("api.example.com", "b.example.com"))],
        when: .retirePin(api, .baseline, pin(3)), facts: ExternalFacts(serving(1), serving(2, at: "b.example.com:443"))),
    RailCase(
        .backupNotServed, .warn, "where a rotation to the only backup will leave none", given: narrow,
        when: rotation(to: AppCommand.NewPin(pin: pin(2), role: .backup))),
    RailCase(
        .backupNotServed, quiet: "where a rotation to a new key leaves the backup", given: narrow, when: rotation()),
    RailCase(.backupNotServed, quiet: "while one stays", when: .retirePin(api, .baseline, pin(3))),
    RailCase(
        .backupNotServed, quiet: "where the backup changes places with the primary", given: narrow,
        when: .setPinRole(api, .baseline, pin(2), .primary), .setPinRole(api, .baseline, pin(1), .backup)),

    // G04
    RailCase(
        .placeholder, .block, "for a pin that nobody's key has",
        when: .addPin(api, .baseline, .init(pin: zeroes, role: .backup))),
    RailCase(
        .placeholder, .override, "for a pin out of documentation",
        when: .addPin(api, .baseline, .init(pin: example, role: .primary))),
    RailCase(
        .placeholder, quiet: "for a pin out of documentation that the server presents",
        when: .addPin(api, .baseline, .init(pin: example, role: .primary)),
        facts: ExternalFacts(
            Presented(
                endpoint: endpoints("api.example.com")[0],
                chains: [
                    ObservedChain(
                        pins: [pin(1), example], address: "192.0.2.1", vantage: "oslo", firstSeen: noon,
                        lastSeen: monday,
                        isCurrent: true)
                ]))),
    RailCase(
        .placeholder, quiet: "for a pin that may be anybody's", when: .addPin(api, .baseline, shown(certificate(7)))),

    // G05
    RailCase(
        .boundedLifetime, .block, "beyond sixty days",
        when: .setPinsValidUntil(monday.adding(seconds: 60 * day + 1))),
    RailCase(
        .boundedLifetime, .block, "where enforcing begins with an end that is too far",
        given: [.setPinsValidUntil(monday.adding(seconds: 90 * day))],
        when: enforcing(shown(certificate(1)), requested(2))),
    RailCase(
        .boundedLifetime, .warn, "beyond thirty days", when: .setPinsValidUntil(monday.adding(seconds: 60 * day))),
    RailCase(
        .boundedLifetime, .warn, "without an end", given: [.setPinsValidUntil(monday.adding(seconds: day))] + sound,
        when: .setPinsValidUntil(nil)),
    RailCase(
        .boundedLifetime, .warn, "where enforcing begins after the end",
        given: [.setPinsValidUntil(noon.adding(seconds: 60))], when: enforcing(shown(certificate(1)), requested(2))),
    RailCase(.boundedLifetime, quiet: "within thirty days", when: .setPinsValidUntil(monday.adding(seconds: 30 * day))),
    RailCase(
        .boundedLifetime, quiet: "where nothing is enforced", given: [.rename("Shop")],
        when: .setPinsValidUntil(monday.adding(seconds: 900 * day))),

    // G13
    RailCase(
        .unprovenPin, .override, "where of every backup only the hash is known", given: [.rename("Shop")],
        when: enforcing(shown(certificate(1)), new(2, .backup))),
    RailCase(
        .unprovenPin, .warn, "in an import", given: [.rename("Shop")],
        when: enforcing(new(1), new(2, .backup)), isImport: true),
    RailCase(
        .unprovenPin, .override, "where the last backup that was shown goes",
        given: sound + [.addPin(api, .baseline, new(8, .backup)), .retirePin(api, .baseline, pin(3))],
        when: .retirePin(api, .baseline, pin(2))),
    RailCase(
        .unprovenPin, .override, "where another hash joins hashes", given: bare,
        when: .addPin(api, .baseline, new(9, .emergency))),
    RailCase(
        .unprovenPin, .override, "of a candidate",
        when: .startCandidate(
            api, mode: .enforce, copiesBaseline: false, pins: [shown(certificate(1)), new(8, .backup)])),
    RailCase(
        .unprovenPin, quiet: "where one backup was shown", given: [.rename("Shop")],
        when: enforcing(shown(certificate(1)), requested(2), new(3, .backup))),
    RailCase(
        .unprovenPin, quiet: "where probes saw the key", given: [.rename("Shop")],
        when: enforcing(shown(certificate(1)), new(2, .backup)),
        facts: ExternalFacts(
            serving(1), serving(2, certificates: [certificate(2)], hoursAgo: 100, isCurrent: false))),
    RailCase(
        .unprovenPin, quiet: "where what was taken over shrinks", given: bare, when: .retirePin(api, .baseline, pin(3))),
    RailCase(
        .unprovenPin, quiet: "of a rotation's old key, which was in service",
        given: [enforcing(new(1), new(2, .backup)), rotation(), advance()], when: advance(),
        facts: ExternalFacts(serving(4))),
    RailCase(
        .unprovenPin, quiet: "where nothing is enforced", given: [.rename("Shop")],
        when: enforcing(mode: .reportOnly, new(1), new(2, .backup))),

    // G41
    RailCase(.backupIsPrimary, .block, "where the primary is given again", when: .addPin(api, .baseline, requested(1))),
    RailCase(
        .backupIsPrimary, .block, "where one key is given twice", given: [.rename("Shop")],
        when: enforcing(shown(certificate(1)), requested(1))),
    RailCase(
        .backupIsPrimary, .block, "where one key is given twice, the backup first", given: [.rename("Shop")],
        when: enforcing(requested(1), shown(certificate(1)))),
    RailCase(.backupIsPrimary, .block, "where the next key is the old one", when: rotation(to: requested(1))),
    RailCase(
        .backupIsPrimary, .warn, "where another host serves the key",
        when: enforcing(on: other, shown(certificate(6, names: [other.text])), requested(1), requested(7)),
        facts: ExternalFacts(serving(1), serving(6, at: "www.example.com:443"))),
    RailCase(.backupIsPrimary, quiet: "for another key", when: .addPin(api, .baseline, requested(9))),

    // G42 without probes; with them, see liveCases.
    RailCase(
        .armWithoutServedKey, .override, "where the arms share no key and nobody knows which is served",
        when: .startCandidate(
            api, mode: .enforce, copiesBaseline: false, pins: [shown(certificate(6)), requested(7)]),
        facts: unseen),
    RailCase(
        .armWithoutServedKey, quiet: "where they share one",
        when: .startCandidate(api, mode: .enforce, copiesBaseline: true, pins: [requested(7)]), facts: unseen),
]
