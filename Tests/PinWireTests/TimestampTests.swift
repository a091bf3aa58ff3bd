import Foundation
import PinWire
import SeededRandom
import Testing

@Suite struct `A timestamp` {
    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("1970-01-01T00:00:00.000001Z", 1), ("1970-01-01T00:00:00.250000Z", 250_000),
            ("1972-02-29T00:00:00Z", 68_169_600_000_000), ("2000-02-29T23:59:59Z", 951_868_799_000_000),
            ("2000-03-01T00:00:00Z", 951_868_800_000_000), ("2024-02-29T12:00:00Z", 1_709_208_000_000_000),
            ("2026-01-31T12:00:00.123456Z", 1_769_860_800_123_456), ("2038-01-19T03:14:08Z", 2_147_483_648_000_000),
            ("2100-02-28T23:59:59.999999Z", 4_107_542_399_999_999), ("2100-03-01T00:00:00Z", 4_107_542_400_000_000),
            ("9999-12-31T23:59:59.999999Z", 253_402_300_799_999_999),
        ] as [(String, Int64)])
    func `a timestamp and its text convert to each other`(text: String, microseconds: Int64) throws {
        #expect(Timestamp(microseconds: microseconds).rfc3339 == text)
        #expect(Timestamp(rfc3339: text)?.microseconds == microseconds)
    }

    @Test(arguments: [
        ("2026-01-31t12:00:00z", "2026-01-31T12:00:00Z"), ("2026-01-31T12:00:00.5Z", "2026-01-31T12:00:00.500000Z"),
        ("2026-01-31T12:00:00.000Z", "2026-01-31T12:00:00Z"), ("2026-01-31T12:00:00+00:00", "2026-01-31T12:00:00Z"),
        ("2026-01-31T12:00:00-00:00", "2026-01-31T12:00:00Z"), ("2026-01-31T00:30:00+01:00", "2026-01-30T23:30:00Z"),
        ("2026-12-31T23:30:00-00:45", "2027-01-01T00:15:00Z"), ("2024-03-01T00:00:00+05:30", "2024-02-29T18:30:00Z"),
        ("1970-01-01T23:59:00+23:59", "1970-01-01T00:00:00Z"), ("9999-12-31T00:00:00-23:59", "9999-12-31T23:59:00Z"),
        ("2026-01-31T12:00:00.000001-12:00", "2026-02-01T00:00:00.000001Z"),
    ])
    func `a timestamp of another spelling is the same instant`(text: String, canonical: String) {
        #expect(Timestamp(rfc3339: text)?.rfc3339 == canonical)
    }

    @Test(arguments: [
        "", "2026", "2026-01-31", "2026-01-31T12:00:00", "2026-01-31T12:00Z", "2026-01-31 12:00:00Z",
        "2026-1-31T12:00:00Z", "2026-00-31T12:00:00Z", "2026-13-01T12:00:00Z", "2026-01-00T12:00:00Z",
        "2026-01-32T12:00:00Z", "2026-04-31T12:00:00Z", "2026-02-29T12:00:00Z", "2100-02-29T12:00:00Z",
        "1900-02-29T12:00:00Z", "2024-02-30T12:00:00Z", "2026-01-31T24:00:00Z", "2026-01-31T12:60:00Z",
        "2016-12-31T23:59:60Z", "2026-01-31T12:00:00.Z", "2026-01-31T12:00:00.1234567Z", "2026-01-31T12:00:00,5Z",
        "2026-01-31T12:00:00+0100", "2026-01-31T12:00:00+01", "2026-01-31T12:00:00+24:00", "2026-01-31T12:00:00+01:60",
        "2026-01-31T12:00:00ZZ", "2026-01-31T12:00:00Z ", " 2026-01-31T12:00:00Z", "2026-01-31T12:00:00+01:00Z",
        "+2026-01-31T12:00:00Z", "-2026-01-31T12:00:00Z", "12026-01-31T12:00:00Z", "1969-12-31T23:59:59Z",
        "0000-01-01T00:00:00Z", "1970-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "9999-12-31T23:59:00-23:59",
        "２０２６-01-31T12:00:00Z", "2026-01-31T12:00:0éZ", "2026-W05-6T12:00:00Z", "1769860800", "now",
        "2026-01-31T12:00:00.\(String(repeating: "0", count: 100_000))Z",
    ])
    func `a timestamp is not made of a malformed text`(text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }

    @Test func `a timestamp agrees with Foundation on every day from 1970 to 2400 and reads back from its text`() throws
    {
        let format = Date.ISO8601FormatStyle()
        for day in Int64(0)..<157_060 {
            let time = Timestamp(seconds: day * 86_400 + day % 86_400)
            let text = time.rfc3339
            #expect(Timestamp(rfc3339: text) == time)
            if day % 97 == 0 { #expect(Date(timeIntervalSince1970: Double(time.seconds)).formatted(format) == text) }
        }
    }

    @Test func `a timestamp of any microsecond of its years reads back, and texts are in the order of instants`() throws
    {
        var generator = SeededGenerator(seed: 3339)
        var times: [Timestamp] = []
        for _ in 0..<TestDepth.rounds(5000) {
            let time = Timestamp(microseconds: Int64.random(in: 0...253_402_300_799_999_999, using: &generator))
            #expect(Timestamp(rfc3339: time.rfc3339) == time)
            times.append(Timestamp(seconds: time.seconds))
        }
        #expect(times.sorted().map(\.rfc3339) == times.map(\.rfc3339).sorted())
    }

    @Test func `a timestamp before 1970 rounds its seconds down, too`() {
        #expect(Timestamp(microseconds: -1).seconds == -1)
        #expect(Timestamp(microseconds: -1_000_000).seconds == -1)
        #expect(Timestamp(microseconds: -1_000_001).seconds == -2)
        #expect(Timestamp(microseconds: 1_999_999).seconds == 1)
        #expect(Timestamp(microseconds: -1).rfc3339 == "1969-12-31T23:59:59.999999Z")
        #expect(Timestamp(seconds: 1).adding(seconds: -2) == Timestamp(microseconds: -1_000_000))
    }

    @Test(arguments: [(Int64.max, Int64.max), (.min, .min), (9_223_372_036_855, .max)] as [(Int64, Int64)])
    func `a timestamp of a second beyond all instants is the last or the first`(seconds: Int64, microseconds: Int64) {
        #expect(Timestamp(seconds: seconds) == Timestamp(microseconds: microseconds))
    }
}
