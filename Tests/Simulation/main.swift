import Glibc
// Plays streams of installs to the detectors and prints how often each fires, and after how many installs: the operating
// characteristics that are published with them. Ends with 1 where a figure is not near what is published.
//
// The same numbers in every run. `make simulate` runs it in release configuration, in less than a minute.
import Pinning
import SeededRandom

/// Runs of each figure of the first table, and the installs after which a run ends: 0.05 % is one run.
let runs = 2000
let horizon = 10_000
var report = Report()

// Fired of a hundred, and the median of installs until then.
let five = 0.05
let process = EProcess(threshold: five)
let rules: [(name: String, rule: Rule)] = [
    ("k/n > 5 %", .looking(upTo: horizon) { $0 * 20 > $1 }),
    ("the same from 100 on", .looking(upTo: horizon, from: 100) { $0 * 20 > $1 }),
    ("the same from 1000 on", .looking(upTo: horizon, from: 1000) { $0 * 20 > $1 }),
    (
        "Wilson 95 %, every event from 20 on",
        .looking(upTo: horizon, from: 20) { WilsonBound(z: 1.644_853_6).lower(failing: $0, of: $1) > five }
    ),
    (
        "Wilson z=3.29, every event from 20 on",
        .looking(upTo: horizon, from: 20) { WilsonBound.strict.lower(failing: $0, of: $1) > five }
    ),
    (
        "Wilson z=3.29, every 200",
        .looking(upTo: horizon, every: 200) { WilsonBound.strict.lower(failing: $0, of: $1) > five }
    ),
    ("SPRT 5 v 10, 1/1000", .ratio(0.05, 0.1, limit: log(1000), upTo: horizon)),
    ("e-process Beta(1, 9), 1/1000", .looking(upTo: horizon) { process.fires(failing: $0, of: $1) }),
    ("CUSUM 5 v 10, h=8", .cusum(BernoulliCUSUM(accepted: 0.05, suspected: 0.1, limit: 8))),
    ("CUSUM 5 v 10, h=ln 1e5", .cusum(BernoulliCUSUM(threshold: 0.05))),
]
let shares = [0.005, 0.02, 0.05, 0.07, 0.1, 0.2, 1]
let published: [[(fired: Double, median: Int?)]] = [
    [(9.65, 10), (38.7, 11), (97.8, nil), (100, 10), (100, 7), (100, 4), (100, 1)],
    [(0, nil), (4.2, nil), (95.7, nil), (100, 100), (100, 100), (100, 100), (100, 100)],
    [(0, nil), (0, nil), (89.9, nil), (100, 1000), (100, 1000), (100, 1000), (100, 1000)],
    [(0.05, nil), (1.65, nil), (49, nil), (100, 114), (100, 33), (100, 20), (100, 20)],
    [(0, nil), (0, nil), (3.1, nil), (100, 903), (100, 154), (100, 24), (100, 20)],
    [(0, nil), (0, nil), (0.7, nil), (100, 1200), (100, 400), (100, 200), (100, 200)],
    [(0, nil), (0, nil), (0.05, nil), (47, 1413), (100, 306), (100, 72), (100, 10)],
    [(0, nil), (0, nil), (0.05, nil), (100, 2090), (100, 361), (100, 54), (100, 5)],
    [(0, nil), (0, nil), (3.6, nil), (99, 1695), (100, 314), (100, 81), (100, 12)],
    [(0, nil), (0, nil), (0, nil), (85, 3440), (100, 483), (100, 117), (100, 17)],
]
for (column, share) in shares.enumerated() {
    print("share of failures \(Report.text(share * 100)) %")
    var fired = [[Int]](repeating: [], count: rules.count)
    for seed in 0..<runs {
        var random = SeededGenerator(seed: UInt64(seed * shares.count + column))
        var run = Run(rules.map(\.rule))
        for _ in 0..<horizon where !run.isOver { run.add(isFailure: random.isHit(share)) }
        for (place, installs) in run.fired.enumerated() { if let installs { fired[place].append(installs) } }
    }
    for (place, rule) in rules.enumerated() {
        let known = published[place][column]
        let percent = Double(fired[place].count) * 100 / Double(runs)
        let median = fired[place].median
        // Both figures are of finitely many runs: four standard deviations of the difference, and an eighth of the median.
        let spread = 4 * (2 * max(known.fired, 0.05) * max(100 - known.fired, 0.05) / Double(runs)).squareRoot()
        let isMedianNear = known.median.map { abs(Double((median ?? 0) - $0)) <= max(2, Double($0) / 8) } ?? true
        report.line(
            rule.name, "\(Report.text(percent)) % (\(median.map { "\($0)" } ?? "-"))",
            reference: "\(known.fired) % (\(known.median.map { "\($0)" } ?? "-"))",
            isNear: abs(percent - known.fired) <= max(spread, 1) && isMedianNear)
    }
}
changePoint(&report)
silence(&report)
twoArms(&report)
print(report.failures == 0 ? "All figures are near what is published." : "\(report.failures) figures are not.")
exit(report.failures == 0 ? 0 : 1)
