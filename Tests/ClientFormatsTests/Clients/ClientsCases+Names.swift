import PinWire
import Pinning

extension ClientCase {
    /// Wildcards, subdomains, and patterns above patterns.
    static let names = unmatched + listed + unbelow + forms + whole + overlaps + suffixes

    private static let unmatched: [ClientCase] = [
        ClientKind.trustkitIOS, .trustkitAndroid, .androidNSC, .appleATS, .reactNative, .curl, .remoteConfig, .flutter,
    ].map {
        ClientCase(
            .wildcard, .differs, $0, "goes without pins", .wildcard, Connection("a.cdn.example.com", stranger),
            .connects
        )
    }

    private static let listed: [ClientCase] = [ClientKind.netkit].map {
        ClientCase(
            .wildcard, .differs, $0, "knows only names that are listed", .wildcard,
            Connection("a.cdn.example.com", stranger), .connects)
    }

    private static let forms: [ClientCase] = [
        ClientCase(
            .wildcard, .breaks, .dynapins, as: .ed25519, "pins any depth", .wildcard,
            Connection("a.b.cdn.example.com", stranger), .refuses),
        ClientCase(
            .wildcard, .breaks, .dynapins, "refuses names below", .wildcard,
            Connection("a.cdn.example.com", leaf(1, "a.cdn.example.com")), .refuses),
        ClientCase(
            .wildcard, .breaks, .dynapins, "refuses every name that ends alike", .wildcard,
            Connection("othercdn.example.com", leaf(1, "othercdn.example.com")), .refuses),
        ClientCase(
            .subdomains, .differs, .okhttp, "cannot leave the name out", .deepWildcard,
            Connection("a.b.cdn.example.com", stranger), .connects),
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

    /// What those make of names that compare whole certificates.
    private static let whole: [ClientCase] = [ClientKind.wultra, .muejam].flatMap { kind -> [ClientCase] in
        let wide = [1, 2].map { Keyed(leaf($0, "example.com", "*.example.com"), $0 == 1 ? .primary : .backup) }
        return [
            ClientCase(
                .wildcard, .differs, kind, "knows certificates, not keys", .wildcard,
                Connection("a.cdn.example.com", leaf(1, "a.cdn.example.com")), .refuses),
            ClientCase(
                .wildcard, .breaks, kind, "knows one name's certificate", .single,
                Connection("b.cdn.example.com", leaf(1, "b.cdn.example.com")), .refuses),
            ClientCase(
                .subdomains, .breaks, kind, "knows certificates, not keys", .subtree,
                Connection("a.example.com", leaf(1, "a.example.com")), .refuses),
            ClientCase(
                .subdomains, .differs, kind, "knows one certificate",
                ClientApp(hosting(on: apex, subdomains: true, wide[0], wide[1])),
                Connection("a.b.example.com", leaf(1, "a.b.example.com")), .refuses),
        ]
    }

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
            .cannotExcept, .differs, .okhttp, "leaves other names out too", .holedSubtree,
            Connection("a.example.com", stranger), .connects),
        ClientCase(
            .cannotExcept, .differs, .okhttp3, "leaves other names out too", .holedWildcard,
            Connection("a.example.com", stranger), .connects),
        ClientCase(
            .cannotExcept, .differs, .reactNative, "leaves other names out too", .holedSubtree,
            Connection("a.example.com", stranger, on: .android), .connects),
        ClientCase(
            .cannotExcept, .differs, .appleATS, "leaves other names out too", .holedSubtree,
            Connection("a.example.com", stranger), .connects),
        ClientCase(
            .cannotExcept, .differs, .trustkitIOS, "leaves other names out too", .holedDeeply,
            Connection("a.example.com", stranger), .connects),
    ]

    private static let suffixes: [ClientCase] = [
        ClientCase(
            .publicSuffix, .breaks, .trustkitIOS, "crashes", .clean, Connection("api.example.com", leaf(1)), .crashes,
            suffixes: ["com", "api.example.com"]),
        ClientCase(
            .publicSuffix, .breaks, .trustkitIOS, "crashes below no suffix", .clean,
            Connection("api.example.com", leaf(1)), .crashes, suffixes: ["org"]),
        ClientCase(
            .publicSuffix, .breaks, .trustkitAndroid, "crashes below no suffix", .clean,
            Connection("api.example.com", leaf(1)), .crashes, suffixes: ["org"]),
        ClientCase(
            .publicSuffix, .breaks, .dynapins, "crashes", .clean, Connection("api.example.com", leaf(1)), .crashes,
            suffixes: ["com", "api.example.com"]),
        ClientCase(
            .publicSuffix, .differs, .reactNative, "goes without pins", .clean, toStranger, .connects,
            suffixes: ["com", "api.example.com"]),
    ]

    private static let unbelow: [ClientCase] =
        unbelowName + [
            ClientCase(
                .subdomains, .differs, .okhttp3, "goes without pins further below", .subtree,
                Connection("b.a.example.com", stranger), .connects)
        ]

    private static let unbelowName: [ClientCase] = [ClientKind.dynapins, .remoteConfig, .netkit, .curl, .flutter]
        .map {
            ClientCase(
                .subdomains, .differs, $0, "goes without pins", .subtree, Connection("a.example.com", stranger),
                .connects)
        }

}
