package import PinWire

/// The share of devices for clients of remote configuration: in whole per cent, and one number for a host where this
/// server knows two rollouts, the app's and the host's.
package enum RemoteConfigShare {
    /// The share of devices that both rollouts let in, rounded down: 25.5 % is 25, and half of 25 % is 12. Rounding up
    /// would let in devices that the operator did not choose.
    ///
    /// The two are multiplied, because they draw under different salts. Where both have one salt the true share is the
    /// smaller of the two, and the product is below it.
    ///
    /// - Parameters:
    ///   - app: the app's rollout in basis points, 10000 where it has none.
    ///   - host: the same of the host's.
    /// - Returns: nil for a share above nothing and below one per cent: 0 would stop the rollout, and 1 would widen it
    ///   a hundredfold at worst.
    package static func wholePercent(app: Int, host: Int) -> Int? {
        let product = app * host
        let percent = product / 1_000_000
        return percent == 0 && product > 0 ? nil : percent
    }

    /// Whether ``wholePercent(app:host:)`` rounds anything off.
    package static func isRounded(app: Int, host: Int) -> Bool { app * host % 1_000_000 != 0 }

    /// A share in the spelling of conditions, to the basis point: `25`, `25.5`, `0.05`.
    package static func text(basisPoints: Int) -> String {
        let (whole, rest) = basisPoints.quotientAndRemainder(dividingBy: 100)
        if rest == 0 { return "\(whole)" }
        return rest % 10 == 0 ? "\(whole).\(rest / 10)" : "\(whole).\(rest < 10 ? "0" : "")\(rest)"
    }
}

extension Document.Host {
    /// Whether a percentage gives clients of remote configuration the host's rollout. They know no second set of pins:
    /// a device outside has no remote pins, which is right unless the baseline enforces pins of the document.
    package var carriesShares: Bool { self.candidate?.mode == .enforce && self.baseline?.mode != .enforce }
}

extension Rollout {
    /// Whether every device is in, whatever its attributes: a share of all needs no draw.
    package var isForAll: Bool { self.method == .percentage && self.basisPoints == 10_000 && self.exclusions.isEmpty }
}
