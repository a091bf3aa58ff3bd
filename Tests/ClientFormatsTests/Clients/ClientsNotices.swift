import PinWire
import Pinning
import Testing

/// A limit that costs nothing at once, an app that has it, and one that has not.
struct NoticeCase: CustomTestStringConvertible, Sendable {
    var limit: ClientLimit
    var kind: ClientKind
    var settings = ClientSettings.plain
    var app: ClientApp
    /// Nil where every app has it that pins anything.
    var quiet: ClientApp?
    var quietSettings: ClientSettings?

    var testDescription: String { "\(self.limit.rawValue): \(self.kind.rawValue)" }
}

private let two = Keyed(leaf(2), .backup)

/// Every limit that may be a notice alone.
let noticeCases: [NoticeCase] = [
    NoticeCase(limit: .backupRecommended, kind: .androidNSC, app: .onePin, quiet: .clean),
    NoticeCase(limit: .backupRecommended, kind: .appleATS, app: .onePin, quiet: .clean),
    NoticeCase(
        limit: .backupsIgnored, kind: .dynapins, settings: .ed25519, app: .clean, quiet: .clean, quietSettings: .plain
    ),
    NoticeCase(limit: .primaryAndBackup, kind: .remoteConfig, app: .onePin, quiet: .clean),
    NoticeCase(limit: .hashNeverMatches, kind: .remoteConfig, app: .clean, quiet: .clean, quietSettings: .simple),
    NoticeCase(limit: .hashNeverMatches, kind: .remoteConfig, app: .clean, quiet: .clean, quietSettings: .rawKey),
    NoticeCase(limit: .hashNeverMatches, kind: .netkit, app: .clean),
    NoticeCase(limit: .hashNeverMatches, kind: .muejam, app: .clean),
    NoticeCase(limit: .wholeCertificate, kind: .wultra, app: .clean, quiet: .builtin),
    NoticeCase(limit: .wholeCertificate, kind: .wultra, app: .off, quiet: .off, quietSettings: .domains),
    NoticeCase(limit: .wholeCertificate, kind: .muejam, app: .off, quiet: .builtin),
    NoticeCase(limit: .wholeCertificate, kind: .flutter, app: .clean, quiet: .off),
    NoticeCase(
        limit: .commonNameDiffers, kind: .wultra,
        app: ClientApp(hosting(Keyed(leaf(1, named: "API.example.com")), two)), quiet: .clean),
    NoticeCase(limit: .firstHostOnly, kind: .dynapins, app: .twoHosts, quiet: .clean),
    NoticeCase(
        limit: .oneHostOnly, kind: .dynapins, settings: .ed25519, app: .clean, quiet: .clean, quietSettings: .plain),
    NoticeCase(
        limit: .replayable, kind: .dynapins, settings: ClientSettings(dynapins: .ed25519, servesFingerprint: true),
        app: .clean, quiet: .clean, quietSettings: .ed25519),
    NoticeCase(limit: .pinsFrozen, kind: .dynapins, app: .clean, quiet: .clean, quietSettings: .ed25519),
    NoticeCase(limit: .oneDomainEach, kind: .trustkitAndroid, app: .twoHosts, quiet: .clean),
    NoticeCase(limit: .enforceDefault, kind: .trustkitAndroid, app: .clean, quiet: .reporting),
    NoticeCase(limit: .subdomains, kind: .reactNative, app: .subtree, quiet: .clean),
    NoticeCase(limit: .reportOnly, kind: .trustkitAndroid, app: .reporting, quiet: .clean),
    NoticeCase(limit: .reportOnly, kind: .netkit, app: .reporting, quiet: .clean),
    NoticeCase(limit: .reportOnly, kind: .wultra, settings: .domains, app: .reporting, quiet: .clean),
    NoticeCase(limit: .versionKillSwitch, kind: .wultra, settings: .domains, app: .versionKilled, quiet: .killed),
    NoticeCase(
        limit: .sharedBucket, kind: .remoteConfig,
        app: .launch(Rollout(basisPoints: 5000), [.appRolloutSet(Rollout(basisPoints: 5000))]),
        quiet: .launch(Rollout(basisPoints: 5000))),
    NoticeCase(
        limit: .otherBuckets, kind: .remoteConfig, app: .launch(Rollout(basisPoints: 1000)),
        quiet: .launch(Rollout(basisPoints: 10_000))),
    NoticeCase(limit: .unprotectedAfterExpiry, kind: .trustkitIOS, app: .ending, quiet: .clean),
    NoticeCase(limit: .unprotectedAfterExpiry, kind: .trustkitAndroid, app: .ending, quiet: .clean),
    NoticeCase(limit: .unprotectedAfterExpiry, kind: .androidNSC, app: .ending, quiet: .clean),
    NoticeCase(limit: .unprotectedAfterExpiry, kind: .reactNative, app: .ending, quiet: .clean),
    NoticeCase(
        limit: .removalDelayed, kind: .wultra, app: .clean, quiet: .clean,
        quietSettings: ClientSettings(entryDays: 7)),
    NoticeCase(limit: .emptyList, kind: .wultra, app: ClientApp([]), quiet: .clean),
    NoticeCase(limit: .emptyList, kind: .wultra, settings: .domains, app: ClientApp(hosting(mode: .off)), quiet: .off),
    NoticeCase(limit: .weeklyUpdate, kind: .wultra, settings: .domains, app: .killed, quiet: .clean),
    NoticeCase(limit: .sessionCache, kind: .reactNative, app: .clean, quiet: .off),
    NoticeCase(limit: .unsigned, kind: .remoteConfig, app: .clean),
    NoticeCase(limit: .unsigned, kind: .muejam, app: .clean),
    NoticeCase(limit: .unsigned, kind: .netkit, app: .clean),
    NoticeCase(limit: .signingKeyFixed, kind: .dynapins, app: .clean),
    NoticeCase(limit: .signingKeyFixed, kind: .wultra, app: .clean),
    NoticeCase(limit: .signingKeyFixed, kind: .sslPinning, app: .clean),
    NoticeCase(limit: .checkedBeforehand, kind: .flutter, app: .clean, quiet: .off),
    NoticeCase(limit: .olderSystems, kind: .appleATS, app: .clean, quiet: .off),
]
