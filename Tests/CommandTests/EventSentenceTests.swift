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

    @Test func `the sentence of a release claims no more than that the switch is released`() {
        let rest = "policies hold again, unless another switch stands."
        let event: JSON = ["type": "KillSwitchReleased", "stream": "app/com.acme", "data": ["host": "a.b"]]
        #expect(EventSentence(event).text == "The kill switch of a.b of com.acme is released: the modes of its \(rest)")
        let versions: JSON = [
            "type": "KillSwitchReleased", "stream": "app/com.acme", "data": ["versions": ["minimum": "2.0"]],
        ]
        #expect(EventSentence(versions).text.hasSuffix(" is released: the modes of its \(rest)"))
        let fleet: JSON = ["type": "FleetKillSwitchReleased", "stream": "fleet", "data": [:]]
        #expect(EventSentence(fleet).text == "The kill switch of all apps is released: the modes of their \(rest)")
    }

    @Test(
        arguments: [
            (.null, "All devices get"), (["basis_points": 2500], "25 % of the devices get"),
            (["basis_points": 2500, "method": "percentage"], "25 % of the devices get"),
            (["basis_points": 10_000, "method": "geography", "countries": ["DE"]], "100 % of the devices in DE get"),
            (
                [
                    "basis_points": 500, "method": "geography", "countries": ["AT", "DE"], "whitelist": ["a", "b"],
                    "exclusions": ["c"],
                ],
                "5 % of the devices in AT, DE, and those with the 2 listed ids, without those on the exclusion list, get"
            ),
            (
                ["basis_points": 0, "method": "whitelist", "whitelist": ["a"]],
                "Only the devices with the 1 listed id get"
            ),
            (["basis_points": 10_000, "method": "whitelist"], "No devices get"),
        ] as [(JSON, String)])
    func `an event's sentence names the devices that a rollout lets in`(rollout: JSON, subject: String) {
        let event: JSON = [
            "type": "HostRolloutSet", "stream": "app/com.acme", "data": ["host": "a.b", "rollout": rollout],
        ]
        #expect(EventSentence(event).text == "\(subject) the candidate of a.b of com.acme.")
    }

    @Test func `a rollout in a few words counts the ids on its lists`() {
        let rollout: JSON = [
            "basis_points": 0, "method": "whitelist", "seed": ["user_id"], "whitelist": ["a"],
            "exclusions": ["b", "c"],
        ]
        #expect(
            RolloutText.text(rollout)
                == "0 % by whitelist of user_id, 1 id on the whitelist, 2 ids on the exclusion list")
    }

    @Test func `an event's sentence says with its date until when pinning is off`() {
        let event: JSON = [
            "type": "KillSwitchEngaged", "stream": "app/com.acme", "data": ["expires_at": "2026-11-22T23:24:00Z"],
        ]
        let end = LocalTime.text("2026-11-22T23:24:00Z")
        #expect(EventSentence(event).text == "Pinning is OFF for com.acme until \(end).")
    }
}
