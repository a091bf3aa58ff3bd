import ArgumentParser
import PinWire

/// Whom a rollout reaches besides its share, as options of a command.
struct RolloutTermOptions: ParsableArguments {
    @Option(help: "percentage, whitelist or geography") var method: String?
    @Option(help: "device_id, user_id or install_id; several in order of preference.") var seed: [String] = []
    @Option(help: "Country code, with --method geography; several allowed.") var country: [String] = []
    @Option(help: "How devices are drawn: pinroll/v1, or unleash-murmur3 as Unleash draws them.")
    var bucketing: String?
    @Option(help: "What devices are drawn under, such as the groupId that Unleash has. By default the app or host.")
    var salt: String?
    @Option(
        help: ArgumentHelp("An id that is always in; several allowed. It is hashed before it is sent.", valueName: "id")
    )
    var whitelist: [String] = []
    @Option(
        help: ArgumentHelp("An id that is never in; several allowed. It is hashed before it is sent.", valueName: "id"))
    var exclude: [String] = []

    /// The members of a rollout.
    ///
    /// - Parameter place: The salt of a rollout that has none of its own: `app:` and the app, or `host:` and the pattern.
    func members(at place: String) -> [String: JSON?] {
        func list(_ texts: [String]) -> JSON? { texts.isEmpty ? nil : .array(texts.map { .string($0) }) }
        let salt = self.salt ?? place
        func hashes(_ ids: [String]) -> JSON? {
            list(ids.map { Self.isHash($0) ? $0 : Rollout.hashedID($0, salt: salt) })
        }
        return [
            "method": self.method.map { .string($0) }, "seed": list(self.seed), "countries": list(self.country),
            "bucketing": self.bucketing.map { .string($0) }, "salt": self.salt.map { .string($0) },
            "whitelist": hashes(self.whitelist), "exclusions": hashes(self.exclude),
        ]
    }

    /// Whether an id was hashed already.
    private static func isHash(_ text: String) -> Bool { text.utf8.count == 64 && Hex.decode(text) != nil }
}
