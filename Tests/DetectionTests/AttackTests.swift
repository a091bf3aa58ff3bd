import PinWire
import Pinning
import SeededRandom
import Testing

/// Reports that are forged, and mistakes that are honest.
@Suite struct `Reports` {
    /// 10,000 installs of which 0.5 % fail honestly, over an hour, and forged failing ones beside them.
    private func attacked(_ scene: Scene, by forged: Int) -> Scene {
        scene.with {
            $0.minutes = (0..<50).map { minute in
                let extra = minute == 40 ? forged : 0
                return (after: Int64(minute), installs: 200 + extra, failing: 1 + extra)
            }
            $0.networks = Array(repeating: (50 + forged) / 20, count: 20)
        }
    }

    @Test(arguments: [474, 582]) func `forged reports do not weaken what servers present`(forged: Int) throws {
        let pinned = Scene().with { $0.sightings = [("graz", 3, 60), ("wien", 3, 60)] }
        let candidate = try #require(self.attacked(pinned, by: forged).verdict)
        let sample = candidate.evidence.sample
        #expect(sample.installs == 10_000 + forged && sample.failing == 50 + forged)
        // The rule of five per cent, which would have turned pinning off.
        #expect(sample.failing * 20 > sample.installs)
        // Above the threshold by 0.5 % and by 1 %: only the second is more than chance.
        #expect((candidate.lnStage ?? 0 >= 6.907_755) == (forged == 582))
        // All in one minute they are a burst in either case. An alert is raised, and nothing else.
        #expect(candidate.step == .page && candidate.truth == .pinned)
        let steady = Scene.steady.with { $0.sightings = [("graz", 1, 60), ("wien", 2, 60)] }
        let burst = try #require(self.attacked(steady, by: forged).verdict)
        #expect(burst.step == .page && burst.reasons == [.changePoint, .livePinned])
        // Where nobody looks, a forger of signed reports can hold a rollout or undo it, and no more.
        let blind = try #require(self.attacked(pinned.with { $0.sightings = [] }, by: forged).verdict)
        #expect(blind.step == .rollBack)
        let blindSteady = try #require(self.attacked(steady.with { $0.sightings = [] }, by: forged).verdict)
        #expect(blindSteady.step == .page)
    }

    @Test func `reports of an honest mistake roll it back within two minutes`() throws {
        // A twentieth of the devices gets pins that no server matches; ten of them connect in a minute.
        var scene = Scene().with { $0.minutes = [] }
        var needed: Int?
        for minute in 0..<60 where needed == nil {
            scene.minutes.append((Int64(minute), 10, 10))
            scene.networks = Array(repeating: scene.minutes.count, count: 10)
            let verdict = try #require(scene.verdict)
            #expect(verdict.reasons.contains(.stageTest))
            if verdict.step == .rollBack {
                needed = verdict.evidence.sample.installs
            } else {
                #expect(verdict.step == .hold)
            }
        }
        #expect(needed == 30)
    }

