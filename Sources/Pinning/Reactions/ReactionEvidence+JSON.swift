import PinWire

extension ReactionEvidence {
    var json: JSON {
        .members([
            "host": .string(self.host.text),
            "arm": self.arm.map { .string($0.rawValue) },
            "version": .integer(self.version),
            "judged_at": .string(self.judgedAt.rfc3339),
            "authenticated": .bool(self.isAuthenticated),
            "signatures_expected": self.expectsSignatures ? true : nil,
            "failure_threshold_bp": .integer(Int64(self.threshold)),
            "auto_disable": .bool(self.autoDisables),
            "sample": self.sample.json,
            "excursion": self.excursion.json,
            "networks": .array(
                self.networks.map { ["network": .string($0.network), "failing": .integer(Int64($0.failing))] }),
            "network_count": .integer(Int64(self.networkCount)),
            "releases": .array(self.releases.map(\.json)),
            "baseline_reports": self.baselineReports?.json,
            "expected_share_bp": self.expectedShare.map { .integer(Int64($0)) },
            "fleet_installs": self.fleet.map { .integer(Int64($0)) },
            "reporting_installs": self.reporting.map { .integer(Int64($0)) },
            "policy": self.policy.json,
            "alternative": self.alternative?.json,
            "older_pins": .bool(self.isOlder),
            "version_unknown": .bool(self.isUnheardOf),
            "has_candidate": .bool(self.hasCandidate),
            "exposed": .bool(self.isExposed),
            "ramping": .bool(self.isRamping),
            "kill_switch": .bool(self.isKilled),
            "last": self.last?.json,
            "reviewed": self.review?.json,
            "live": .array(self.live.map(\.json)),
            "known_vantages": .integer(Int64(self.knownVantages)),
            "all_seen": .bool(self.isComplete),
        ])
    }

    init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            func count(_ field: JSONField) throws(JSONDefect) -> Int {
                Int(try field.integer(0...Int64(Self.largestCount)))
            }
            return ReactionEvidence(
                host: try m.required("host").parse(HostPattern.init),
                arm: try m.optional("arm")?.oneOf(PolicySlot.self),
                version: try m.required("version").integer(0...JSON.largestInteger),
                judgedAt: try m.required("judged_at").timestamp(),
                isAuthenticated: try m.required("authenticated").bool(),
                expectsSignatures: try m.optional("signatures_expected")?.bool() ?? false,
                threshold: Int(try m.required("failure_threshold_bp").integer(1...9999)),
                autoDisables: try m.required("auto_disable").bool(), sample: try Sample(try m.required("sample")),
                excursion: try Count(try m.required("excursion")),
                networks: try m.required("networks").all(atMost: OutcomeCell.networkLimit) {
                    (f) throws(JSONDefect) in try NetworkShare(f)
                },
                networkCount: try count(try m.required("network_count")),
                releases: try m.required("releases").all(atMost: OutcomeCell.releaseLimit) {
                    (f) throws(JSONDefect) in try ReleaseShare(f)
                },
                baselineReports: try m.optional("baseline_reports").read { (f) throws(JSONDefect) in try Count(f) },
                expectedShare: try m.optional("expected_share_bp").read { (f) throws(JSONDefect) in try count(f) },
                fleet: try m.optional("fleet_installs").read { (f) throws(JSONDefect) in try count(f) },
                reporting: try m.optional("reporting_installs").read { (f) throws(JSONDefect) in
                    try count(f)
                },
                policy: try Arm(try m.required("policy")),
                alternative: try m.optional("alternative").read { (f) throws(JSONDefect) in try Arm(f) },
                isOlder: try m.required("older_pins").bool(), isUnheardOf: try m.required("version_unknown").bool(),
                hasCandidate: try m.required("has_candidate").bool(), isExposed: try m.required("exposed").bool(),
                isRamping: try m.required("ramping").bool(), isKilled: try m.required("kill_switch").bool(),
                last: try m.optional("last").read { (f) throws(JSONDefect) in try Done(f) },
                review: try m.optional("reviewed").read { (f) throws(JSONDefect) in try Review(f) },
                live: try m.required("live").all(atMost: Self.liveLimit) { (f) throws(JSONDefect) in try LiveKey(f) },
                knownVantages: try count(try m.required("known_vantages")),
                isComplete: try m.required("all_seen").bool()
            )
        }
    }
}

extension ReactionEvidence.Count {
    fileprivate var json: JSON {
        ["installs": .integer(Int64(self.installs)), "failing": .integer(Int64(self.failing))]
    }

    fileprivate init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            let installs = try m.required("installs").integer(0...Int64(ReactionEvidence.largestCount))
            return Self(installs: Int(installs), failing: Int(try m.required("failing").integer(0...installs)))
        }
    }
}

