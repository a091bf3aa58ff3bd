/// Which of a host's two policies a device gets.
public enum PolicyArm: String, CaseIterable, Sendable, Hashable {
    /// The policy of devices outside the rollout.
    case baseline
    /// The policy of devices inside the rollout.
    case candidate
}

/// The decision for one device and one host name.
public struct DeviceDecision: Hashable, Sendable {
    /// What the device does with a connection to the host.
    public enum Outcome: String, CaseIterable, Sendable, Hashable {
        /// Pins are ignored; ordinary TLS validation remains.
        case off
        /// A connection whose chain matches no pin goes through and is reported.
        case reportOnly = "report_only"
        /// A connection whose chain matches no pin is refused.
        case enforce
        /// The pins built into the app hold, in the app's own mode.
        case builtin
    }

    public var outcome: Outcome
    /// The pins to compare with: those of the policy for `enforce` and `report_only`, otherwise none.
    public var pins: [Document.RolePin]
    /// The policy from which the pins, or their absence, come; nil where no policy was reached.
    public var arm: PolicyArm?
    /// The document's host that covers the name; nil where none does.
    public var pattern: HostPattern?
    /// The rule that decided.
    public var reason: Reason
    /// Each rule that was evaluated and its result, in order; empty unless it was requested.
    public var trace: [Step]

    public init(
        outcome: Outcome, pins: [Document.RolePin] = [], arm: PolicyArm? = nil, pattern: HostPattern? = nil,
        reason: Reason, trace: [Step] = []
    ) {
        self.outcome = outcome
        self.pins = pins
        self.arm = arm
        self.pattern = pattern
        self.reason = reason
        self.trace = trace
    }
}

extension DeviceDecision {
    /// The rules in the order of evaluation.
    public enum Rule: String, CaseIterable, Sendable, Hashable {
        case host
        case killSwitch = "kill_switch"
        case validity
        /// Whether the host has two policies at all.
        case candidate
        case versionGate = "version_gate"
        case appRollout = "app_rollout"
        case hostRollout = "host_rollout"
        case policy
    }

    /// The result of a rule. The raw values are stable: clients may store and compare them.
    public enum Reason: String, CaseIterable, Sendable, Hashable {
        /// A pattern that is the name itself.
        case hostExact = "host_exact"
        /// A wildcard pattern one label above the name.
        case hostWildcard = "host_wildcard"
        /// A pattern above the name that includes subdomains.
        case hostSubdomain = "host_subdomain"
        /// No pattern covers the name.
        case hostUnknown = "host_unknown"
        /// No pattern covers the name, but the app has built-in pins for it, and may use them.
        case hostBuiltin = "host_builtin"

        case killSwitchEngaged = "kill_switch_engaged"
        /// A kill switch that has expired and is not released yet.
        case killSwitchExpired = "kill_switch_expired"
        /// A kill switch that is engaged from a later moment on.
        case killSwitchAhead = "kill_switch_ahead"
        /// A kill switch for versions that do not include the device's.
        case killSwitchOtherVersions = "kill_switch_other_versions"
        /// A kill switch for versions, and the device's version or build is unknown or malformed.
        case killSwitchVersionUnknown = "kill_switch_version_unknown"
        case killSwitchNone = "kill_switch_none"

        case documentFresh = "document_fresh"
        /// The document should be fetched again; it holds all the same.
        case documentStale = "document_stale"
        /// The time is past `pins_valid_until`.
        case pinsExpired = "pins_expired"

        /// The host has a baseline only.
        case candidateNone = "candidate_none"
        case candidateThere = "candidate_there"
        /// The server has decided already, and the document holds the result.
        case serverDecided = "server_decided"

        case versionGateNone = "version_gate_none"
        case versionGateIn = "version_gate_in"
        case versionBelow = "version_below_minimum"
        case versionAbove = "version_above_maximum"
        case versionExcluded = "version_excluded"
        case versionUnknown = "version_unknown"
        /// The device's stated version is malformed.
        case versionInvalid = "version_invalid"
        case buildBelow = "build_below_minimum"
        case buildUnknown = "build_unknown"

        case rolloutNone = "rollout_none"
        case rolloutExcluded = "rollout_excluded"
        case rolloutWhitelisted = "rollout_whitelisted"
        /// Only the whitelist lets devices in, and this one is not on it.
        case rolloutNotWhitelisted = "rollout_not_whitelisted"
        case countryUnknown = "country_unknown"
        case countryOutside = "country_outside"
        /// The device has none of the ids from which the rollout draws, or one that stands for "none".
        case seedMissing = "seed_missing"
        case rolloutIn = "rollout_in"
        case rolloutOut = "rollout_out"

        case policyEnforce = "policy_enforce"
        case policyReportOnly = "policy_report_only"
        case policyOff = "policy_off"
        case policyBuiltin = "policy_builtin"
    }

    /// One rule and its result.
    public struct Step: Hashable, Sendable {
        public var rule: Rule
        public var reason: Reason
        /// The kill switch of the step.
        public var killSwitch: Document.KillSwitch?
        /// The result of the draw, where there was one.
        public var draw: Draw?
        /// The policy of the step.
        public var arm: PolicyArm?

        public init(
            _ rule: Rule, _ reason: Reason, killSwitch: Document.KillSwitch? = nil, draw: Draw? = nil,
            arm: PolicyArm? = nil
        ) {
            self.rule = rule
            self.reason = reason
            self.killSwitch = killSwitch
            self.draw = draw
            self.arm = arm
        }
    }

    /// A device's draw in a rollout: all values needed to repeat it, except the id.
    public struct Draw: Hashable, Sendable {
        /// From 0 to 9999.
        public var bucket: Int
        /// The device is in where its bucket lies below.
        public var basisPoints: Int
        public var salt: String
        /// The kind of the id from which the bucket was drawn.
        public var seed: Rollout.Seed
        public var bucketing: Rollout.Bucketing

        public init(
            bucket: Int, basisPoints: Int, salt: String, seed: Rollout.Seed, bucketing: Rollout.Bucketing
        ) {
            self.bucket = bucket
            self.basisPoints = basisPoints
            self.salt = salt
            self.seed = seed
            self.bucketing = bucketing
        }
    }
}

extension DeviceDecision {
    /// The decision for people and scripts: outcome, reason, pins and trace. It carries no id.
    public var json: JSON {
        .members([
            "outcome": .string(self.outcome.rawValue),
            "reason": .string(self.reason.rawValue),
            "host": self.pattern.map { .string($0.text) },
            "arm": self.arm.map { .string($0.rawValue) },
            "pins": .array(
                self.pins.map { ["pin": .string($0.pin.description), "role": .string($0.role.rawValue)] }
            ),
            "trace": .array(self.trace.map(\.json)),
        ])
    }
}

extension DeviceDecision.Step {
    /// The step for people and scripts.
    public var json: JSON {
        .members([
            "rule": .string(self.rule.rawValue),
            "reason": .string(self.reason.rawValue),
            "kill_switch": self.killSwitch?.json,
            "arm": self.arm.map { .string($0.rawValue) },
            "draw": self.draw.map { draw in
                [
                    "bucket": .integer(Int64(draw.bucket)),
                    "basis_points": .integer(Int64(draw.basisPoints)),
                    "salt": .string(draw.salt),
                    "seed": .string(draw.seed.rawValue),
                    "bucketing": .string(draw.bucketing.rawValue),
                ]
            },
        ])
    }
}
