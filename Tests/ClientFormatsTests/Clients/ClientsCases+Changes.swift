import PinWire
import Pinning

/// A rollout to nobody but those on its list.
private let guests = Rollout(basisPoints: 0, salt: "spring", whitelist: [Rollout.hashedID("alice", salt: "spring")])
/// A rollout to half a per cent.
private let few = Rollout(basisPoints: 50, salt: "spring")
/// Pins of the document on both sides of a rollout to half of all devices.
private let half = ClientApp(
    hosting(Keyed(leaf(1)), Keyed(leaf(2), .backup)), trying(Rollout(basisPoints: 5000, salt: "spring"), Keyed(leaf(3)))
)
/// A device that gets an app's candidate.
private func chosen(_ app: ClientApp) -> Device {
    for number in 0..<10_000 {
        let device = Device(ids: [.deviceID: "device \(number)"])
        let deed = try? app.stated(Connection("api.example.com", leaf(3), device: device))
        if deed == .connects { return device }
    }
    return Device()
}

extension ClientCase {
    /// What is switched off, changes or ends.
    static let changes = switches + versions + reports + expiries + rollouts + remoteRollouts + lockedOut

    /// Kinds that cannot be told to stop.
    private static let deaf: [(kind: ClientKind, settings: ClientSettings)] = clientForms.filter { form in
        switch form.kind {
        case .remoteConfig, .netkit: false
        case .wultra: !form.settings.understandsDomains
        default: true
        }
    }

    private static let switches: [ClientCase] = deaf.flatMap { kind, settings in
        [
            ClientCase(.killSwitch, .differs, kind, as: settings, "goes on for the app", .killed, toStranger, .refuses),
            ClientCase(
                .killSwitch, .differs, kind, as: settings, "goes on for the host", .hostKilled, toStranger, .refuses),
            ClientCase(.modeOff, .differs, kind, as: settings, "goes on", .off, toStranger, .refuses),
        ]
    }

    private static let versions: [ClientCase] =
        (deaf + [(kind: .netkit, settings: .plain)]).map { kind, settings in
            ClientCase(
                .versionKillSwitch, .differs, kind, as: settings, "goes on", .versionKilled,
                Connection("api.example.com", stranger, device: Device(appVersion: "3.1")), .refuses)
        } + [
            ClientCase(
                .versionKillSwitch, .differs, .remoteConfig, "hears of it in conditions alone", .versionKilled,
                Connection(
                    "api.example.com", stranger, device: Device(appVersion: "3.1"), saysVersion: false), .refuses)
        ]

    /// Apps whose servers use a key that is not pinned, so that an operator has switched pinning off: clients that it does
    /// not reach are locked out.
    private static let lockedOut: [ClientCase] = lockedOutOfOff + lockedOutAtEnd + lockedOutOfReports + lockedOutOfTrial

    private static let lockedOutOfOff: [ClientCase] = deaf.flatMap { kind, settings -> [ClientCase] in
        let asker = Connection("api.example.com", stranger, device: Device(appVersion: "3.1"))
        return [
            ClientCase(
                .killSwitch, .breaks, kind, as: settings, "is locked out of the app", .killed.serving(7), toStranger,
                .refuses),
            ClientCase(
                .killSwitch, .breaks, kind, as: settings, "is locked out of the host", .hostKilled.serving(7),
                toStranger, .refuses),
            ClientCase(.modeOff, .breaks, kind, as: settings, "is locked out", .off.serving(7), toStranger, .refuses),
            ClientCase(
                .versionKillSwitch, .breaks, kind, as: settings, "is locked out", .versionKilled.serving(7), asker,
                .refuses),
        ]
    }

    private static let lockedOutAtEnd: [ClientCase] = endless.map { kind, settings in
        ClientCase(
            .pinsValidUntil, .breaks, kind, as: settings, "is locked out", .ending.serving(7),
            Connection("api.example.com", stranger, at: tomorrow.adding(seconds: day)), .refuses)
    }

