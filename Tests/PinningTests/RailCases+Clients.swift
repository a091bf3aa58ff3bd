import PinWire
import Pinning

extension ClientSettings {
    static let plain = ClientSettings()
    static let simple = ClientSettings(schema: .simple)
}

private func declaring(_ kind: ClientKind, _ settings: ClientSettings = .plain) -> AppCommand {
    .setClient(kind, settings)
}
private func engage(_ pattern: HostPattern? = api, hours: Int64 = 4) -> AppCommand {
    .engageKillSwitch(pattern, expiresAt: monday.adding(seconds: hours * 3600))
}
private let engageForVersions = AppCommand.engageVersionKillSwitch(
    range("3.1"), expiresAt: monday.adding(seconds: 4 * 3600))
private let fresh: [AppCommand] = [.rename("Shop")]
/// Two keys, which clients of this project only report on.
private let watched: [AppCommand] = [enforcing(mode: .reportOnly, shown(certificate(1)), requested(2))]
private let onePin: [AppCommand] = [enforcing(mode: .reportOnly, shown(certificate(1)))]
private let cdnKey = shown(certificate(1, names: ["*.cdn.example.com"], subject: "CN=*.cdn.example.com"))
/// A candidate with one key, at the last step of a plan that is to end with its promotion.
private let shrinking: [AppCommand] =
    sound + [
        .startCandidate(api, mode: .reportOnly, copiesBaseline: false, pins: [shown(certificate(1))]),
        .setHostRollout(api, Rollout(basisPoints: 0)),
        .rollout(api, .setPlan(RolloutPlan.Terms(steps: [.init(10_000, .init(seconds: 1))], ending: .promote))),
        declaring(.dynapins),
    ]

/// G25.
let oldClientCases: [RailCase] = [
    RailCase(
        .oldClients, .unknown, "for a wildcard", given: fresh, when: enforcing(on: cdn, mode: .off)),
    RailCase(
        .oldClients, .unknown, "for subdomains", when: .setSubdomains(api, includesSubdomains: true)),
    RailCase(
        .oldClients, .unknown, "for a new host with subdomains", given: fresh,
        when: enforcing(subdomains: true, mode: .off)),
    RailCase(.oldClients, quiet: "for a host by itself", given: fresh, when: enforcing(mode: .off)),
    RailCase(
        .oldClients, quiet: "for a wildcard, where it is known what clients there are",
        given: fresh + [declaring(.netkit)], when: enforcing(on: cdn, mode: .off)),

    RailCase(
        .oldClients, .override, "where a declared kind refuses what is left", given: watched + [declaring(.dynapins)],
        when: .retirePin(api, .baseline, pin(2))),
    RailCase(
        .oldClients, .warn, "where it leaves out what is added", given: fresh + [declaring(.trustkitIOS)],
        when: enforcing(on: cdn, cdnKey, requested(2))),
    RailCase(
        .oldClients, .warn, "where other settings leave pins out", given: sound + [declaring(.remoteConfig)],
        when: declaring(.remoteConfig, .simple)),
    RailCase(
        .oldClients, .override, "for the end of a plan, which waits for a person", given: shrinking,
        when: .rollout(api, .drive), actor: .system),
    RailCase(
        .oldClients, .warn, "where a declared kind does something else", given: fresh + [declaring(.trustkitIOS)],
        when: enforcing(on: cdn, mode: .reportOnly, cdnKey, requested(2))),
    RailCase(
        .oldClients, .warn, "where a kind is declared that cannot do what is there", given: onePin,
        when: declaring(.dynapins)),
    RailCase(
        .oldClients, .warn, "where what it cannot do is there and its settings are changed",
        given: onePin + [declaring(.dynapins)], when: declaring(.dynapins, ClientSettings(ttlSeconds: 600))),
    RailCase(
        .oldClients, quiet: "for what was so before", given: onePin + [declaring(.dynapins)], when: .rename("Store")),
    RailCase(
        .oldClients, quiet: "for what a declared kind can do", given: watched + [declaring(.dynapins)],
        when: .addPin(api, .baseline, requested(3))),
    RailCase(
        .oldClients, quiet: "where it is remedied", given: onePin + [declaring(.dynapins)],
        when: .addPin(api, .baseline, requested(3))),
    RailCase(
        .oldClients, quiet: "where the declaration is taken back", given: onePin + [declaring(.dynapins)],
        when: .removeClient(.dynapins)),

    // Kill switches, which nothing may hold up.
    RailCase(
        .oldClients, .warn, "where a kill switch is not heard of", given: sound + [declaring(.trustkitIOS)],
        when: engage()),
    RailCase(
        .oldClients, .warn, "where that of the app is not", given: sound + [declaring(.dynapins)], when: engage(nil)),
    RailCase(
        .oldClients, .warn, "where it is engaged once more", given: sound + [declaring(.trustkitIOS), engage(nil)],
        when: engage(nil, hours: 5)),
    RailCase(
        .oldClients, .warn, "where some may not hear of that for versions",
        given: sound + [declaring(.remoteConfig)], when: engageForVersions),
    RailCase(
        .oldClients, .warn, "where reports engage it",
        given: sound + [
            .setMonitoring(Monitoring(isEnabled: true, autoDisables: true, reaction: .act)), declaring(.trustkitIOS),
        ], when: engage(), facts: ExternalFacts(serving(9)), actor: .system),
    RailCase(
        .oldClients, quiet: "where a kill switch is heard of", given: sound + [declaring(.netkit)], when: engage()),
    RailCase(
        .oldClients, quiet: "where one ends", given: sound + [declaring(.trustkitIOS), engage()],
        when: .releaseKillSwitch(api)),
]
