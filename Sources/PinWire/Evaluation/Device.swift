/// The known attributes of one device, from which it is decided which pins hold for it.
///
/// Every attribute may be unknown; an unknown one never leads to less pinning, only to the baseline. Ids stay in this
/// value: no decision, trace or error carries one.
public struct Device: Hashable, Sendable {
    /// The device's ids as it gave them.
    public let ids: [Rollout.Seed: String]
    /// The app's version as the app states it; it may be malformed.
    public let appVersion: String?
    /// The app's build number (Android's versionCode, Apple's CFBundleVersion as an integer).
    public let build: Int64?
    /// The device's country: an ISO 3166-1 alpha-2 code, upper case; nil where it is unknown.
    public let country: String?

    /// ``appVersion`` where it is well-formed.
    let version: AppVersion?
    /// The device's usable ids, in the order of ``Rollout/Seed/allCases``.
    private let usable: [UsableID?]

    /// - Parameters:
    ///   - ids: the ids that the device knows of itself. Blank ones, ones with a NUL, and values that many devices
    ///     share because they stand for "none" (see ``isSentinel(_:)``) count as missing.
    ///   - appVersion: the app's version, as it stands in the app.
    ///   - build: the app's build number.
    ///   - country: two ASCII letters in any case. Anything else, and `XX` and `ZZ`, which stand for no country,
    ///     counts as unknown.
    public init(
        ids: [Rollout.Seed: String] = [:], appVersion: String? = nil, build: Int64? = nil, country: String? = nil
    ) {
        self.ids = ids
        self.appVersion = appVersion
        self.build = build
        self.country = country.flatMap(Self.code)
        self.version = appVersion.flatMap { try? AppVersion($0) }
        self.usable = Rollout.Seed.allCases.map { seed in ids[seed].flatMap { UsableID($0) } }
    }

    /// Whether a value stands for "no id" and is therefore shared by many devices: `unknown`, `anonymous` and the UUID
    /// of zeros, in any case of ASCII.
    public static func isSentinel(_ id: String) -> Bool {
        Self.sentinels.contains { sentinel in
            sentinel.utf8.count == id.utf8.count
                && zip(sentinel.utf8, id.utf8).allSatisfy { $0 == ((65...90).contains($1) ? $1 | 0x20 : $1) }
        }
    }

    private static let sentinels = ["unknown", "anonymous", "00000000-0000-0000-0000-000000000000"]

    /// The id of a kind; nil where it is missing, or one that many devices share.
    func id(_ seed: Rollout.Seed) -> UsableID? { self.usable[seed.place] }

    private static func code(_ text: String) -> String? {
        guard text.utf8.count == 2, text.utf8.allSatisfy({ (65...90).contains($0 & 0xDF) && $0 < 0x80 }) else {
            return nil
        }
        let code = text.uppercased()
        return code == "XX" || code == "ZZ" ? nil : code
    }
}

/// A usable id of a device.
struct UsableID: Hashable, Sendable {
    /// The id's UTF-8 as it was given.
    let bytes: [UInt8]
    /// The same in lower case where it has the shape of a UUID, which systems write in either case.
    let folded: [UInt8]

    /// Nil for a blank id, one with a NUL, and one that stands for "none".
    init?(_ id: String) {
        guard !id.unicodeScalars.allSatisfy(\.properties.isWhitespace), !id.utf8.contains(0), !Device.isSentinel(id)
        else { return nil }
        self.bytes = Array(id.utf8)
        self.folded = UUIDShape.folded(self.bytes)
    }
}

/// The shape of a UUID (RFC 9562 section 4): 8-4-4-4-12 hexadecimal digits of any case.
enum UUIDShape {
    /// The bytes in lower case where they have the shape, else as they are.
    static func folded(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.count == 36 else { return bytes }
        for (place, byte) in bytes.enumerated() {
            switch byte {
            case UInt8(ascii: "-"): guard [8, 13, 18, 23].contains(place) else { return bytes }
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                UInt8(ascii: "A")...UInt8(ascii: "F"):
                guard ![8, 13, 18, 23].contains(place) else { return bytes }
            default: return bytes
            }
        }
        return bytes.map { $0 | 0x20 }
    }
}

extension Rollout.Seed {
    /// The kind's index among all.
    var place: Int {
        switch self {
        case .deviceID: 0
        case .userID: 1
        case .installID: 2
        }
    }
}