extension ReactionEvidence.Review {
    fileprivate var json: JSON {
        .members([
            "at": .string(self.at.rfc3339), "sample": self.window.sample.json, "excursion": self.window.excursion.json,
            "baseline_reports": self.window.baseline?.json,
        ])
    }

    fileprivate init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            Self(
                at: try m.required("at").timestamp(),
                window: .init(
                    sample: try .init(try m.required("sample")), excursion: try .init(try m.required("excursion")),
                    baseline: try m.optional("baseline_reports").read { (f) throws(JSONDefect) in try .init(f) }))
        }
    }
}

extension ReactionEvidence.Sample {
    fileprivate var json: JSON {
        .members([
            "installs": .integer(Int64(self.installs)),
            "failing": .integer(Int64(self.failing)),
            "distinct_installs": .integer(Int64(self.distinctInstalls)),
            "distinct_failing": .integer(Int64(self.distinctFailing)),
            "windows": .integer(Int64(self.windows)),
            "seconds": .integer(self.seconds),
            "first_minute": self.firstMinute.map { .string($0.rfc3339) },
        ])
    }

    fileprivate init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            let installs = try m.required("installs").integer(0...Int64(ReactionEvidence.largestCount))
            return Self(
                installs: Int(installs), failing: Int(try m.required("failing").integer(0...installs)),
                distinctInstalls: Int(try m.required("distinct_installs").integer(0...installs)),
                distinctFailing: Int(try m.required("distinct_failing").integer(0...installs)),
                windows: Int(try m.required("windows").integer(0...installs)),
                seconds: try m.required("seconds").integer(0...JSON.largestInteger),
                firstMinute: try m.optional("first_minute")?.timestamp()
            )
        }
    }
}

extension ReactionEvidence.Arm {
    fileprivate var json: JSON {
        .members([
            "mode": self.mode.map { .string($0.rawValue) },
            "pins": .array(self.pins.map { .string($0.description) }),
        ])
    }

    fileprivate init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            Self(
                mode: try m.optional("mode")?.oneOf(PinMode.self),
                pins: try m.required("pins").all(atMost: App.pinLimit) { (f) throws(JSONDefect) in
                    try f.parse(Pin.init(text:))
                })
        }
    }
}

extension ReactionEvidence.Done {
    fileprivate var json: JSON {
        .members([
            "arm": self.arm.map { .string($0.rawValue) }, "step": .string(self.step.rawValue),
            "at": .string(self.at.rfc3339),
        ])
    }

    fileprivate init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            Self(
                arm: try m.optional("arm")?.oneOf(PolicySlot.self),
                step: try m.required("step").oneOf(ReactionStep.self), at: try m.required("at").timestamp())
        }
    }
}

extension LiveKey {
    fileprivate var json: JSON {
        [
            "endpoint": .string(self.endpoint.description), "address": .string(self.address),
            "vantage": .string(self.vantage), "last_seen": .string(self.lastSeen.rfc3339),
            "pins": .array(self.pins.map { .string($0.description) }),
        ]
    }

    fileprivate init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            LiveKey(
                endpoint: try m.required("endpoint").parse(Endpoint.init), address: try m.required("address").string(),
                vantage: try m.required("vantage").string(), lastSeen: try m.required("last_seen").timestamp(),
                pins: try m.required("pins").all(atMost: 100) { (f) throws(JSONDefect) in try f.parse(Pin.init(text:)) }
            )
        }
    }
}

extension NetworkShare {
    fileprivate init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            NetworkShare(
                network: try m.required("network").string(),
                failing: Int(try m.required("failing").integer(0...Int64(ReactionEvidence.largestCount))))
        }
    }
}

extension ReleaseShare {
    fileprivate var json: JSON {
        [
            "release": .string(self.release.text), "installs": .integer(Int64(self.installs)),
            "failing": .integer(Int64(self.failing)),
        ]
    }

    fileprivate init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            let installs = try m.required("installs").integer(0...Int64(ReactionEvidence.largestCount))
            return ReleaseShare(
                release: AdoptionKey.Release(text: try m.required("release").string()), installs: Int(installs),
                failing: Int(try m.required("failing").integer(0...installs)))
        }
    }
}

extension JSONField {
    /// Every element of an array, each read by `read`.
    fileprivate func all<T>(
        atMost limit: Int, _ read: (JSONField) throws(JSONDefect) -> T
    ) throws(JSONDefect) -> [T] {
        var values: [T] = []
        for element in try self.elements(atMost: limit) { values.append(try read(element)) }
        return values
    }
}

extension JSONField? {
    /// The result of `read` for a member that is there.
    fileprivate func read<T>(_ read: (JSONField) throws(JSONDefect) -> T) throws(JSONDefect) -> T? {
        guard let self else { return nil }
        return try read(self)
    }
}