    @Test func `reports never justify more than their evidence allows`() throws {
        var random = SeededGenerator(seed: 11)
        func pick<T>(_ choices: [T]) -> T { choices[Int.random(in: choices.indices, using: &random)] }
        var seen: [ReactionStep: Int] = [:]
        for _ in 0..<TestDepth.rounds(4000) {
            var scene = pick([Scene(), Scene.steady, `A reaction`.reportedOnly])
            func sometimes(_ change: (inout Scene) -> Void) {
                if pick([true, false, false, false]) { change(&scene) }
            }
            sometimes {
                $0.baseline = pick([nil, Scene.policy(pick(PinMode.allCases), pick([[1, 2], [1, 3], [5, 6]]))])
            }
            sometimes { $0.candidate = pick([nil, Scene.policy(pick(PinMode.allCases), pick([[1, 2], [3, 4]]))]) }
            sometimes { $0.rollout = pick([nil, Rollout(basisPoints: pick([0, 500, 10_000]))]) }
            sometimes { $0.monitoring.autoDisables.toggle() }
            sometimes {
                $0.sightings = (0..<pick([0, 1, 2])).map { _ in
                    (pick(["graz", "wien"]), pick([1, 3, 7]), pick([60, 5000, 90_000]))
                }
            }
            sometimes { $0.arm = pick([nil, .baseline, .candidate]) }
            sometimes { $0.version = pick([0, 4, 11]) }
            sometimes { $0.isAuthenticated = false }
            sometimes { $0.minutes = [(0, pick([5, 15, 500]), 5), (1, pick([15, 500]), pick([1, 15]))] }
            sometimes { $0.networks = pick([[10], [5, 5], [8, 1, 1]]) }
            sometimes {
                let ago: Int64 = pick([4000, 60])
                $0.reactionsTaken = [
                    .init(host: api, arm: .baseline, step: .reportOnly, at: noon.adding(seconds: -ago))
                ]
            }
            let verdict = try #require(scene.verdict)
            seen[verdict.step, default: 0] += 1
            let evidence = verdict.evidence
            if verdict.truth == .pinned { #expect(verdict.step <= .page) }
            if verdict.truth != .unpinned { #expect(verdict.step <= .rollBack) }
            if !scene.isAuthenticated || evidence.isOlder || evidence.isUnheardOf { #expect(verdict.step <= .hold) }
            if verdict.step > .hold {
                #expect(evidence.sample.distinctInstalls >= 30 && evidence.sample.distinctFailing >= 5)
                #expect(evidence.networkCount >= 3)
            }
            if verdict.step == .rollBack { #expect(evidence.arm == .candidate && evidence.isExposed) }
            if verdict.step == .killSwitch { #expect(evidence.autoDisables && evidence.last?.step == .reportOnly) }
            #expect(try ReactionVerdict(JSONField(verdict.json)) == verdict)
        }
        for step in ReactionStep.allCases { #expect(seen[step, default: 0] > 0, "\(step)") }
    }

    // What an auditor does

    @Test func `an auditor reaches the same verdict from the same reports`() throws {
        let verdict = try #require(
            Scene().with { $0.releases = [("3.1.2", 30, 30), ("", 0, 0)] }
                .withBaselineReports(installs: 600, failing: 2).verdict)
        let text = verdict.json.canonicalText
        let read = try ReactionVerdict(JSONField(try JSON(text: text)))
        #expect(read == verdict && read.json.canonicalText == text)
        #expect(verdict.json["step"] == "roll_back" && verdict.json["evidence"]?["sample"]?["failing"] == 30)
    }

    static let forgeries: [(String, JSON)] = [
        ("step", "kill_switch"), ("ln_e", 9), ("reasons", []), ("live_key", "unknown"), ("detector", "other/1"),
        ("stage_one_in", 10), ("extra", 1),
    ]

    @Test(arguments: forgeries) func `an auditor refuses any other verdict on the reports`(member: String, value: JSON)
        throws
    {
        let verdict = try #require(Scene().verdict)
        var members = try #require(verdict.json.objectValue)
        members[member] = value
        #expect(throws: JSONDefect.self) { try ReactionVerdict(JSONField(.object(members))) }
    }

    @Test func `an auditor refuses any other evidence for the verdict`() throws {
        let verdict = try #require(Scene().verdict)
        var members = try #require(verdict.json.objectValue)
        var evidence = try #require(members["evidence"]?.objectValue)
        evidence["authenticated"] = false
        members["evidence"] = .object(evidence)
        #expect(throws: JSONDefect.self) { try ReactionVerdict(JSONField(.object(members))) }
        evidence["authenticated"] = nil
        members["evidence"] = .object(evidence)
        #expect(throws: JSONDefect.self) { try ReactionVerdict(JSONField(.object(members))) }
    }

    /// An entry of the ledger has at most 65,535 bytes.
    @Test func `the largest evidence of reports fits into an entry`() throws {
        let scene = Scene().with {
            $0.baseline = Scene.policy(.enforce, Array(1...100))
            $0.candidate = Scene.policy(.enforce, Array(101...200))
            $0.networks = Array(repeating: 3, count: 40)
            $0.releases = (0..<40).map { ("100.200.\($0)", 1_000_000, 20) }
            $0.sightings = (0..<60).map { ("vantage-\($0)", 300 + $0, 60) }
        }
        let verdict = try #require(scene.withBaselineReports(installs: 1000, failing: 5).verdict)
        #expect(verdict.evidence.live.count == ReactionEvidence.liveLimit && verdict.evidence.networks.count == 32)
        #expect(verdict.json.canonicalBytes.count < 32_768)
    }

    @Test func `evidence keeps the reports for either policy, wherever else was looked`() throws {
        let scene = Scene().with {
            $0.sightings = (0..<60).map { ("vantage-\($0)", 300 + $0, 60) } + [("graz", 1, 60), ("wien", 3, 60)]
        }
        let evidence = try #require(scene.verdict).evidence
        #expect(evidence.live.count == ReactionEvidence.liveLimit)
        #expect(evidence.live.prefix(2).map(\.vantage) == ["wien", "graz"])
    }

    // What would have been

    @Test func `reports tell when other thresholds would have fired`() throws {
        // Half an hour of calm, and then every fifth install fails.
        let scene = Scene.steady.with {
            $0.minutes = (0..<60).map { (after: Int64($0), installs: 100, failing: $0 < 30 ? 0 : 20) }
        }
        let telemetry = TelemetryFacts(measuredAt: noon, cells: [scene.cell])
        let usual = try #require(ReactionReplay.wouldHaveFired(on: telemetry, threshold: 500).first)
        #expect(usual.total == .init(installs: 6000, failing: 600) && usual.arm == .baseline)
        let start = noon.adding(seconds: -3600)
        #expect(usual.change?.minute == start.adding(seconds: 31 * 60))
        #expect(usual.change?.seen == .init(installs: 3200, failing: 40))
        // A sum over everything needs a quarter of an hour more.
        #expect(usual.stage?.minute == start.adding(seconds: 44 * 60))
        let lax = try #require(ReactionReplay.wouldHaveFired(on: telemetry, threshold: 2500).first)
        #expect(lax.stage == nil && lax.change == nil)
        let hasty = try #require(
            ReactionReplay.wouldHaveFired(on: telemetry, threshold: 500, changeOneIn: 100).first)
        #expect(hasty.change?.minute == start.adding(seconds: 30 * 60))
        #expect(ReactionReplay.wouldHaveFired(on: TelemetryFacts(measuredAt: noon, cells: []), threshold: 1).isEmpty)
    }
}
