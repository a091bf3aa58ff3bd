import ArgumentParser
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

    @Test(
        arguments: [
            ("2026-13-01", "there is no month 13"), ("2026-22-11", "if day and month are swapped, it is 2026-11-22"),
            ("2026-11-31", "the month 2026-11 has no day 31"), ("2026-02-29T10:00", "the month 2026-02 has no day 29"),
            ("0001-01-01", "no year before 1970"), ("1969-12-31T10:00", "no year before 1970"),
            ("22.11.2026", "begins with the year"), ("11/22/2026", "begins with the year"),
        ])
    func `a date that does not exist is refused with what is wrong in it`(text: String, fault: String) {
        #expect {
            try TimeInput.moment(text, .back, now: self.now)
        } throws: { ($0 as? CommandFailure)?.message.contains(fault) == true }
    }

    @Test func `a date at which something is looked at is the end of the day`() throws {
        #expect(try TimeInput.pastMoment("2026-11-21", now: self.now)?.rfc3339 == "2026-11-21T23:59:59.999999Z")
        #expect(try TimeInput.pastMoment("2026-11-21T00:00:00Z", now: self.now)?.rfc3339 == "2026-11-21T00:00:00Z")
        #expect(try TimeInput.pastMoment("1d", now: self.now)?.rfc3339 == "2026-11-21T12:00:00Z")
        // The day is not over: the present.
        #expect(try TimeInput.pastMoment("2026-11-22", now: self.now) == nil)
        #expect(throws: CommandFailure.self) { try TimeInput.pastMoment("2026-11-23", now: self.now) }
    }

    @Test func `a whole day has both its ends`() throws {
        let day = try TimeInput.wholeDay("2026-11-21", now: self.now)
        #expect(day.lowerBound.rfc3339 == "2026-11-21T00:00:00Z" && day.upperBound.rfc3339 == "2026-11-22T00:00:00Z")
        for text in ["2026-11-23", "1d", "2026-11-21T00:00:00Z", "2026-21-11"] {
            #expect(throws: CommandFailure.self) { try TimeInput.wholeDay(text, now: self.now) }
        }
    }

    @Test(
        arguments: [
            (["--since", "2026-11-22", "--until", "2026-11-01"], "the two are swapped"),
            (["--since", "7d", "--until", "30d"], "the two are swapped"),
            (["--since", "2026-11-22", "--until", "2026-11-22"], "the same moment"),
            (["--day", "2026-11-01", "--since", "1d"], "not both"),
        ])
    func `a period whose times are swapped, or the same, is refused`(words: [String], fault: String) throws {
        let options = try PeriodOptions.parse(words)
        #expect {
            try options.range()
        } throws: { ($0 as? CommandFailure)?.message.contains(fault) == true }
    }

    @Test func `a day is a period`() throws {
        let range = try PeriodOptions.parse(["--day", "2026-11-01"]).range(since: "7d")
        #expect(range.since == "2026-11-01T00:00:00Z" && range.until == "2026-11-02T00:00:00Z")
        #expect(try PeriodOptions.parse(["--until", "1d"]).range().since == nil)
        #expect(try PeriodOptions.parse([]).range(since: "7d").since != nil)
    }

    @Test func `a moment in the past is refused as a length`() {
        #expect(throws: CommandFailure.self) { try TimeInput.seconds("2026-11-22T11:59:59Z", now: self.now) }
    }
}
