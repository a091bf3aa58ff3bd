import ArgumentParser
import PinWire

/// The devices that a rollout reaches besides its percentage, as options of a command.
struct RolloutTermOptions: ParsableArguments {
    @Option(help: "What decides whether a device is in.") var method: Rollout.Method?
    @Option(
        help: """
            Id that a device's bucket is computed from. May be repeated, in order of preference. Default for a new \
            rollout: install_id, device_id, user_id.
            """)
    var seed: [Rollout.Seed] = []
    @Option(help: "Country code, with --method geography. May be repeated.") var country: [String] = []
    @Option(help: "How a device's bucket is computed. unleash-murmur3 does it as Unleash does.")
    var bucketing: Rollout.Bucketing?
    @Option(help: "Salt of the buckets, such as Unleash's groupId. Default: the app or the host.")
    var salt: String?
    @Option(
        help: ArgumentHelp("An id that is always in. May be repeated. It is hashed before it is sent.", valueName: "id")
    )
    var whitelist: [String] = []
    @Option(
        help: ArgumentHelp("An id that is never in. May be repeated. It is hashed before it is sent.", valueName: "id"))
    var exclude: [String] = []

    /// The members of a rollout.
    ///
    /// - Parameter place: The salt of a rollout without one of its own: `app:` and the app, or `host:` and the pattern.
    func members(at place: String) -> [String: JSON?] {
        func list(_ texts: [String]) -> JSON? { texts.isEmpty ? nil : .array(texts.map { .string($0) }) }
        let salt = self.salt ?? place
        func hashes(_ ids: [String]) -> JSON? {
            list(ids.map { Self.isHash($0) ? $0 : Rollout.hashedID($0, salt: salt) })
        }
        return [
            "method": self.method.map { .string($0.rawValue) }, "seed": list(self.seed.map(\.rawValue)),
            "countries": list(self.country),
            "bucketing": self.bucketing.map { .string($0.rawValue) }, "salt": self.salt.map { .string($0) },
            "whitelist": hashes(self.whitelist), "exclusions": hashes(self.exclude),
        ]
    }

    /// The members of a rollout that is there, and what a command states of it: the rest stays as it is.
    func merged(with present: JSON?, at place: String) -> [String: JSON] {
        let stated = self.members(at: place).compactMapValues(\.self)
        guard var members = present?.objectValue else { return stated }
        // A salt that changes with each edit is the server's.
        if members["sticky"] == false { members["salt"] = nil }
        members.merge(stated) { $1 }
        // Stated ones stay, for the server to refuse: without them the rollout would reach every country.
        if members["method"] != "geography", stated["countries"] == nil { members["countries"] = nil }
        return members
    }

    /// Whether an id was hashed already.
    private static func isHash(_ text: String) -> Bool { text.utf8.count == 64 && Hex.decode(text) != nil }
}
