/// A rollout with everything worked out that does not depend on the device.
struct PreparedRollout: Sendable {
    /// What a rollout says of a device.
    struct Verdict {
        var isIn: Bool
        var reason: DeviceDecision.Reason
        /// How the lot fell, where it came to drawing one.
        var draw: DeviceDecision.Draw?
    }

    private let rollout: Rollout
    private let salt: String
    /// What is hashed before an id, for each of the rollout's seeds.
    private let prefixes: [[UInt8]]
    /// Nil where the rollout names nobody.
    private let lists: Lists?

    private struct Lists {
        var hasher: IDHasher
        var whitelist: Set<IDHash>
        var exclusions: Set<IDHash>
    }

    init(_ rollout: Rollout) {
        self.rollout = rollout
        let salt = rollout.salt ?? ""
        self.salt = salt
        self.prefixes = rollout.seed.map { rollout.bucketing.prefix(seed: $0, salt: salt) }
        self.lists =
            rollout.whitelist.isEmpty && rollout.exclusions.isEmpty
            ? nil
            : Lists(
                hasher: IDHasher(salt: salt),
                whitelist: Set(rollout.whitelist.compactMap(IDHash.init(hex:))),
                exclusions: Set(rollout.exclusions.compactMap(IDHash.init(hex:)))
            )
    }

    /// Whether a device is in, by exclusions, whitelist, country and lot, in this order.
    func verdict(on device: Device) -> Verdict {
        let rollout = self.rollout
        if let lists = self.lists {
            let hashes = rollout.seed.compactMap { device.id($0) }.map { lists.hasher.hash(of: $0.folded) }
            if hashes.contains(where: lists.exclusions.contains) {
                return Verdict(isIn: false, reason: .rolloutExcluded)
            }
            if hashes.contains(where: lists.whitelist.contains) {
                return Verdict(isIn: true, reason: .rolloutWhitelisted)
            }
        }
        switch rollout.method {
        case .percentage: break
        case .whitelist: return Verdict(isIn: false, reason: .rolloutNotWhitelisted)
        case .geography:
            guard let country = device.country else { return Verdict(isIn: false, reason: .countryUnknown) }
            guard rollout.countries.contains(country) else { return Verdict(isIn: false, reason: .countryOutside) }
        }
        for (place, seed) in rollout.seed.enumerated() {
            guard let id = device.id(seed) else { continue }
            let message = self.prefixes[place] + (rollout.bucketing == .pinroll ? id.folded : id.bytes)
            let bucket = rollout.bucketing.bucket(message: message)
            let isIn = bucket < rollout.basisPoints
            return Verdict(
                isIn: isIn, reason: isIn ? .rolloutIn : .rolloutOut,
                draw: DeviceDecision.Draw(
                    bucket: bucket, basisPoints: rollout.basisPoints, salt: self.salt, seed: seed,
                    bucketing: rollout.bucketing
                )
            )
        }
        return Verdict(isIn: false, reason: .seedMissing)
    }
}
