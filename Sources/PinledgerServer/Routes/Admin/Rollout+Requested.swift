import PinWire

extension Rollout {
    /// What a request without `seed` asks for: whichever id a device states, so that no kind of client stays outside unnoticed.
    private static let usualSeed: [Seed] = [.installID, .deviceID, .userID]

    /// Reads a rollout from a request. Settings without any effect are refused, which entries of the ledger may have.
    init(requested field: JSONField) throws(JSONDefect) {
        self = try Rollout(field)
        if field.value["seed"] ?? .null == .null { self.seed = Self.usualSeed }
        guard field.value["salt_utf8"] == nil else {
            throw JSONDefect(
                pointer: field.pointer.appending("salt_utf8"),
                message: "is only for signed documents: give the salt itself as `salt`")
        }
        let countries = field.pointer.appending("countries")
        guard self.countries.isEmpty || self.method == .geography else {
            throw JSONDefect(
                pointer: countries,
                message: "apply only to the method geography: set the method to geography, or leave them out"
            )
        }
        for (place, code) in self.countries.enumerated() where ["XX", "ZZ"].contains(code) {
            throw JSONDefect(
                pointer: countries.appending(String(place)),
                message: "is \(code), which stands for no country: no device would match")
        }
    }
}
