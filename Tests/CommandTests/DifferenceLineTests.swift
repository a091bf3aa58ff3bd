import PinWire
import Testing

@testable import pinledger

@Suite struct `A difference in lines` {
    private static let pin = "sha256/r4nd0mPinHash="
    private static let place = "/hosts/api.example.com/baseline/pins/sha256~1r4nd0mPinHash="

    @Test(
        arguments: [
            (
                ["pointer": .string(place), "after": ["pin": .string(pin), "role": "backup", "state": "active"]],
                ["+ pin sha256/r4nd0mPinHash= (backup) for api.example.com"]
            ),
            (
                ["pointer": .string(place), "before": ["pin": .string(pin), "role": "primary", "state": "active"]],
                ["- pin sha256/r4nd0mPinHash= (primary) for api.example.com"]
            ),
            (
                ["pointer": .string(place), "after": ["pin": .string(pin), "role": "backup", "state": "staged"]],
                ["+ pin sha256/r4nd0mPinHash= (backup, staged) for api.example.com"]
            ),
            (
                ["pointer": .string(place + "/state"), "before": "active", "after": "retired"],
                ["- pin sha256/r4nd0mPinHash= for api.example.com: active -> retired"]
            ),
            (
                ["pointer": .string(place + "/state"), "before": "staged", "after": "active"],
                ["+ pin sha256/r4nd0mPinHash= for api.example.com: staged -> active"]
            ),
            (
                ["pointer": .string(place + "/role"), "before": "backup", "after": "primary"],
                ["~ pin sha256/r4nd0mPinHash= for api.example.com: backup -> primary"]
            ),
            (["pointer": .string(place + "/since"), "before": "a", "after": "b"], []),
        ] as [(JSON, [String])])
    func `a pin is added or removed with its role and its host`(item: JSON, lines: [String]) {
        #expect(DifferenceLine.lines(item) == lines)
    }

    @Test func `a host that is added has a line for each pin`() {
        let policy: JSON = ["mode": "enforce", "pins": [["pin": "sha256/a=", "role": "primary", "state": "active"]]]
        let host: JSON = [
            "host": "a.b", "include_subdomains": true, "baseline": policy,
            "candidate": ["mode": "off", "pins": [["pin": "sha256/b=", "role": "backup", "state": "active"]]],
        ]
        #expect(
            DifferenceLine.lines(["pointer": "/hosts/a.b", "before": .null, "after": host]) == [
                "+ host a.b (enforce, with its subdomains)", "+ pin sha256/a= (primary) for a.b",
                "+ candidate of a.b (off)", "+ pin sha256/b= (backup) for the candidate of a.b",
            ])
        #expect(
            DifferenceLine.lines(["pointer": "/hosts/a.b/candidate", "before": host["candidate"] ?? .null]) == [
                "- candidate of a.b (off)", "- pin sha256/b= (backup) for the candidate of a.b",
            ])
    }

    @Test(
        arguments: [
            (["pointer": "/mode", "before": "enforce", "after": "off"], ["~ mode: enforce -> off"]),
            (
                ["pointer": "/hosts/a.b/baseline/mode", "before": "enforce", "after": "off"],
                ["~ a.b, mode: enforce -> off"]
            ),
            (["pointer": "/endpoints", "after": ["x", "y"]], ["+ endpoints: x; y"]),
            (["pointer": "/~0a~1b", "before": ["mode": "off", "is_on": true]], ["- ~a/b: is on yes, mode off"]),
            (["pointer": "/version", "before": 7, "after": 8], []),
            (["pointer": "/host_count", "before": 7, "after": 8], []),
            (["pointer": "/rotations/r/phase_since", "before": 7, "after": 8], []),
            (["pointer": "/rollout_plan/since", "before": 7, "after": 8], []),
            // A thing's name may have the text of any member.
            (["pointer": "/roles/version", "after": ["apps.read"]], ["+ roles, version: apps.read"]),
            (
                ["pointer": "/approval_rules/since", "after": ["approvals": 1]],
                ["+ approval rules, since: approvals 1"]
            ),
            (
                ["pointer": "/approval_rules/since/approvals", "before": 1, "after": 2],
                ["~ approval rules, since, approvals: 1 -> 2"]
            ),
            (
                ["pointer": "/rotations/host_count", "after": ["phase": "stage"]],
                ["+ rotations, host_count: phase stage"]
            ),
            (["pointer": "/rotations/roles/phase_since", "before": 7, "after": 8], []),
            (["pointer": "/principals/p/grants/since", "before": 7], ["- principals, p, grants, since: 7"]),
            (["pointer": "/roles/baseline", "after": ["apps.read"]], ["+ roles, baseline: apps.read"]),
            (["pointer": "/roles/on_call", "after": ["apps.read"]], ["+ roles, on_call: apps.read"]),
            (["pointer": "/hosts", "before": 7, "after": 8], ["~ hosts: 7 -> 8"]),
            (["pointer": "/hosts/a.b", "before": 7, "after": 8], ["~ a.b: 7 -> 8"]),
            (["pointer": "/hosts/a.b/baseline/pins/p", "before": 7, "after": 8], ["~ a.b, pins, p: 7 -> 8"]),
            (["pointer": ""], []),
        ] as [(JSON, [String])])
    func `every other difference has its place and both values`(item: JSON, lines: [String]) {
        #expect(DifferenceLine.lines(item) == lines)
    }
}
