import PinWire
import Pinning

extension ClientCase {
    /// Wildcards, subdomains, and patterns above patterns.
    static let names = unmatched + listed + unbelow + forms + overlaps + suffixes

    private static let unmatched: [ClientCase] = [
        ClientKind.trustkitIOS, .trustkitAndroid, .androidNSC, .appleATS, .reactNative, .curl, .remoteConfig,
    ].map {
        ClientCase(
            .wildcard, .breaks, $0, "goes without pins", .wildcard, Connection("a.cdn.example.com", stranger), .connects
        )
    }

    private static let listed: [ClientCase] = [ClientKind.netkit, .dynapins].map {
        ClientCase(
            .wildcard, .differs, $0, "knows only names that are listed", .wildcard,
            Connection("a.cdn.example.com", stranger), .connects)
    }

    private static let forms: [ClientCase] = [
        ClientCase(
            .wildcard, .differs, .dynapins, as: .ed25519, "pins any depth", .wildcard,
            Connection("a.b.cdn.example.com", stranger), .refuses),
        ClientCase(
            .wildcard, .differs, .wultra, "knows certificates, not keys", .wildcard,
            Connection("a.cdn.example.com", leaf(1, "a.cdn.example.com")), .refuses),
        ClientCase(
            .subdomains, .differs, .okhttp, "cannot leave the name out", .deepWildcard,
            Connection("a.b.cdn.example.com", stranger), .connects),
        ClientCase(
            .subdomains, .differs, .wultra, "knows certificates, not keys", .subtree,
            Connection("a.example.com", leaf(1, "a.example.com")), .refuses),
        ClientCase(
            .subdomains, .differs, .sslPinning, "goes without pins on Android", .subtree,
            Connection("a.example.com", stranger, on: .android), .connects),
        ClientCase(
            .subdomains, .differs, .dynapins, as: .ed25519, "goes without pins", .subtree,
            Connection("a.example.com", stranger), .connects),
        ClientCase(
            .subdomainsOneLabel, .differs, .appleATS, "goes without pins further below", .subtree,
            Connection("a.b.example.com", stranger), .connects),
    ]

    private static let overlaps: [ClientCase] = [
        ClientCase(
            .patternsAddUp, .differs, .okhttp, "takes the parent's keys", .subtreeAndHost,
            Connection("api.example.com", leaf(3)), .connects),
        ClientCase(
            .patternsAddUp, .differs, .okhttp3, "takes the wildcard's keys", .wildcardAndHost,
            Connection("api.example.com", leaf(3)), .connects),
        ClientCase(
            .patternsAddUp, .differs, .sslPinning, "takes the wildcard's keys", .wildcardAndHost,
            Connection("api.example.com", leaf(3), on: .android), .connects),
        ClientCase(
            .patternsAddUp, .differs, .reactNative, "takes the parent's keys", .subtreeAndHost,
            Connection("api.example.com", leaf(3), on: .android), .connects),
        ClientCase(
            .cannotExcept, .differs, .okhttp, "pins the exception too", .holedSubtree,
            Connection("www.example.com", stranger), .refuses),
        ClientCase(
            .cannotExcept, .differs, .okhttp3, "pins the exception too", .holedWildcard,
            Connection("www.example.com", stranger), .refuses),
        ClientCase(
            .cannotExcept, .differs, .reactNative, "pins the exception too", .holedSubtree,
            Connection("www.example.com", stranger, on: .android), .refuses),
        ClientCase(
            .cannotExcept, .differs, .appleATS, "pins the exception too", .holedSubtree,
            Connection("www.example.com", stranger), .refuses),
        ClientCase(
            .cannotExcept, .differs, .trustkitIOS, "pins names below the exception", .holedDeeply,
            Connection("a.www.example.com", stranger), .refuses),
    ]

    private static let suffixes: [ClientCase] = [
        ClientCase(
            .publicSuffix, .breaks, .trustkitIOS, "crashes", .clean, Connection("api.example.com", leaf(1)), .crashes,
            suffixes: ["com", "api.example.com"]),
        ClientCase(
            .publicSuffix, .breaks, .trustkitIOS, "crashes below no suffix", .clean,
            Connection("api.example.com", leaf(1)), .crashes, suffixes: ["org"]),
        ClientCase(
            .publicSuffix, .breaks, .dynapins, "crashes", .clean, Connection("api.example.com", leaf(1)), .crashes,
            suffixes: ["com", "api.example.com"]),
        ClientCase(
            .publicSuffix, .breaks, .reactNative, "goes without pins", .clean, toStranger, .connects,
            suffixes: ["com", "api.example.com"]),
    ]

    private static let unbelow: [ClientCase] = [ClientKind.okhttp3, .dynapins, .remoteConfig, .netkit, .curl].map {
        ClientCase(
            .subdomains, .differs, $0, "goes without pins", .subtree, Connection("a.example.com", stranger), .connects)
    }

}
