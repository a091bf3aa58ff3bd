import PinWire
import Pinning
import SeededRandom
import Testing

/// The special functions and the detectors against numbers of sixty digits, and at the ends of what they take.
@Suite struct `The detectors` {
    @Test func `the detectors agree with a computation to sixty digits`() throws {
        for row in try vectors("beta") {
            let (a, b, x) = (try row.number("a"), try row.number("b"), try row.number("x"))
            let (lower, upper) = (IncompleteBeta.lnLower(x, a, b), IncompleteBeta.lnUpper(x, a, b))
            #expect(agrees(lower, try row.number("ln_lower"), to: 2e-10), "\(row.canonicalText) \(lower)")
            #expect(agrees(upper, try row.number("ln_upper"), to: 2e-10), "\(row.canonicalText) \(upper)")
        }
        for row in try vectors("evidence") {
            let process = EProcess(threshold: try row.number("p0"), a: try row.number("a"), b: try row.number("b"))
            let evidence = process.lnEvidence(failing: Int(try row.number("k")), of: Int(try row.number("n")))
            #expect(agrees(evidence, try row.number("ln_e"), to: 2e-9), "\(row.canonicalText) \(evidence)")
        }
    }

    static let shares: [Double] = [0, 1e-300, 1e-9, 0.0001, 0.05, 0.5, 0.9999, 1 - 1e-12, 1]

    @Test(arguments: shares) func `the detectors never give a value that is not a number`(share: Double) {
        for n in [0, 1, 2, 30, 1000, 1_000_000] {
            for k in Set([0, 1, n / 20, n / 2, n - 1, n]).filter({ (0...n).contains($0) }) {
                let note: Comment = "\(k) of \(n)"
                for (a, b) in [(1.0, 9.0), (1, 1)] {
                    let evidence = EProcess(threshold: share, a: a, b: b).lnEvidence(failing: k, of: n)
                    #expect(!evidence.isNaN, note)
                    if share > 0 { #expect(evidence < .infinity, note) }
                }
                #expect(!BinomialTail.ln(atLeast: k, of: n, p: share).isNaN, note)
                #expect((0...1).contains(BinomialTail.probability(atLeast: k, of: n, p: share)), note)
                #expect((0...1).contains(WilsonBound.strict.lower(failing: k, of: n)), note)
                let check = SampleRatioCheck(candidate: k, baseline: n - k, expected: share)
                #expect(!check.probability.isNaN, note)
            }
        }
    }

    @Test func `the detectors treat shares far below the threshold as no evidence at all`() {
        let process = EProcess(threshold: 0.05)
        // What is left is the weight of the shares just above the threshold, which falls with 1/n.
        #expect(process.lnEvidence(failing: 0, of: 1_000_000) < -11)
        #expect(process.lnEvidence(failing: 5000, of: 1_000_000) < -11)
        #expect(!process.fires(failing: 0, of: 1_000_000))
        #expect(BinomialTail.ln(atLeast: 1_000_000, of: 1_000_000, p: 1e-9) < -2e7)
        #expect(BinomialTail.ln(atLeast: 2, of: 1, p: 0.5) == -.infinity)
    }

    @Test func `the detectors find stronger evidence in more failures`() {
        let process = EProcess(threshold: 0.02)
        var before = -Double.infinity
        for k in 0...500 {
            let evidence = process.lnEvidence(failing: k, of: 500)
            #expect(evidence > before)
            before = evidence
        }
        #expect(EProcess(threshold: 0.9999).fewestFiring(of: 10) == nil)
        #expect(process.fewestFiring(of: 0) == nil)
    }

    /// Robbins' test is a martingale at the threshold: its mean over what may come next is what it is.
    @Test func `the detectors expect no gain from the next install under the null hypothesis`() {
        for (p0, a, b) in [(0.05, 1.0, 9.0), (0.3, 1, 1)] {
            let process = EProcess(threshold: p0, a: a, b: b)
            for (k, n) in [(0, 0), (0, 10), (3, 20), (16, 100), (60, 1000)] {
                // At the threshold itself, by Robbins' construction.
                let now = exponential(process.lnEvidence(failing: k, of: n))
                let failed = exponential(process.lnEvidence(failing: k + 1, of: n + 1))
                let passed = exponential(process.lnEvidence(failing: k, of: n + 1))
                #expect(abs((p0 * failed + (1 - p0) * passed) / now - 1) < 1e-9)
                #expect(p0 / 2 * failed + (1 - p0 / 2) * passed < now)
            }
        }
    }

    // The change-point detector

    @Test func `the detectors forget a good past`() {
        var cusum = BernoulliCUSUM(threshold: 0.05)
        cusum.add(failing: 100, of: 20_000)
        #expect(cusum.sum == 0 && cusum.installs == 0 && !cusum.fires)
        for count in 1...17 {
            cusum.add(isFailure: true)
            #expect(cusum.fires == (count == 17))
        }
        #expect(cusum.installs == 17 && cusum.failing == 17)
        #expect(cusum.sum == cusum.sum(failing: 17, of: 17))
        cusum.add(failing: 0, of: 218)
        #expect(cusum.sum == 0 && cusum.installs == 0)
    }

    @Test func `the detectors take a minute's outcomes in the least favourable order`() {
        var random = SeededGenerator(seed: 5)
        var (minutes, single) = (BernoulliCUSUM(threshold: 0.05), BernoulliCUSUM(threshold: 0.05))
        for _ in 0..<TestDepth.rounds(2000) {
            let outcomes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                Int.random(in: 0..<100, using: &random) < 6
            }
            for outcome in outcomes { single.add(isFailure: outcome) }
            minutes.add(failing: outcomes.count { $0 }, of: outcomes.count)
            #expect(minutes.sum <= single.sum + 1e-9)
        }
    }

    @Test func `the detectors' second share lies above the first`() {
        for share in [0.0001, 0.05, 0.4999, 0.5, 0.7, 0.9999] {
            let cusum = BernoulliCUSUM(threshold: share)
            #expect(cusum.accepted < cusum.suspected && cusum.suspected < 1)
            #expect(cusum.failureStep > 0 && cusum.successStep < 0)
        }
    }

    // The sample ratio

    @Test func `the detectors see that an arm is missing`() {
        #expect(!SampleRatioCheck(candidate: 500, baseline: 9500, expected: 0.05).isMismatch)
        #expect(!SampleRatioCheck(candidate: 560, baseline: 9440, expected: 0.05).isMismatch)
        #expect(SampleRatioCheck(candidate: 600, baseline: 9400, expected: 0.05).isMismatch)
        #expect(SampleRatioCheck(candidate: 0, baseline: 10_000, expected: 0.05).isMismatch)
        // Pearson's figure for 60 and 40 of an even split is 4, of which the probability is 0.0455.
        let even = SampleRatioCheck(candidate: 60, baseline: 40, expected: 0.5)
        #expect(even.chiSquare == 4 && abs(even.probability - 0.045_500_264) < 1e-9)
        #expect(!SampleRatioCheck(candidate: 4, baseline: 0, expected: 0.01).isMismatch)
    }
}
