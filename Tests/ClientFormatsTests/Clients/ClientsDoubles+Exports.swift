import ClientFormats
import Foundation
import PinWire
import Pinning

// Kinds that have their pins built in: each reads the file that is exported for it.

extension ClientDouble {
    func deed(ofReleased app: ClientApp, _ connection: Connection) throws -> Taken {
        let view = try app.asReleased.view()
        guard let format = ExportFormat(rawValue: self.kind.rawValue) else { throw Unreadable() }
        let file: [UInt8]
        do { file = try Export.render(format, of: view).bytes } catch ExportRefusal.nothingToPin {
            return .connects
        } catch ExportRefusal.singlePin {
            // There is no such file, for this reason.
            return self.kind == .reactNative ? .connects : .crashes
        }
        switch self.kind {
        case .trustkitIOS:
            let domains = try PinnedDomains(trustKit: file)
            return domains.isTakenByTrustKit(self.suffixes) ? domains.deed(connection) : .crashes
        case .trustkitAndroid:
            let domains = try PinnedDomains(networkSecurity: file)
            return domains.isTakenByTrustKitAndroid(self.suffixes) ? domains.deed(connection) : .crashes
        case .androidNSC: return try PinnedDomains(networkSecurity: file).deed(connection)
        case .appleATS: return try Self.transportSecurity(file, connection)
        case .okhttp: return try OkHttp(kotlin: file, isFour: true).deed(connection)
        case .okhttp3: return try OkHttp(kotlin: file, isFour: false).deed(connection)
        case .reactNative: return try self.reactNative(file, connection)
        case .flutter: return try Self.flutter(file, connection)
        case .curl: return try Self.curl(file, connection)
        default: throw Unreadable()
        }
    }

    /// On iOS TrustKit, whose objection leaves the app without pins; on Android OkHttp.
    private func reactNative(_ file: [UInt8], _ connection: Connection) throws -> Taken {
        let domains = try PinnedDomains(reactNative: file)
        switch connection.platform {
        case .ios: return domains.isTakenByTrustKit(self.suffixes) ? domains.deed(connection) : .connects
        case .android:
            let patterns = domains.domains.flatMap { name, domain -> [(pattern: String, hash: String)] in
                guard connection.time < domain.end ?? .distantFuture else { return [] }
                return domain.hashes.map { (domain.includesSubdomains ? "**.\(name)" : name, $0) }
            }
            return OkHttp(patterns, isFour: true).deed(connection)
        }
    }

    /// `NSPinnedDomains`: one more label at most. Where a host has both kinds of identities, both have to match.
    private static func transportSecurity(_ file: [UInt8], _ connection: Connection) throws -> Taken {
        let list = try PinnedDomains.list(file)["NSAppTransportSecurity"] as? [String: Any]
        guard let domains = list?["NSPinnedDomains"] as? [String: [String: Any]] else { throw Unreadable() }
        let rest = connection.name.split(separator: ".", maxSplits: 1).last.map(String.init) ?? ""
        let above = domains[rest].flatMap { $0["NSIncludesSubdomains"] as? Bool == true ? $0 : nil }
        guard let entry = domains[connection.name] ?? above else { return .connects }
        func matches(_ name: String, _ pins: some Sequence<Pin>) -> Bool {
            guard let identities = entry[name] as? [[String: String]] else { return true }
            let hashes = Set(identities.compactMap { $0["SPKI-SHA256-BASE64"] })
            return pins.contains { hashes.contains($0.base64) }
        }
        let isMatch =
            matches("NSPinnedLeafIdentities", connection.chain.prefix(1).map(\.key.pin))
            && matches("NSPinnedCAIdentities", connection.chain.dropFirst().map(\.key.pin))
        return isMatch ? .connects : .refuses
    }

