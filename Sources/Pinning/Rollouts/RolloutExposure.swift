package import PinWire

/// The share of devices that really get a host's candidate: those that both the app's rollout and the host's let in.
package struct RolloutExposure: Hashable, Sendable {
    /// How the two shares combine.
    package enum Basis: String, CaseIterable, Sendable, Hashable {
        /// They are drawn independently.
        case product
        /// They are drawn from the same buckets, so that the smaller one lies within the larger one.
        case minimum
    }

    /// Nil where all devices are in.
    package var app: Rollout?
    package var host: Rollout?
    package var basis: Basis
    package var gate: VersionGate?
    private let pattern: HostPattern

    /// Nil where the host has no candidate.
    package init?(of pattern: HostPattern, in app: App) {
        guard let host = app.hosts[pattern], host.candidate != nil else { return nil }
        self.pattern = pattern
        self.app = app.rollout?.salted("app:\(app.id)", revision: app.rolloutRevision)
        self.host = host.rollout?.salted("host:\(pattern)", revision: host.rolloutRevision)
        self.gate = app.versionGate
        self.basis = .product
        if let one = self.app, let other = self.host, one.salt == other.salt, one.seed == other.seed,
            one.bucketing == other.bucketing
        {
            self.basis = .minimum
        }
    }

    /// The share by percentage, in ten-thousandths of a basis point; listed ids are not in it.
    package var share: Int64 {
        let (app, host) = (self.app.share, self.host.share)
        return self.basis == .product ? app * host : min(app, host) * 10_000
    }

    /// As a sentence or several.
    package var sentence: String {
        var sentences = [
            "\(Percent.text(self.share)) of devices get the candidate of \(self.pattern): the app's rollout includes \(Percent.text(basisPoints: Int(self.app.share))), and the host's \(Percent.text(basisPoints: Int(self.host.share)))\(self.relation)."
        ]
        let countries = [self.app, self.host].compactMap { $0 }.filter { $0.method == .geography }.map(\.countries)
        for list in countries { sentences.append("Only devices known to be in \(list.joined(separator: ", ")) count.") }
        let listed = [self.app, self.host].reduce(0) { $0 + ($1?.whitelist.count ?? 0) }
        if listed > 0 { sentences.append("\(listed) listed ids are always included.") }
        if let gate, !gate.isOpen {
            sentences.append("The version gate admits only these devices: \(gate.sentence).")
        }
        return sentences.joined(separator: " ")
    }

    private var relation: String {
        guard self.app != nil, self.host != nil else { return "" }
        return self.basis == .product ? " of those (independent buckets)" : ", from the same buckets"
    }

    package var json: JSON {
        // Exact: both factors are whole, and a product has at most eight decimals.
        let points: JSON =
            self.share.isMultiple(of: 10_000) ? .integer(self.share / 10_000) : .number(Double(self.share) / 10_000)
        return [
            "host": .string(self.pattern.text),
            "effective_basis_points": points,
            "app_basis_points": .integer(self.app.share),
            "host_basis_points": .integer(self.host.share),
            "basis": .string(self.basis.rawValue),
            "sentence": .string(self.sentence),
        ]
    }
}

extension Optional<Rollout> {
    /// The share by percentage, in basis points.
    fileprivate var share: Int64 {
        guard let rollout = self else { return 10_000 }
        return rollout.method == .whitelist ? 0 : Int64(rollout.basisPoints)
    }
}

extension VersionGate {
    /// The included devices, as a clause.
    fileprivate var sentence: String {
        var parts: [String] = []
        if let minimum = self.minimum { parts.append("from \(minimum)") }
        if let maximum = self.maximum { parts.append("up to \(maximum)") }
        if !self.excluded.isEmpty { parts.append("without \(self.excluded.map(\.text).joined(separator: ", "))") }
        if let build = self.minimumBuild { parts.append("of build \(build) or later") }
        return parts.joined(separator: ", ")
    }
}

/// Shares in the form that people write.
package enum Percent {
    /// `0.5 %`
    package static func text(basisPoints: Int) -> String { self.text(Int64(basisPoints) * 10_000) }

    /// - Parameter share: In ten-thousandths of a basis point.
    static func text(_ share: Int64) -> String {
        let (whole, rest) = share.quotientAndRemainder(dividingBy: 1_000_000)
        guard rest != 0 else { return "\(whole) %" }
        var digits = String(1_000_000 + rest).dropFirst()
        while digits.last == "0" { digits.removeLast() }
        return "\(whole).\(digits) %"
    }
}
