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

    @Test func `an event's sentence says with its date until when pinning is off`() {
        let event: JSON = [
            "type": "KillSwitchEngaged", "stream": "app/com.acme", "data": ["expires_at": "2026-11-22T23:24:00Z"],
        ]
        let end = LocalTime.text("2026-11-22T23:24:00Z")
        #expect(EventSentence(event).text == "Pinning is OFF for com.acme until \(end).")
    }
}
