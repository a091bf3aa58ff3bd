import Addresses
import PinWire
import Pinning

extension Device {
    /// Reads a device's attributes: `device_id`, `user_id`, `install_id`, `app_version`, `build`, `country`. All of
    /// them may be missing, or malformed: the request asks for the effect of exactly these values.
    init(_ members: inout JSONMembers) throws(JSONDefect) {
        var ids: [Rollout.Seed: String] = [:]
        for seed in Rollout.Seed.allCases {
            guard let field = members.optional(seed.rawValue) else { continue }
            ids[seed] = try field.limited(to: Self.textLimit)
        }
        self.init(
            ids: ids, appVersion: try members.optional("app_version")?.limited(to: Self.textLimit),
            build: try members.optional("build")?.integer(0...JSON.largestInteger),
            country: try members.optional("country")?.limited(to: Self.textLimit)
        )
    }

    /// The most characters of an id, a version or a country, wherever it is given.
    static let textLimit = 512
}

extension JSONField {
    /// A text of at most so many characters (Unicode scalars).
    func limited(to limit: Int) throws(JSONDefect) -> String {
        let text = try self.string()
        guard text.unicodeScalars.count <= limit else { throw self.defect("may have at most \(limit) characters") }
        return text
    }

    /// The names of hosts that a device connects to, in the form of patterns. Clients take names that no pattern can have:
    /// with capital letters, underscores, a dot at the end, and addresses, for which no pin holds.
    func hostNames(atMost limit: Int) throws(JSONDefect) -> [String] {
        var names: [String] = []
        for element in try self.elements(atMost: limit) {
            guard let name = HostPattern.canonical(try element.string()),
                name.utf8.allSatisfy(Self.isInName) || IPAddress(name) != nil
            else {
                _ = try element.parse(HostPattern.init)
                throw element.defect("must be a host's name, not a wildcard")
            }
            guard !names.contains(name) else { throw element.defect("names the same host twice") }
            names.append(name)
        }
        return names
    }

    private static func isInName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}

extension App {
    /// A name for each of the app's patterns that devices connect to: the pattern's own, and one below it for a
    /// wildcard.
    ///
    /// - Parameters:
    ///   - first: Patterns that are kept where there is not room for all.
    ///   - after: The app after a change, whose patterns are named too.
    func sampleNames(
        first: [HostPattern] = [], atMost limit: Int, and after: App? = nil
    ) -> (names: [String], leftOut: Int) {
        let wanted = Set(first)
        let patterns = Set(self.hosts.keys).union(after.map { Set($0.hosts.keys) } ?? []).sorted()
        let ordered = patterns.filter(wanted.contains) + patterns.filter { !wanted.contains($0) }
        let names = ordered.prefix(limit).map { $0.isWildcard ? "any.\($0.name)" : $0.text }
        return (names, ordered.count - names.count)
    }
}
