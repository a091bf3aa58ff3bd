/// An app's version under the order `appver/v1`.
///
/// One to four groups of one to nine digits, missing groups counting as 0; then optionally `-` and a pre-release with
/// the precedence of Semantic Versioning 2 (section 11); then optionally `+` and a build, which is ignored. Numbers
/// compare by value, whatever their leading zeros. ASCII only; nothing is trimmed. `1.10 > 1.9`, `1.5 = 1.5.0`,
/// `1.5-rc1 < 1.5`, `1.0-01 = 1.0-1`.
public struct AppVersion: Sendable, CustomStringConvertible {
    /// The text as it was given.
    public let text: String
    private let core: [Int64]
    private let preRelease: [Identifier]

    public var description: String { self.text }

    private enum Identifier: Hashable, Sendable {
        /// Digits without leading zeros.
        case number(String)
        case word(String)
    }

    /// Why a text is not a version.
    public struct Malformed: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String
    }

    /// Parses a version of at most 128 bytes; nothing is trimmed.
    ///
    /// - Throws: ``Malformed`` with the rule for versions.
    public init(_ text: String) throws(Malformed) {
        let malformed = Self.malformed
        // Nearly all versions are groups alone, and requests bring them.
        if let core = Self.groups(text) {
            self.text = text
            self.core = core
            self.preRelease = []
            return
        }
        guard text.utf8.count <= 128, text.utf8.allSatisfy({ $0 < 0x80 }) else { throw malformed }
        func isDigits(_ part: Substring) -> Bool {
            !part.isEmpty && part.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        }
        func isIdentifier(_ part: Substring) -> Bool {
            !part.isEmpty
                && part.utf8.allSatisfy {
                    switch $0 {
                    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                        UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"):
                        true
                    default: false
                    }
                }
        }
        let buildSplit = text.split(separator: "+", maxSplits: 1, omittingEmptySubsequences: false)
        if buildSplit.count == 2 {
            guard buildSplit[1].split(separator: ".", omittingEmptySubsequences: false).allSatisfy(isIdentifier) else {
                throw malformed
            }
        }
        let preSplit = buildSplit[0].split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        let groups = preSplit[0].split(separator: ".", omittingEmptySubsequences: false)
        guard (1...4).contains(groups.count), groups.allSatisfy({ isDigits($0) && $0.utf8.count <= 9 }) else {
            throw malformed
        }
        var core = groups.map { Int64($0) ?? 0 }
        while core.count < 4 { core.append(0) }
        var preRelease: [Identifier] = []
        if preSplit.count == 2 {
            for part in preSplit[1].split(separator: ".", omittingEmptySubsequences: false) {
                guard isIdentifier(part) else { throw malformed }
                if isDigits(part) {
                    // Leading zeros are ignored, as in the groups before; Semantic Versioning would refuse them.
                    let digits = part.drop { $0 == "0" }
                    preRelease.append(.number(digits.isEmpty ? "0" : String(digits)))
                } else {
                    preRelease.append(.word(String(part)))
                }
            }
        }
        self.text = text
        self.core = core
        self.preRelease = preRelease
    }

    private static let malformed = Malformed(
        description:
            "must be a version such as 1.5.0: one to four groups of up to nine digits, optionally with -prerelease and +build"
    )

    /// The four groups of a version that has only groups; nil for any other text.
    private static func groups(_ text: String) -> [Int64]? {
        var core: [Int64] = [0, 0, 0, 0]
        var (group, digits) = (0, 0)
        for unit in text.utf8 {
            switch unit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                digits += 1
                guard digits <= 9 else { return nil }
                core[group] = core[group] * 10 + Int64(unit - UInt8(ascii: "0"))
            case UInt8(ascii: "."):
                guard digits > 0, group < 3 else { return nil }
                group += 1
                digits = 0
            default: return nil
            }
        }
        return digits > 0 ? core : nil
    }

    /// Whether the version is a pre-release (`1.5-rc1`).
    public var isPreRelease: Bool { !self.preRelease.isEmpty }

    /// The first three groups.
    public var release: AppRelease { AppRelease(major: self.core[0], minor: self.core[1], patch: self.core[2]) }
}

extension AppVersion: Comparable {
    /// Equal in order, not in text: `1.5 == 1.5.0`.
    public static func == (left: AppVersion, right: AppVersion) -> Bool {
        left.core == right.core && left.preRelease == right.preRelease
    }

    public static func < (left: AppVersion, right: AppVersion) -> Bool {
        if left.core != right.core { return left.core.lexicographicallyPrecedes(right.core) }
        // A pre-release precedes its release.
        guard left.isPreRelease, right.isPreRelease else { return left.isPreRelease && !right.isPreRelease }
        for (one, other) in zip(left.preRelease, right.preRelease) where one != other {
            switch (one, other) {
            case (.number(let one), .number(let other)):
                let (a, b) = (one.utf8.count, other.utf8.count)
                return a == b ? one < other : a < b
            case (.number, .word): return true
            case (.word, .number): return false
            case (.word(let one), .word(let other)):
                return one.utf8.lexicographicallyPrecedes(other.utf8)
            }
        }
        return left.preRelease.count < right.preRelease.count
    }
}

extension AppVersion: Hashable {
    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.core)
        hasher.combine(self.preRelease)
    }
}
