import Foundation
import PinWire
import Pinning
import Testing

@testable import pinledger

@Suite struct `An event in a sentence` {
    static let lines: [[UInt8]] = {
        let file = SourceTexts.root.appending(path: "Tests/PinningTests/Golden/events.ndjson")
        return ((try? Data(contentsOf: file)) ?? Data()).split(separator: UInt8(ascii: "\n")).map { Array($0) }
    }()

    @Test(arguments: lines) func `every event type has a sentence`(line: [UInt8]) throws {
        let entry = try JSON(parsing: line)
        let text = EventSentence(entry).text
        #expect(text.hasSuffix(".") || text.contains(": "))
        #expect(!text.contains(entry.text("type")))
        #expect(!text.contains(" - ") && !text.hasSuffix(" -."), "\(text)")
    }

    @Test(
        arguments: [
            (["type": "PinMoved", "stream": "app/com.acme", "data": ["host": "a.b"]], "Pin moved: a.b of com.acme."),
            (["type": "PinMoved", "stream": "app/com.acme", "data": [:]], "Pin moved: com.acme."),
            (["type": "FleetMoved", "stream": "fleet", "data": [:]], "Fleet moved."),
        ] as [(JSON, String)])
    func `an event's sentence is made of its type's name where there is no other`(event: JSON, text: String) {
        #expect(EventSentence(event).text == text)
    }

    @Test func `an event's sentence says until when pinning is off, in the operator's time and in UTC`() throws {
        let zone = try #require(TimeZone(secondsFromGMT: 7200))
        let now = try #require(Timestamp(rfc3339: "2026-11-22T00:30:00Z"))
        let end = try #require(Timestamp(rfc3339: "2026-11-22T01:24:00Z"))
        #expect(LocalTime.text(end, now: now, zone: zone) == "03:24 local time (01:24Z)")
        let later = try #require(Timestamp(rfc3339: "2026-11-22T23:24:00Z"))
        #expect(LocalTime.text(later, now: now, zone: zone) == "2026-11-23 01:24 local time (2026-11-22T23:24Z)")
    }

    @Test(
        arguments: [
            (["pointer": "/mode", "before": "enforce", "after": "off"], "mode: enforce -> off"),
            (
                ["pointer": "/hosts/a.b/baseline/pins", "after": ["x", "y"]],
                "hosts, a.b, baseline, pins: x; y is added"
            ),
            (
                ["pointer": "/hosts/~0a~1b", "before": ["mode": "off", "is_on": true]],
                "hosts, ~a/b: is on yes, mode off is removed"
            ),
        ] as [(JSON, String)])
    func `an event's sentence shows a readable difference`(item: JSON, line: String) {
        #expect(DifferenceLine.text(item) == line)
    }
}