    /// The app asks with the fingerprints that are listed for the name, if any are.
    private static func flutter(_ file: [UInt8], _ connection: Connection) throws -> Taken {
        guard let known = try Self.json(file)[connection.name]?.arrayValue else { return .connects }
        let leaf = connection.chain.first.map { Hex.encode($0.sha256) }
        return known.contains { $0.stringValue == leaf } ? .connects : .refuses
    }

    /// One command for one name; the leaf alone.
    private static func curl(_ file: [UInt8], _ connection: Connection) throws -> Taken {
        let lines = String(decoding: file, as: UTF8.self).split(separator: "\n")
        guard let line = lines.first(where: { $0.hasSuffix("'https://\(connection.name)/'") }) else { return .connects }
        return connection.leafPin.map { line.contains("sha256//\($0.base64)") } == true ? .connects : .refuses
    }
}

extension Timestamp {
    /// Later than anything in these tests.
    static let distantFuture = monday.adding(seconds: 100_000 * day)
}

/// Domains of which the nearest counts, each for one name or for that and all names below it: TrustKit's, and Android's
/// network security configuration.
struct PinnedDomains {
    struct Domain {
        /// In base64; none for a domain that is excepted from a wider one.
        var hashes: Set<String> = []
        var includesSubdomains = false
        var isEnforcing = true
        /// From when on its pins do not count.
        var end: Timestamp?
    }

    let domains: [String: Domain]

    init(_ domains: [String: Domain]) { self.domains = domains }

    /// Reads a property list.
    static func list(_ file: [UInt8]) throws -> [String: Any] {
        let list = try PropertyListSerialization.propertyList(from: Data(file), options: [], format: nil)
        guard let list = list as? [String: Any] else { throw ClientDouble.Unreadable() }
        return list
    }

    private static func midnight(_ date: String?) throws -> Timestamp? {
        guard let date else { return nil }
        guard let time = Timestamp(rfc3339: "\(date)T00:00:00Z") else { throw ClientDouble.Unreadable() }
        return time
    }

    /// Reads a `TSKConfiguration`.
    init(trustKit file: [UInt8]) throws {
        let settings = try Self.list(file)["TSKConfiguration"] as? [String: Any]
        guard let domains = settings?["TSKPinnedDomains"] as? [String: [String: Any]] else {
            throw ClientDouble.Unreadable()
        }
        self.domains = try domains.mapValues { entry in
            if entry["kSKExcludeSubdomainFromParentPolicy"] as? Bool == true { return Domain(isEnforcing: false) }
            return Domain(
                hashes: Set(entry["TSKPublicKeyHashes"] as? [String] ?? []),
                includesSubdomains: entry["TSKIncludeSubdomains"] as? Bool ?? false,
                isEnforcing: entry["TSKEnforcePinning"] as? Bool ?? true,
                end: try Self.midnight(entry["TSKExpirationDate"] as? String))
        }
    }

    /// Reads a network security configuration, of each block the last domain alone. What TrustKit for Android does not
    /// find written it takes for "report only".
    init(networkSecurity file: [UInt8]) throws {
        let text = String(decoding: file, as: UTF8.self)
        let isTrustKit = text.contains("<trustkit-config")
        var domains: [String: Domain] = [:]
        for block in text.components(separatedBy: "<domain-config>").dropFirst() {
            guard let name = block.matches(of: /<domain includeSubdomains="(true|false)">([^<]+)<\/domain>/).last else {
                throw ClientDouble.Unreadable()
            }
            let date = block.firstMatch(of: /<pin-set expiration="([0-9-]+)">/).map { String($0.1) }
            domains[String(name.2)] = Domain(
                hashes: Set(block.matches(of: /<pin digest="SHA-256">([^<]+)<\/pin>/).map { String($0.1) }),
                includesSubdomains: name.1 == "true",
                isEnforcing: !isTrustKit || block.contains("enforcePinning=\"true\""),
                end: try Self.midnight(date))
        }
        self.domains = domains
    }

