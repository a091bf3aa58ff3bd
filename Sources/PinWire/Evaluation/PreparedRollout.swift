/// A rollout with all work done that does not depend on the device.
///
/// A class, so that a reader copies one reference and not all of the rollout's lists.
final class PreparedRollout: Sendable {
    /// The result of a rollout for a device.
    struct Verdict {
        var isIn: Bool
        var reason: DeviceDecision.Reason
        /// The result of the draw, where there was one.
        var draw: DeviceDecision.Draw?
    }

    private struct Lists {
        var hasher: IDHasher
        var whitelist: Set<IDHash>
        var exclusions: Set<IDHash>
    }

    private let method: Rollout.Method
    private let countries: Set<String>
    private let basisPoints: Int
    private let bucketing: Rollout.Bucketing
    private let salt: String
    private let seeds: [Rollout.Seed]
    /// The prefixes hashed before an id, for each of the seeds.
    private let prefixes: [[UInt8]]
    /// Nil where the list is empty.
    private let lists: Lists?

    init(_ rollout: Rollout) {
        let salt = rollout.salt ?? ""
        self.method = rollout.method
        self.countries = Set(rollout.countries)
        self.basisPoints = rollout.basisPoints
        self.bucketing = rollout.bucketing
        self.salt = salt
        self.seeds = rollout.seed
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

    /// Whether a device is in, by exclusions, whitelist, country and draw, in this order.
    func verdict(on device: Device) -> Verdict {
        if let listed = self.listing(of: device) { return listed }
        switch self.method {
        case .percentage: break
        case .whitelist: return Verdict(isIn: false, reason: .rolloutNotWhitelisted)
        case .geography:
            guard let country = device.country else { return Verdict(isIn: false, reason: .countryUnknown) }
            guard self.countries.contains(country) else { return Verdict(isIn: false, reason: .countryOutside) }
        }
        for (place, seed) in self.seeds.enumerated() {
            guard let id = device.id(seed) else { continue }
            let message = self.prefixes[place] + (self.bucketing == .pinroll ? id.folded : id.bytes)
            let bucket = self.bucketing.bucket(message: message)
            let isIn = bucket < self.basisPoints
            return Verdict(
                isIn: isIn, reason: isIn ? .rolloutIn : .rolloutOut,
                draw: DeviceDecision.Draw(
                    bucket: bucket, basisPoints: self.basisPoints, salt: self.salt, seed: seed,
                    bucketing: self.bucketing
                )
            )
        }
        return Verdict(isIn: false, reason: .seedMissing)
    }

    /// The result of the lists for a device; nil where they do not name it.
    private func listing(of device: Device) -> Verdict? {
        guard let lists = self.lists else { return nil }
        var isWhitelisted = false
        for seed in self.seeds {
            guard let id = device.id(seed) else { continue }
            let hash = lists.hasher.hash(of: id.folded)
            // Any of its ids excludes it, even if the whitelist names another.
            if lists.exclusions.contains(hash) { return Verdict(isIn: false, reason: .rolloutExcluded) }
            if lists.whitelist.contains(hash) { isWhitelisted = true }
        }
        return isWhitelisted ? Verdict(isIn: true, reason: .rolloutWhitelisted) : nil
    }
}
