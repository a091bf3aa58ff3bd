import Foundation

/// How far tests go that draw or repeat: `PINLEDGER_TEST_DEPTH=full`, which `make test-all` sets, makes them go all the way.
package enum TestDepth {
    package static let isFull = ProcessInfo.processInfo.environment["PINLEDGER_TEST_DEPTH"] == "full"

    /// So many rounds at full depth; otherwise a tenth of them, and no fewer than a hundred. For rounds that are only more
    /// of the same.
    package static func rounds(_ count: Int) -> Int { self.isFull ? count : max(count / 10, min(count, 100)) }

    /// The seeds of so many long runs at full depth; otherwise of a tenth of them, and no fewer than two.
    package static func seeds(_ count: UInt64) -> Range<UInt64> {
        0..<(self.isFull ? count : max(count / 10, min(count, 2)))
    }
}

/// The seed of tests that draw, which a failure names.
package enum TestSeed {
    /// The seed that `PINLEDGER_TEST_SEED` names, or the test's usual one.
    package static func chosen(or usual: UInt64) -> UInt64 {
        ProcessInfo.processInfo.environment["PINLEDGER_TEST_SEED"].flatMap { UInt64($0) } ?? usual
    }
}
