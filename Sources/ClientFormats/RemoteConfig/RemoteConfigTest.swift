package import PinWire
package import Pinning

/// One test of an install. A condition holds where all of its tests do; a test of an unknown attribute does not hold.
///
/// In both spellings of the service: the expression of a client template (Remote Config's conditional expression
/// reference), and the structure that server SDKs evaluate (firebase-admin 7), to which an app passes the install's
/// known attributes as custom signals.
package enum RemoteConfigTest: Hashable, Sendable {
    /// The Firebase app, such as `1:1234567890:ios:0a1b2c3d`. Server templates know none.
    case app(FirebaseAppID)
    /// The app's version, without a pre-release: up to four numbers with dots. Firebase has no order for pre-releases,
    /// and matches no install of one on either side.
    case version(Order, String)
    /// The app's build number is this one or a higher one.
    case minimumBuild(Int64)
    /// Upper-case ISO 3166-1 codes; any of them.
    case country([String])
    /// The install's draw under a seed lies within a share, in basis points, 1 to 9999.
    case share(Int, seed: String)
    /// The time is before this. Server templates know no time: the test is left out there, so that they hold for now.
    case before(Timestamp)
    /// The time is this or later, which it is not yet. Server templates leave out conditions with this test.
    case since(Timestamp)

    package enum Order: String, CaseIterable, Sendable, Hashable {
        case atLeast = ">="
        case above = ">"
        case atMost = "<="
        case below = "<"

        fileprivate var signal: String {
            switch self {
            case .atLeast: "SEMANTIC_VERSION_GREATER_EQUAL"
            case .above: "SEMANTIC_VERSION_GREATER_THAN"
            case .atMost: "SEMANTIC_VERSION_LESS_EQUAL"
            case .below: "SEMANTIC_VERSION_LESS_THAN"
            }
        }
    }

    /// The custom signals of server templates.
    package static let versionSignal = "app_version"
    package static let buildSignal = "app_build"
    package static let countrySignal = "country"

    /// The text in an expression. It uses only operators of the service's reference; nothing in it needs escaping,
    /// because every text was checked or comes from a closed set of characters.
    package var expression: String {
        switch self {
        case .app(let id): "app.id == '\(id)'"
        case .version(let order, let text): "app.version.\(order.rawValue)(['\(text)'])"
        case .minimumBuild(let build): "app.build.>=(['\(build)'])"
        case .country(let codes): "device.country in [\(codes.map { "'\($0)'" }.joined(separator: ", "))]"
        case .share(let points, let seed): "percent('\(seed)') <= \(RemoteConfigShare.text(basisPoints: points))"
        case .before(let time): "dateTime < dateTime('\(Self.dateTime(time))')"
        case .since(let time): "dateTime >= dateTime('\(Self.dateTime(time))')"
        }
    }

    /// Without a zone, which the service reads as GMT; whole seconds, rounded down.
    private static func dateTime(_ time: Timestamp) -> String {
        String(Timestamp(seconds: time.seconds).rfc3339.dropLast())
    }

    /// Whether it holds for no device yet.
    var isAhead: Bool { if case .since = self { true } else { false } }

    /// The form of server SDKs; nil for tests that they do not have.
    package var structure: OrderedJSON? {
        switch self {
        case .app: nil
        case .version(let order, let text): Self.signal(order.signal, Self.versionSignal, [text])
        case .minimumBuild(let build): Self.signal("NUMERIC_GREATER_EQUAL", Self.buildSignal, ["\(build)"])
        case .country(let codes): Self.signal("STRING_EXACTLY_MATCHES", Self.countrySignal, codes)
        case .share(let points, let seed):
            [
                "percent": [
                    "percentOperator": "LESS_OR_EQUAL",
                    "microPercent": .integer(Int64(points) * FirebasePercent.basisPoint),
                    "seed": .string(seed),
                ]
            ]
        case .before, .since: nil
        }
    }

    private static func signal(_ operation: String, _ key: String, _ targets: [String]) -> OrderedJSON {
        [
            "customSignal": [
                "customSignalOperator": .string(operation), "customSignalKey": .string(key),
                "targetCustomSignalValues": .array(targets.map { .string($0) }),
            ]
        ]
    }

    /// A gate as alternatives, each of tests that hold together: the ranges between the versions it excludes, because
    /// no operator means "other than" for a version by its value.
    static func alternatives(of gate: VersionGate) -> [[RemoteConfigTest]] {
        // Among releases, "from 1.5-rc1" is "from 1.5", and "up to 1.5-rc1" is "below 1.5".
        var low = gate.minimum.map { RemoteConfigTest.version(.atLeast, Self.release($0)) }
        let high = gate.maximum.map { RemoteConfigTest.version($0.isPreRelease ? .below : .atMost, Self.release($0)) }
        var stretches: [[RemoteConfigTest?]] = []
        var last: AppVersion?
        for version in gate.excluded.sorted() where !version.isPreRelease && version != last {
            if let minimum = gate.minimum, version < minimum { continue }
            if let maximum = gate.maximum, maximum < version { continue }
            if version != gate.minimum { stretches.append([low, .version(.below, Self.release(version))]) }
            low = .version(.above, Self.release(version))
            last = version
        }
        if last == nil || last != gate.maximum { stretches.append([low, high]) }
        let build = gate.minimumBuild.map { RemoteConfigTest.minimumBuild($0) }
        return stretches.map { ($0 + [build]).compactMap { $0 } }
    }

    /// The numbers of a version.
    private static func release(_ version: AppVersion) -> String {
        String(version.text.prefix { $0 != "-" && $0 != "+" })
    }
}
