import PinWire
import Pinning

/// A rollout to nobody but those on its list.
private let guests = Rollout(basisPoints: 0, salt: "spring", whitelist: [Rollout.hashedID("alice", salt: "spring")])
/// A rollout to half a per cent.
private let few = Rollout(basisPoints: 50, salt: "spring")
/// One of the few.
private let chosen: Device = {
    let app = ClientApp.launch(few)
    for number in 0..<10_000 {
        let device = Device(ids: [.deviceID: "device \(number)"])
        let deed = try? app.stated(Connection("api.example.com", leaf(3), device: device))
        if deed == .connects { return device }
    }
    return Device()
}()

extension ClientCase {
    /// What is switched off, changes or ends.
    static let changes = switches + versions + reports + expiries + rollouts + remoteRollouts

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

    private static let versions: [ClientCase] = (deaf + [(kind: .netkit, settings: .plain)]).map { kind, settings in
        ClientCase(
            .versionKillSwitch, .differs, kind, as: settings, "goes on", .versionKilled,
            Connection("api.example.com", stranger, device: Device(appVersion: "3.1")), .refuses)
    }

    /// What each makes of a host that only reports.
    private static let reporters: [(kind: ClientKind, settings: ClientSettings, deed: Deed)] = [
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

    private static let rollouts: [ClientCase] = clientForms.filter { $0.settings != .simple }.map { kind, settings in
        ClientCase(
            .rollout, .differs, kind, as: settings, "stays with the baseline", .trial,
            Connection("api.example.com", leaf(3), device: alice), .refuses)
    }

    private static let remoteRollouts: [ClientCase] = [
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
            Connection("api.example.com", leaf(3), device: chosen), .refuses),
    ]

}
