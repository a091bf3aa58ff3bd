/// A client's statement about itself in the request field `Pinledger-Client`: a dictionary (RFC 8941) of which every
/// member is optional.
///
/// `version=12, platform=ios, app_version="2.4.1", install="3q2-7wAAAAAAAAAAAAAAAA"`: the version of the document it
/// holds (0 for none), its platform, the app's own version, and a random id that it made when it was installed. The id
/// only serves to count installs; it is not stored.
public struct ClientReport: Hashable, Sendable {
    /// The version of the document that the client holds; 0 for none.
    public var version: Int64?
    public var platform: ClientPlatform?
    public var release: AppRelease?
    public var install: InstallID?

    public static let fieldName = "Pinledger-Client"

    public init(
        version: Int64? = nil, platform: ClientPlatform? = nil, release: AppRelease? = nil, install: InstallID? = nil
    ) {
        self.version = version
        self.platform = platform
        self.release = release
        self.install = install
    }

    /// The highest possible version: the largest integer of RFC 8941.
    public static let largestVersion: Int64 = 999_999_999_999_999

    /// Reads the field's value, several joined by commas; nil where it is not a dictionary. A member that is unknown or
    /// of the wrong type counts as missing.
    public init?(field: String) {
        guard let members = StructuredDictionary(field) else { return nil }
        if case .integer(let version)? = members["version"], version >= 0 { self.version = version }
        if case .token(let name)? = members["platform"] { self.platform = ClientPlatform(named: name) }
        if case .string(let text)? = members["app_version"] { self.release = (try? AppVersion(text))?.release }
        if case .string(let text)? = members["install"] { self.install = InstallID(text) }
    }

    /// The field's value; empty where nothing is stated.
    public var field: String {
        var members: [String] = []
        if let version = self.version { members.append("version=\(version)") }
        if let platform = self.platform { members.append("platform=\(platform.rawValue)") }
        if let release = self.release { members.append("app_version=\"\(release)\"") }
        if let install = self.install { members.append("install=\"\(install.text)\"") }
        return members.joined(separator: ", ")
    }
}

/// A client's platform.
public enum ClientPlatform: String, Sendable, CaseIterable {
    case ios, android, web, server
    case other

    /// The platform of a name, whatever its case; ``other`` for an unknown one.
    public init(named name: String) { self = Self(rawValue: name.lowercased()) ?? .other }
}

/// The part of an app's version by which it is counted: its first three groups.
public struct AppRelease: Hashable, Sendable, Comparable, CustomStringConvertible {
    public let major: Int64
    public let minor: Int64
    public let patch: Int64

    public init(major: Int64, minor: Int64, patch: Int64) {
        self.major = major
        self.minor = minor
        self.patch = patch
    }

    public var description: String { "\(self.major).\(self.minor).\(self.patch)" }

    public static func < (left: AppRelease, right: AppRelease) -> Bool {
        (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch)
    }
}

/// A random id that an installed app made for itself: 16 bytes. It is never stored or logged, which is why it does not
/// describe itself.
public struct InstallID: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    public let bytes: [UInt8]

    /// The number of bytes of an id.
    public static let size = 16

    /// Nil unless there are 16 bytes.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.size else { return nil }
        self.bytes = bytes
    }

    /// Reads 16 bytes in base64url or base64, with or without padding; nil for anything else. All spellings of the same
    /// bytes are the same id.
    public init?(_ text: String) {
        var digits = Array(text.utf8)
        if digits.count == 24, digits.suffix(2).allSatisfy({ $0 == UInt8(ascii: "=") }) { digits.removeLast(2) }
        guard digits.count == 22 else { return nil }
        for place in digits.indices {
            switch digits[place] {
            case UInt8(ascii: "+"): digits[place] = UInt8(ascii: "-")
            case UInt8(ascii: "/"): digits[place] = UInt8(ascii: "_")
            default: break
            }
        }
        guard let bytes = Base64URL.decode(String(decoding: digits, as: UTF8.self)) else { return nil }
        self.init(bytes: bytes)
    }

    /// The text in the field: base64url.
    public var text: String { Base64URL.encode(self.bytes) }

    public var description: String { "an install id" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
