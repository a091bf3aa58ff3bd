import PinWire
import Testing

@testable import Pinning

/// Sketches against known numbers of installs. All ids are made by counting: what fails, fails each time.
@Suite struct InstallSketchTests {
    private static let salt = Array(repeating: UInt8(3), count: 32)

    /// As an id would leave it, quickly made: SplitMix64.
    private static func mark(_ number: Int) -> InstallMark {
        var bits = UInt64(truncatingIfNeeded: number) &* 0x9E37_79B9_7F4A_7C15
        bits = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ bits >> 27) &* 0x94D0_49BB_1331_11EB
        return InstallMark(bits: bits ^ bits >> 31)
    }

    /// The mark of an id.
    private static func hashed(_ number: Int) -> InstallMark {
        let bytes = (0..<16).map { UInt8(truncatingIfNeeded: number >> ($0 < 8 ? $0 * 8 : 63)) }
        guard let install = InstallID(bytes: bytes) else { fatalError("sixteen bytes") }
        return InstallMark(install, of: shop, salt: Self.salt)
    }

    private static func sketch(_ numbers: Range<Int>) -> InstallSketch {
        var sketch = InstallSketch()
        for number in numbers { sketch.insert(Self.mark(number)) }
        return sketch
    }

    @Test(arguments: [0, 1, 2, 10, 100, 1000, 3000, 5000, 7000, 10_000, 100_000])
    func `the estimate is within three standard errors`(count: Int) {
        var sketch = InstallSketch()
        for number in 0..<count { sketch.insert(Self.hashed(number)) }
        let estimate = sketch.estimate
        #expect(abs(estimate - Double(count)) <= 3 * 0.023 * Double(count), "\(estimate)")
        if count <= 10 { #expect(Int(estimate.rounded()) == count) }
    }

    @Test func `the standard error of the estimate is 2.3 percent`() {
        let count = 20_000
        let errors = (0..<40).map { round in
            Self.sketch(round * count + 1_000_000..<(round + 1) * count + 1_000_000).estimate / Double(count) - 1
        }
        let deviation = (errors.map { $0 * $0 }.reduce(0, +) / Double(errors.count)).squareRoot()
        #expect(deviation < 0.032, "\(deviation)")
        #expect(deviation > 0.012, "\(deviation)")
    }

    @Test func `the union of sketches is the sketch of the union`() {
        let (left, right) = (Self.sketch(0..<6000), Self.sketch(4000..<9000))
        var union = left
        union.formUnion(right)
        #expect(union == Self.sketch(0..<9000))
        var other = right
        other.formUnion(left)
        #expect(union == other)
        var again = union
        again.formUnion(left)
        again.formUnion(InstallSketch())
        #expect(again == union)
    }

    @Test func `an install counts once however often it comes`() {
        var sketch = Self.sketch(0..<500)
        let before = sketch
        let changes = (0..<500).count { sketch.insert(Self.mark($0)) }
        #expect(changes == 0)
        #expect(sketch == before)
    }

    @Test func `registers are read back, and malformed ones are refused`() {
        let sketch = Self.sketch(0..<1000)
        #expect(InstallSketch(registers: sketch.registers) == sketch)
        #expect(InstallSketch(registers: Array(sketch.registers.dropLast())) == nil)
        #expect(InstallSketch(registers: Array(repeating: 55, count: InstallSketch.size)) == nil)
        #expect(InstallSketch(registers: Array(repeating: 54, count: InstallSketch.size))?.estimate.isFinite == true)
    }

    @Test func `the extreme hashes fit into the sketch`() {
        var sketch = InstallSketch()
        sketch.insert(InstallMark(bits: 0))
        sketch.insert(InstallMark(bits: .max))
        #expect(sketch.registers[0] == 54)
        #expect(sketch.registers[InstallSketch.size - 1] == 1)
    }

    @Test func `an install id leaves another mark with another app and another salt`() throws {
        let install = try #require(InstallID("uw5PSUQ3lNkB6Jaf8RvREg"))
        let mark = InstallMark(install, of: shop, salt: Self.salt)
        #expect(mark == InstallMark(install, of: shop, salt: Self.salt))
        #expect(mark != InstallMark(install, of: appID("com.example.other"), salt: Self.salt))
        #expect(mark != InstallMark(install, of: shop, salt: Array(repeating: 4, count: 32)))
    }

    // MARK: Shares

    /// Installs in all, and how many of a thousand hold the version.
    static let populations = [40, 400, 4000, 40_000].flatMap { count in
        [0, 100, 500, 900, 950, 990, 999, 1000].map { (count, $0) }
    }

    /// The sketches of the first installs, for each number that ``populations`` needs.
    private static let first: [Int: InstallSketch] = {
        var (sketch, known) = (InstallSketch(), 0)
        var sketches: [Int: InstallSketch] = [:]
        for number in Set(populations.flatMap { [$0.0, $0.0 * $0.1 / 1000] }).sorted() {
            for install in known..<number { sketch.insert(Self.mark(install)) }
            (sketches[number], known) = (sketch, number)
        }
        return sketches
    }()

    @Test(arguments: populations)
    func `the estimate of a share is near the truth`(count: Int, perMille: Int) throws {
        let holders = count * perMille / 1000
        let (some, all) = (try #require(Self.first[holders]), try #require(Self.first[count]))
        let share = AdoptionShare(InstallComparison(of: some, in: all))
        let truth = Double(holders) * 10_000 / Double(count)
        #expect(share.basis == .installs)
        #expect(
            share.lowerBasisPoints <= share.basisPoints ?? -1 && share.basisPoints ?? .max <= share.upperBasisPoints)
        #expect(abs(Double(share.basisPoints ?? -1) - truth) < 500, "\(share) \(truth)")
    }

    @Test func `the bounds miss the truth about once in twenty times`() {
        let (count, rounds) = (5000, 100)
        let numbers = [500, 2500, 4500, 4900, 4990, 5000]
        var misses: [Int: Int] = [:]
        for round in 0..<rounds {
            let start = 10_000_000 + round * count
            let all = Self.sketch(start..<start + count)
            // Those who hold the version are those of the number before, and some more.
            var (some, known) = (InstallSketch(), 0)
            for holders in numbers {
                for install in start + known..<start + holders { some.insert(Self.mark(install)) }
                known = holders
                let share = AdoptionShare(InstallComparison(of: some, in: all))
                let truth = holders * 10_000 / count
                if truth < share.lowerBasisPoints || truth > share.upperBasisPoints {
                    misses[holders, default: 0] += 1
                }
            }
        }
        for holders in numbers { #expect(misses[holders, default: 0] <= 12, "\(holders): \(misses)") }
    }

    @Test func `near the end the bounds are narrow enough to tell`() {
        let all = Self.sketch(0..<50_000)
        let done = AdoptionShare(InstallComparison(of: all, in: all))
        #expect(done.basisPoints == 10_000)
        #expect(done.lowerBasisPoints >= 9950)
        let nearly = AdoptionShare(InstallComparison(of: Self.sketch(0..<49_500), in: all))
        #expect(nearly.lowerBasisPoints >= 9800)
        #expect(nearly.upperBasisPoints < 10_000)
    }

    @Test func `a few installs prove little`() {
        let all = Self.sketch(0..<3)
        let share = AdoptionShare(InstallComparison(of: all, in: all))
        #expect(share.basisPoints == 10_000)
        #expect(share.lowerBasisPoints < 5000)
        #expect(share.sample == 3)
    }

    @Test func `the expected share of installs behind falls from all to none as the share grows`() {
        for count in [1, 50, 5000, 500_000] {
            var sketch = InstallSketch()
            for number in 0..<min(count, 50_000) { sketch.insert(Self.mark(number)) }
            let comparison = InstallComparison(of: InstallSketch(), in: sketch)
            let parts = stride(from: 0.0, through: 1.0, by: 0.05).map { comparison.partBehind(at: $0) }
            #expect(zip(parts, parts.dropFirst()).allSatisfy { $0 > $1 })
            #expect(abs((parts.first ?? 0) - 1) < 1e-9)
            #expect(abs(parts.last ?? 1) < 1e-9)
        }
    }
}
