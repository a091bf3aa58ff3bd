import PinWire
import Pinning

/// One host of a view with both its policies, whatever the view's device gets.
struct RemoteConfigHost: Sendable {
    struct Policy: Hashable, Sendable {
        var mode: PinMode
        /// Pins in use as the server's key come first.
        var pins: [RemoteConfigPin]
    }

    let pattern: HostPattern
    /// When the host's own kill switch in force ends; nil where there is none.
    var switchedOffUntil: Timestamp?
    /// Nil for the app's built-in pins.
    let baseline: Policy?
    /// Nil where there is none.
    let candidate: Policy?
    let rollout: Rollout?
    /// Whether a percentage in the value expresses the host's rollout.
    let carriesShares: Bool
    /// The rule that decided the outcome for the view's device.
    let reason: DeviceDecision.Reason

    var isSwitchedOff: Bool { self.switchedOffUntil != nil }

    /// The policy of a device inside or outside of the host's rollout.
    func policy(_ arm: PolicyArm) -> Policy? { arm == .candidate ? self.candidate : self.baseline }

    /// The hosts of a view, in its order.
    static func all(of view: ClientView) -> [RemoteConfigHost] {
        var ends: [HostPattern: Timestamp] = [:]
        for one in view.killSwitchesInForce where one.scope == "host" {
            if let host = one.host { ends[host] = max(ends[host] ?? one.expiresAt, one.expiresAt) }
        }
        return zip(view.document.hosts, view.hosts).map { host, seen in
            var known: [Pin: ClientView.ClientPin] = [:]
            for pin in seen.pins + (seen.candidate ?? []) { known[pin.pin] = pin }
            func policy(_ policy: Document.Policy) -> Policy {
                let pins = policy.pins.map {
                    RemoteConfigPin(
                        $0.pin, $0.role, isServed: known[$0.pin]?.isServed ?? false,
                        rawKeySHA256: known[$0.pin]?.knowledge?.key.rawKeySHA256)
                }
                return Policy(mode: policy.mode, pins: pins.filter(\.isServed) + pins.filter { !$0.isServed })
            }
            return RemoteConfigHost(
                pattern: host.pattern, switchedOffUntil: ends[host.pattern], baseline: host.baseline.map(policy),
                candidate: host.candidate.map(policy), rollout: host.rollout, carriesShares: host.carriesShares,
                reason: seen.reason)
        }
    }
}

extension Rollout {
    /// Whether conditions can choose the rollout's devices without ids or keyed hashes of them: they cannot keep
    /// exclusions out, and a whitelist alone lets no device in.
    var isDrawable: Bool { self.method != .whitelist && self.exclusions.isEmpty }
}
