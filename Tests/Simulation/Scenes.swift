import Glibc
import Pinning
import SeededRandom

/// 20,000 installs of which 0.5 % fail, then 4000 of which 30 % do: installs until a rule fires, counted from the change.
func changePoint(_ report: inout Report) {
    let (calm, storm, runs) = (20_000, 4000, 400)
    print("0.5 % for \(calm) installs, then 30 %")
    let process = EProcess(threshold: 0.05)
    let rules: [Rule] = [
        .looking(upTo: calm + storm, from: 1000) { $0 * 20 > $1 },
        .looking(upTo: calm + storm, from: 20) { WilsonBound.strict.lower(failing: $0, of: $1) > 0.05 },
        .ratio(0.05, 0.1, limit: log(1000), upTo: calm + storm),
        .looking(upTo: calm + storm) { process.fires(failing: $0, of: $1) },
        .cusum(BernoulliCUSUM(accepted: 0.05, suspected: 0.1, limit: 8)),
        .cusum(BernoulliCUSUM(threshold: 0.05)),
    ]
    let known: [(name: String, fired: Double, delay: Int?)] = [
        ("k/n > 5 % from 1000 on", 100, 3584), ("Wilson z=3.29, every event", 40, 3925), ("SPRT 5 v 10", 0, nil),
        ("e-process Beta(1, 9), 1/1000", 5, 3950), ("CUSUM 5 v 10, h=8", 100, 45), ("CUSUM 5 v 10, h=ln 1e5", 100, 67),
    ]
    var delays = [[Int]](repeating: [], count: rules.count)
    var early = 0
    for seed in 0..<runs {
        var random = SeededGenerator(seed: UInt64(1_000_000 + seed))
        var run = Run(rules)
        for place in 0..<(calm + storm) { run.add(isFailure: random.isHit(place < calm ? 0.005 : 0.3)) }
        for (place, installs) in run.fired.enumerated() {
            guard let installs else { continue }
            if installs > calm { delays[place].append(installs - calm) } else { early += 1 }
        }
    }
    for (place, known) in known.enumerated() {
        let percent = Double(delays[place].count) * 100 / Double(runs)
        let isDelayNear = known.delay.map { abs(Double((delays[place].median ?? 0) - $0)) <= Double($0) / 8 } ?? true
        report.line(
            known.name, "\(Report.text(percent)) % (\(delays[place].median.map { "\($0)" } ?? "-"))",
            reference: "\(known.fired) % (\(known.delay.map { "\($0)" } ?? "-"))",
            isNear: abs(percent - known.fired) <= 12 && isDelayNear)
    }
    report.line("alarms before the change", "\(early)", reference: "0", isNear: early == 0)
}

/// Installs between false alarms of the change-point detector, where exactly the accepted share fails.
func silence(_ report: inout Report) {
    let (cap, runs) = (120_000, 400)
    print("CUSUM 5 v 10 at a share of 5 %, \(runs) runs of at most \(cap) installs")
    for (limit, share) in [(4.6, 0.05), (6.9, 0.05), (8, 0.05), (6.9, 0.03)] {
        var total = 0
        var silent = 0
        for seed in 0..<runs {
            var random = SeededGenerator(seed: UInt64(2_000_000 + seed))
            var cusum = BernoulliCUSUM(accepted: 0.05, suspected: 0.1, limit: limit)
            var installs = 0
            while installs < cap, !cusum.fires {
                cusum.add(isFailure: random.isHit(share))
                installs += 1
            }
            total += installs
            if !cusum.fires { silent += 1 }
        }
        let mean = total / runs
        let quiet = Double(silent) * 100 / Double(runs)
        let (reference, isNear) =
            switch (limit, share) {
            case (4.6, _): ("a mean of 6600", abs(mean - 6600) < 1000)
            case (6.9, 0.05): ("a mean of 47000 and more, 19 % silent", mean > 42_000 && abs(quiet - 19) < 8)
            case (6.9, _): ("all silent at a share of 3 %", silent == runs)
            default: ("most silent", quiet > 50)
            }
        report.line(
            "h=\(limit), share \(Report.text(share * 100)) %", "mean \(mean), \(Report.text(quiet)) % silent",
            reference: reference, isNear: isNear)
    }
}

/// The two-arm test of a rollout at 5 %: failures and installs until it fires.
func twoArms(_ report: inout Report) {
    let (limit, runs) = (200_000, 400)
    print("two arms, 5 % of devices in the candidate's, \(runs) runs of at most \(limit) installs")
    let test = TwoArmTest(share: 0.05)
    guard
        case .boundary(let fewest) = Rule.looking(
            upTo: 20_000, { test.fires(candidateFailing: $0, allFailing: $1) })
    else { return }
    let scenes: [(share: Double, failures: Int?, installs: Int?)] = [
        (0.003, nil, nil), (1, 3, 56), (0.05, 10, 1900), (0.01, 117, 36_000),
    ]
    for scene in scenes {
        var failures: [Int] = []
        var installs: [Int] = []
        for seed in 0..<runs {
            var random = SeededGenerator(seed: UInt64(3_000_000 + seed))
            var (failing, candidate, count) = (0, 0, 0)
            while count < limit {
                count += 1
                let isCandidate = random.isHit(0.05)
                guard random.isHit(isCandidate ? scene.share : 0.003) else { continue }
                failing += 1
                if isCandidate { candidate += 1 }
                if candidate >= fewest[failing] {
                    failures.append(failing)
                    installs.append(count)
                    break
                }
            }
        }
        let measured =
            "\(Report.text(Double(installs.count) * 100 / Double(runs))) % (\(failures.median ?? 0) failures, \(installs.median ?? 0))"
        let name = "0.3 % against \(Report.text(scene.share * 100)) %"
        guard let knownFailures = scene.failures, let knownInstalls = scene.installs else {
            report.line(name, measured, reference: "no alarm", isNear: installs.isEmpty)
            continue
        }
        let isNear =
            installs.count == runs
            && abs((failures.median ?? 0) - knownFailures) <= max(1, knownFailures / 5)
            && abs((installs.median ?? 0) - knownInstalls) <= max(15, knownInstalls / 5)
        report.line(
            name, measured, reference: "\(knownFailures) failures, \(knownInstalls) installs", isNear: isNear)
    }
}