    /// Reads the argument of `initializeSslPinning`.
    init(reactNative file: [UInt8]) throws {
        self.domains = try (ClientDouble.json(file).objectValue ?? [:]).mapValues { entry in
            Domain(
                hashes: Set((entry["publicKeyHashes"]?.arrayValue ?? []).compactMap(\.stringValue)),
                includesSubdomains: entry["includeSubdomains"] == .bool(true),
                end: try Self.midnight(entry["expirationDate"]?.stringValue))
        }
    }

    /// Whether TrustKit for iOS starts with them: `GetRegistryLength` of its domain registry is nought for a registry,
    /// and for a name below none.
    func isTakenByTrustKit(_ suffixes: Set<String>) -> Bool {
        self.domains.allSatisfy { name, domain in
            // Nobody connects to a host whose name is `*.x`.
            let name = name.hasPrefix("*.") ? String(name.dropFirst(2)) : name
            return !suffixes.contains(name) && Self.above(name).contains(where: suffixes.contains)
                && (!domain.isEnforcing || domain.hashes.count >= 2)
        }
    }

    /// Whether TrustKit for Android starts with them: its validator asks for a label and a top-level domain.
    func isTakenByTrustKitAndroid(_ suffixes: Set<String>) -> Bool {
        self.domains.allSatisfy { name, domain in
            Self.above(name).contains(where: suffixes.contains) && (!domain.isEnforcing || domain.hashes.count >= 2)
        }
    }

    private static func above(_ name: String) -> [String] {
        let labels = name.split(separator: ".")
        return labels.indices.dropFirst().map { labels[$0...].joined(separator: ".") }
    }

    func deed(_ connection: Connection) -> Taken {
        let above = Self.above(connection.name).lazy.compactMap { self.domains[$0] }
        guard let domain = self.domains[connection.name] ?? above.first(where: \.includesSubdomains),
            !domain.hashes.isEmpty, connection.time < domain.end ?? .distantFuture,
            !connection.pins.contains(where: { domain.hashes.contains($0.base64) })
        else { return .connects }
        return domain.isEnforcing ? .refuses : .reports
    }
}

/// OkHttp's `CertificatePinner`: the pins of every pattern that matches count.
struct OkHttp {
    private let patterns: [(pattern: String, hash: String)]
    private let isFour: Bool

    init(_ patterns: [(pattern: String, hash: String)], isFour: Bool) {
        self.patterns = patterns
        self.isFour = isFour
    }

    /// Reads what a program in Kotlin adds: a pattern, and pins behind it.
    init(kotlin file: [UInt8], isFour: Bool) throws {
        var patterns: [(pattern: String, hash: String)] = []
        var pattern = ""
        for line in String(decoding: file, as: UTF8.self).split(separator: "\n") where !line.hasPrefix("//") {
            guard let text = line.firstMatch(of: /"([^"]+)"/).map({ String($0.1) }) else { continue }
            if text.hasPrefix("sha256/") {
                patterns.append((pattern, String(text.dropFirst(7))))
            } else {
                pattern = text
            }
        }
        self.init(patterns, isFour: isFour)
    }

    /// `**.` is known since 4.3; before that it is taken and never matches.
    private func matches(_ pattern: String, _ name: String) -> Bool {
        if pattern.hasPrefix("**.") {
            let base = pattern.dropFirst(3)
            return self.isFour && (name == base || name.hasSuffix(".\(base)"))
        }
        guard pattern.hasPrefix("*.") else { return pattern == name }
        guard let dot = name.firstIndex(of: "."), dot != name.startIndex else { return false }
        return name[dot...] == pattern.dropFirst(1)
    }

    func deed(_ connection: Connection) -> Taken {
        let hashes = self.patterns.filter { self.matches($0.pattern, connection.name) }.map(\.hash)
        return hashes.isEmpty || hashes.contains { hash in connection.pins.contains { $0.base64 == hash } }
            ? .connects : .refuses
    }
}
