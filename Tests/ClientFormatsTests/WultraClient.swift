import Crypto
import Foundation
import PinWire

/// A client as Wultra's SDKs are known to behave, for tests of what it is given.
struct WultraClient {
    struct Entry: Hashable {
        var name: String
        var fingerprint: [UInt8]
        var expires: Int64
        /// Always 0 for clients before 2.x, which do not know the member.
        var depth: Int64
    }

    enum Update: Hashable {
        case ok, storeIsEmpty, invalidSignature, invalidData
    }

    enum Verdict: Hashable {
        case trusted, untrusted, empty
    }

    let key: P256.Signing.PublicKey
    /// Whether it is one of 2.x.
    let understandsDomains: Bool
    private(set) var entries: [Entry] = []
    private(set) var isRequiredForOthers = true
    private(set) var domains: [String: Bool] = [:]

    init(_ key: P256.Signing.PublicKey, understandsDomains: Bool = false) {
        self.key = key
        self.understandsDomains = understandsDomains
    }

    /// Takes an answer to its own challenge.
    mutating func update(_ body: [UInt8], signature: [UInt8], challenge: String, at now: Int64) -> Update {
        guard self.isSigned(Array("\(challenge)&".utf8) + body, signature) else { return .invalidSignature }
        guard let json = try? JSON(parsing: body), json["timestamp"]?.integerValue != nil,
            let new = self.entries(json)
        else { return .invalidData }
        let result = self.merge(new, at: now)
        guard self.understandsDomains, result == .ok else { return result }
        self.isRequiredForOthers = true
        self.domains = [:]
        guard let config = json["domainsConfig"] else { return .ok }
        self.isRequiredForOthers = config["sslPinningRequiredForUnlisted"] != .bool(false)
        for domain in config["domains"]?.arrayValue ?? [] {
            guard let name = domain["name"]?.stringValue else { continue }
            self.domains[name] = domain["sslPinningRequired"] != .bool(false)
        }
        return .ok
    }

    /// Takes a static file.
    mutating func update(file: [UInt8], at now: Int64) -> Update {
        guard let json = try? JSON(parsing: file), let new = self.entries(json) else { return .invalidData }
        let signatures = (json["fingerprints"]?.arrayValue ?? []).map { $0["signature"]?.stringValue }
        for (entry, signature) in zip(new, signatures) {
            let message = "\(entry.name)&\(Base64.encode(entry.fingerprint))&\(entry.expires)"
            guard let signature = signature.flatMap(Base64.decode), self.isSigned(Array(message.utf8), signature) else {
                return .invalidSignature
            }
        }
        return self.merge(new, at: now)
    }

    private func isSigned(_ message: [UInt8], _ signature: [UInt8]) -> Bool {
        guard let signature = try? P256.Signing.ECDSASignature(derRepresentation: Data(signature)) else { return false }
        return self.key.isValidSignature(signature, for: Data(message))
    }

    /// Nil where one is bad: then all are refused.
    private func entries(_ json: JSON) -> [Entry]? {
        guard let elements = json["fingerprints"]?.arrayValue else { return nil }
        var entries: [Entry] = []
        for element in elements {
            guard let name = element["name"]?.stringValue, let expires = element["expires"]?.integerValue,
                let bytes = element["fingerprint"]?.stringValue.flatMap(Base64.decode), bytes.count == 32
            else { return nil }
            let depth = self.understandsDomains ? element["depth"]?.integerValue ?? 0 : 0
            entries.append(Entry(name: name, fingerprint: bytes, expires: expires, depth: depth))
        }
        return entries
    }

    /// Nothing is forgotten before its end, and an entry with another end is another entry.
    private mutating func merge(_ new: [Entry], at now: Int64) -> Update {
        var merged = self.entries
        for entry in new where !merged.contains(entry) { merged.append(entry) }
        merged.removeAll { $0.expires <= now }
        guard !merged.isEmpty else { return .storeIsEmpty }
        self.entries = merged
        return .ok
    }

    /// Looks at a server's chain: the SHA-256 of its certificates, the server's own first.
    func verdict(commonName: String, chain: [[UInt8]]) -> Verdict {
        guard self.domains[commonName] ?? self.isRequiredForOthers else { return .trusted }
        guard !self.entries.isEmpty else { return .empty }
        return self.entries.contains { entry in
            entry.name == commonName && entry.depth < chain.count && chain[Int(entry.depth)] == entry.fingerprint
        } ? .trusted : .untrusted
    }
}
