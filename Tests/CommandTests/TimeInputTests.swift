import PinWire
import Testing

@testable import pinledger

@Suite struct `A time that an option takes` {
    /// 2026-11-22T12:00:00Z.
    private let now = Timestamp(seconds: 1_795_348_800)

    @Test(
        arguments: [
            ("30d", "2026-12-22T12:00:00Z"), ("1h30m", "2026-11-22T13:30:00Z"), ("1w", "2026-11-29T12:00:00Z"),
            ("now", "2026-11-22T12:00:00Z"), ("2026-11-23", "2026-11-23T00:00:00Z"),
            ("2026-11-23 18:30", "2026-11-23T18:30:00Z"), ("2026-11-23T18:30", "2026-11-23T18:30:00Z"),
            ("2026-11-23T18:30:15Z", "2026-11-23T18:30:15Z"), ("2026-11-23T18:30:00+01:00", "2026-11-23T17:30:00Z"),
            ("2026-11-23T18:30:00-05:30", "2026-11-24T00:00:00Z"), ("2026-11-23T18:30+01:00", "2026-11-23T17:30:00Z"),
        ])
    func `a time option takes a moment, a day, or a length from now`(text: String, moment: String) throws {
        #expect(try TimeInput.rfc3339(text, .ahead, now: self.now) == moment)
    }

    @Test(arguments: [("30d", "2026-10-23T12:00:00Z"), ("2026-11-01", "2026-11-01T00:00:00Z")])
    func `a time option that looks back takes a length before now`(text: String, moment: String) throws {
        #expect(try TimeInput.rfc3339(text, .back, now: self.now) == moment)
    }

    @Test(
        arguments: [
            ("90s", 90), ("30m", 1800), ("4h", 14_400), ("1d12h", 129_600), ("2026-11-22T14:00:00Z", 7200),
            ("2026-11-23", 43_200),
        ] as [(String, Int64)])
    func `a length option also takes the moment at which the length ends`(text: String, seconds: Int64) throws {
        #expect(try TimeInput.seconds(text, now: self.now) == seconds)
    }

    @Test(
        arguments: [
            "", "30", "d", "-3d", "3 d", "1.5h", "99999999999999999999s", "9999999999w", "2026-13-01", "2026-11-31",
            "2026-11-23T25:00:00Z", "2026-11-23T18:30:00+24:00", "2026-11-23T18:30:00+1:00", "yesterday",
            String(repeating: "1d", count: 30_000) + "x",
        ])
    func `a malformed time is refused with an example of a valid one`(text: String) {
        #expect {
            try TimeInput.rfc3339(text, .ahead, now: self.now)
        } throws: { ($0 as? CommandFailure)?.advice?.contains("2026-11-22") == true }
        #expect(throws: CommandFailure.self) { try TimeInput.seconds(text, now: self.now) }
    }

    @Test func `a moment in the past is refused as a length`() {
        #expect(throws: CommandFailure.self) { try TimeInput.seconds("2026-11-22T11:59:59Z", now: self.now) }
    }
}
