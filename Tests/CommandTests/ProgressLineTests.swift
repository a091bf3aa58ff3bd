import Testing

@testable import pinledger

@Suite struct `The progress of long work` {
    @Test(
        arguments: [
            (0, 10, "read 0 of 10 events (0 %)"), (999, 1000, "read 999 of 1,000 events (99 %)"),
            (1000, 1000, "read 1,000 of 1,000 events (100 %)"),
            (2_000_000, 1000, "read 2,000,000 of 1,000 events (100 %)"),
            (1_234_567, nil, "read 1,234,567 events"), (5, 0, "read 5 events"),
            (Int64.max, Int64.max, "read 9,223,372,036,854,775,807 of 9,223,372,036,854,775,807 events (100 %)"),
        ] as [(Int64, Int64?, String)])
    func `a line of progress says how much is done`(done: Int64, total: Int64?, text: String) {
        #expect(ProgressLine.text("read", "events", done, of: total) == text)
    }
}
