import PinWire
import Testing

@testable import pinledger

@Suite struct `How many learn of a kill switch` {
    @Test func `installs that were seen are counted`() {
        let adoption: JSON = [
            "window": ["since": "2026-11-22T00:00:00Z", "installs_since": "2026-11-21T00:00:00Z"],
            "seen": ["requests": 5000, "installs": 1200],
            "not_known": [["code": "some_installs", "detail": "Only some clients send an install id."]],
        ]
        let since = LocalTime.text("2026-11-21T00:00:00Z")
        #expect(
            KillReach.installs(in: adoption) == [
                "About 1200 installs will learn of it: so many were seen since \(since). Only some clients send an install id."
            ])
    }

    @Test func `a number that is not known is said to be, with the reason`() {
        let adoption: JSON = [
            "window": ["since": "2026-11-22T00:00:00Z"], "seen": ["requests": 0],
            "not_known": [["code": "nothing_seen", "detail": "No client was seen."]],
        ]
        #expect(
            KillReach.installs(in: adoption) == ["How many installs will learn of it is not known. No client was seen."]
        )
        #expect(KillReach.installs(in: nil).first?.contains("not known") == true)
    }

    @Test func `requests stand for installs that send no id`() {
        let adoption: JSON = [
            "window": ["since": "2026-11-22T00:00:00Z"], "seen": ["requests": 70],
            "not_known": [["code": "no_installs", "detail": "No client sends an install id."]],
        ]
        #expect(KillReach.installs(in: adoption).first?.contains("No client sends an install id. 70 requests") == true)
    }

    @Test func `the time until they learn of it is that of an earlier change`() {
        let forecast: JSON = [
            "delivery_seconds": 86_460, "adoption": ["at_least_seconds": 7200, "at_most_seconds": 172_800],
        ]
        #expect(
            KillReach.pace(in: forecast)
                == "99 % of the clients took at least 2 h, and at most 2 d to get an earlier change. A client that fetches as it should does so within 25 h."
        )
        #expect(KillReach.pace(in: ["delivery_seconds": 60]).contains("is not known"))
        #expect(KillReach.pace(in: nil).contains("is not known"))
    }
}