    private static let lockedOutOfReports: [ClientCase] = reporters.filter { $0.deed == .refuses }.map {
        ClientCase(
            .reportOnly, .breaks, $0.kind, as: $0.settings, "is locked out", .reporting.serving(7), toStranger, .refuses
        )
    }

    private static let lockedOutOfTrial: [ClientCase] = clientForms.filter { $0.kind != .remoteConfig }.map {
        ClientCase(
            .rollout, .breaks, $0.kind, as: $0.settings, "does not know the candidate's key", .trial.serving(3),
            Connection("api.example.com", leaf(3), device: alice), .refuses)
    }

    /// What each makes of a host that only reports.
    private static let reporters: [(kind: ClientKind, settings: ClientSettings, deed: Taken)] = [
        (.dynapins, .plain, .refuses), (.dynapins, .ed25519, .refuses), (.wultra, .plain, .refuses),
        (.muejam, .plain, .refuses), (.sslPinning, .plain, .refuses), (.remoteConfig, .plain, .connects),
        (.remoteConfig, .simple, .connects), (.appleATS, .plain, .connects), (.androidNSC, .plain, .connects),
        (.okhttp, .plain, .connects), (.okhttp3, .plain, .connects), (.reactNative, .plain, .connects),
        (.flutter, .plain, .connects), (.curl, .plain, .connects),
    ]

    private static let reports: [ClientCase] = reporters.map { kind, settings, deed in
        ClientCase(
            .reportOnly, .differs, kind, as: settings, deed == .refuses ? "enforces" : "looks away", .reporting,
            toStranger, deed
        )
    }

    /// Kinds that cannot be told until when pins hold.
    private static let endless: [(kind: ClientKind, settings: ClientSettings)] = [
        (.dynapins, .plain), (.dynapins, .ed25519), (.wultra, .plain), (.muejam, .plain), (.sslPinning, .plain),
        (.appleATS, .plain), (.okhttp, .plain), (.okhttp3, .plain), (.flutter, .plain), (.curl, .plain),
    ]

    private static let expiries: [ClientCase] = endless.map { kind, settings in
        ClientCase(
            .pinsValidUntil, .differs, kind, as: settings, "goes on", .ending,
            Connection("api.example.com", stranger, at: tomorrow.adding(seconds: day)), .refuses)
    }

    private static let rollouts: [ClientCase] = clientForms.filter { $0.kind != .remoteConfig }.map { kind, settings in
        ClientCase(
            .rollout, .differs, kind, as: settings, "stays with the baseline", .trial,
            Connection("api.example.com", leaf(3), device: alice), .refuses)
    }

    private static let remoteRollouts: [ClientCase] = [
        ClientCase(
            .rollout, .differs, .remoteConfig, "stays with the baseline", half,
            Connection("api.example.com", leaf(3), device: chosen(half)), .refuses),
        ClientCase(
            .rollout, .differs, .remoteConfig, as: .simple, "stays with the app's own pins",
            .launch(Rollout(basisPoints: 10_000)),
            Connection("api.example.com", leaf(3), device: alice), .refuses),
        ClientCase(
            .rolloutMethod, .differs, .remoteConfig, "knows no ids", .launch(guests),
            Connection("api.example.com", leaf(3), device: alice), .refuses),
        ClientCase(
            .versionGate, .differs, .remoteConfig, "knows no versions",
            .launch(Rollout(basisPoints: 10_000), [.versionGateSet(VersionGate(minimum: version("2.0")))]),
            Connection(
                "api.example.com", leaf(3), device: Device(ids: [.deviceID: "alice"], appVersion: "2.1"),
                saysVersion: false), .refuses),
        ClientCase(
            .wholePercentages, .differs, .remoteConfig, "reaches nobody", .launch(few),
            Connection("api.example.com", leaf(3), device: chosen(.launch(few))), .refuses),
    ]

}
