/// A host of a document with all work done that does not depend on the device.
///
/// A class, so that a reader copies one reference and not both policies.
final class PreparedHost: Sendable {
    let pattern: HostPattern
    let baseline: Document.Policy?
    let candidate: Document.Policy?
    /// The policy that the server has decided for; nil where the document leaves it to the device.
    let arm: PolicyArm?
    /// Nil where there is no candidate, or all devices get it.
    let rollout: PreparedRollout?
    /// The pattern's own.
    let killSwitches: [Document.KillSwitch]

    init(_ host: Document.Host, killSwitches: [Document.KillSwitch]) {
        self.pattern = host.pattern
        self.baseline = host.baseline
        self.candidate = host.candidate
        self.arm = host.arm
        self.rollout = host.candidate == nil ? nil : host.rollout.map(PreparedRollout.init)
        self.killSwitches = killSwitches
    }
}
