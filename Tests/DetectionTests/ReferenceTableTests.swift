import Pinning
import Testing

/// The published numbers of the detectors: those that any other implementation has to come to as well.
@Suite struct `The reference's numbers` {
    struct Row: Sendable, CustomTestStringConvertible {
        var k: Int
        var n: Int
        var wilson95: Double
        var wilson: Double
        var tail: Double
        var evidence: Double

        init(_ k: Int, _ n: Int, _ wilson95: Double, _ wilson: Double, _ tail: Double, _ ln: Double) {
            (self.k, self.n, self.wilson95, self.wilson) = (k, n, wilson95, wilson)
            (self.tail, self.evidence) = (tail, ln)
        }

        var testDescription: String { "\(self.k) of \(self.n)" }
    }

    static let rows: [Row] = [
        Row(0, 1, 0, 0, 1, -0.105360516),
        Row(1, 1, 0.269866, 0.084548, 0.05, 1.06471074),
        Row(1, 10, 0.022635, 0.007897, 0.401263, 0.0),
        Row(3, 20, 0.061582, 0.028199, 0.0754837, 1.00006332),
        Row(6, 20, 0.163859, 0.089724, 0.000329294, 5.14429805),
        Row(5, 5, 0.648883, 0.315905, 3.125e-07, 7.83836597),
        Row(4, 4, 0.596521, 0.269768, 6.25e-06, 5.87199959),
        Row(7, 50, 0.077721, 0.044275, 0.0117864, 2.22662362),
        Row(12, 50, 0.155667, 0.100244, 4.97289e-06, 8.96275174),
        Row(5, 100, 0.024547, 0.012887, 0.564019, -1.33471366),
        Row(10, 100, 0.060719, 0.037492, 0.0281883, 1.23281279),
        Row(16, 100, 0.108784, 0.073911, 3.70541e-05, 7.13403882),
        Row(50, 1000, 0.039828, 0.031754, 0.520259, -2.48566335),
        Row(75, 1000, 0.062417, 0.051915, 0.000411343, 3.90259811),
        Row(80, 1000, 0.066996, 0.056063, 3.48864e-05, 6.22653142),
        Row(100, 1000, 0.085459, 0.072941, 8.41025e-11, 18.7271462),
        Row(600, 10000, 0.056211, 0.052651, 4.50939e-06, 6.96055806),
        Row(500, 10000, 0.046535, 0.043303, 0.506407, -3.64762381),
    ]

    @Test(arguments: rows) func `every detector reproduces the reference's numbers`(row: Row) {
        #expect(abs(WilsonBound(z: 1.644_853_6).lower(failing: row.k, of: row.n) - row.wilson95) < 6e-7)
        #expect(abs(WilsonBound.strict.lower(failing: row.k, of: row.n) - row.wilson) < 6e-7)
        let tail = BinomialTail.probability(atLeast: row.k, of: row.n, p: 0.05)
        #expect(abs(tail / row.tail - 1) < 5e-6)
        let evidence = EProcess(threshold: 0.05).lnEvidence(failing: row.k, of: row.n)
        #expect(abs(evidence - row.evidence) < 6e-8)
        let fires = [[5, 5], [12, 50], [16, 100], [100, 1000], [600, 10_000]].contains([row.k, row.n])
        #expect(EProcess(threshold: 0.05).fires(failing: row.k, of: row.n) == fires)
    }

    /// For a number of installs: the fewest failures at which the naive rule fires (5 %), the exact tail (10⁻³), Wilson's
    /// bound (z = 3.29), and the e-process (10⁻³).
    static let fewest: [[Int]] = [
        [5, 1, 4, 2, 5], [10, 1, 5, 3, 6], [20, 2, 6, 5, 7], [50, 3, 9, 8, 11], [100, 6, 14, 13, 16],
        [200, 11, 22, 21, 25], [500, 26, 42, 42, 48], [1000, 51, 74, 73, 82],
        [5000, 251, 300, 301, 321], [10_000, 501, 570, 572, 600],
    ]

    @Test(arguments: fewest) func `the reference's numbers say how many failures each rule needs`(row: [Int]) {
        let n = row[0]
        func first(_ fires: (Int) -> Bool) -> Int? { (0...n).first(where: fires) }
        #expect(first { $0 * 20 > n } == row[1])
        #expect(first { BinomialTail.ln(atLeast: $0, of: n, p: 0.05) < -6.907_755_279 } == row[2])
        #expect(first { WilsonBound.strict.lower(failing: $0, of: n) > 0.05 } == row[3])
        #expect(EProcess(threshold: 0.05).fewestFiring(of: n) == row[4])
    }

    @Test func `the reference's numbers name the limit and the steps`() {
        #expect(abs(EProcess(threshold: 0.05).limit - 6.907_755) < 5e-7)
        let five = BernoulliCUSUM(threshold: 0.05)
        #expect(abs(five.failureStep - 0.693_147_181) < 5e-10 && abs(five.successStep + 0.054_067_221) < 5e-10)
        #expect(abs(five.limit - 11.512_925) < 5e-7)
        let one = BernoulliCUSUM(accepted: 0.01, suspected: 0.05, limit: 8)
        #expect(abs(one.failureStep - 1.609_437_912) < 5e-10 && abs(one.successStep + 0.041_242_959) < 5e-10)
    }

    /// An attacker among 10,000 installs of which 0.5 % fail honestly.
    @Test func `the reference's numbers price an attack on the naive rule and on the e-process`() {
        func forged(_ fires: (Int, Int) -> Bool) -> Int? { (0...2000).first { fires(50 + $0, 10_000 + $0) } }
        #expect(forged { $0 * 20 > $1 } == 474)
        #expect(forged { EProcess(threshold: 0.05).fires(failing: $0, of: $1) } == 582)
    }

    /// The two-arm test of a rollout at 5 %.
    @Test func `the reference's numbers tell the arms apart`() throws {
        let test = TwoArmTest(share: 0.05)
        #expect(!test.fires(candidateFailing: 2, allFailing: 2) && test.fires(candidateFailing: 3, allFailing: 3))
        let fewest = try #require((0...10).first { test.fires(candidateFailing: $0, allFailing: 10) })
        #expect((5...6).contains(fewest))
        // As many as belong there, or fewer, are never anything.
        #expect(!test.fires(candidateFailing: 500, allFailing: 10_000))
        #expect(TwoArmTest(candidate: 0, baseline: 5) == nil && TwoArmTest(candidate: 5, baseline: 0) == nil)
        #expect(TwoArmTest(candidate: 5, baseline: 95)?.share == 0.05)
    }
}
