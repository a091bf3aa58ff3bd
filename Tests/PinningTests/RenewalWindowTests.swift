import PinWire
import Testing

@testable import Pinning

@Suite struct `A window for renewal` {
    private static func window(_ start: String, _ end: String, _ explanation: JSON? = nil) -> RenewalWindow? {
        RenewalWindow(
            .members([
                "suggestedWindow": ["start": .string(start), "end": .string(end)], "explanationURL": explanation,
            ]))
    }

    @Test func `a window for renewal is read as RFC 9773 shows it`() throws {
        let window = try #require(
            Self.window("2025-01-02T04:00:00Z", "2025-01-03T04:00:00Z", "https://acme.example.com/docs/ari"))
        #expect(window.start.rfc3339 == "2025-01-02T04:00:00Z" && window.end.rfc3339 == "2025-01-03T04:00:00Z")
        #expect(window.explanation == "https://acme.example.com/docs/ari")
    }

    @Test(arguments: [
        ("2025-01-03T04:00:00Z", "2025-01-02T04:00:00Z"), ("2025-01-02T04:00:00Z", "2025-01-02T04:00:00Z"), ("", ""),
        ("yesterday", "2025-01-02T04:00:00Z"),
    ])
    func `a window without a beginning before its end is none`(start: String, end: String) {
        #expect(Self.window(start, end) == nil)
    }

    @Test(
        arguments: [
            "http://example.com/", "javascript:x", "https://example.com/\u{1B}[2J", "https://\u{202E}x", 7, .null,
        ] as [JSON])
    func `an explanation that is no plain https address is left out`(explanation: JSON) throws {
        let window = try #require(Self.window("2025-01-02T04:00:00Z", "2025-01-03T04:00:00Z", explanation))
        #expect(window.explanation == nil)
    }

    @Test func `an explanation from a row of the database is looked at too`() {
        let (start, end) = (Timestamp(seconds: 1), Timestamp(seconds: 2))
        #expect(RenewalWindow(start: start, end: end, explanation: "call \u{1B}[31m0900").explanation == nil)
        #expect(RenewalWindow(start: start, end: end, explanation: "https://a.example/").explanation != nil)
    }
}
