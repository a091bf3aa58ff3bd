import PinWire
import Testing

@testable import pinledger

@Suite struct `What devices notice of a change` {
    private func lines(_ changes: [JSON], judging: Int64, notSampled: [JSON] = []) -> [String] {
        JudgementText.lines([
            "devices": 10_000, "moved": 10_000, "judging_differently": .integer(judging),
            "population": ["source": "assumed"], "not_sampled": .array(notSampled),
            "hosts": [["host": "a.b", "judged_differently": .array(changes)]],
        ])
    }

    @Test func `devices that get other bytes and judge alike notice nothing`() {
        #expect(
            self.lines([], judging: 0)
                == ["no connection is judged differently (assumed devices: no client reported any)."])
    }

    @Test func `a key that is accepted from then on is an exception, and not a difference for every device`() {
        let lines = self.lines(
            [["key": "sha256/a=", "from": "refuse", "to": "accept", "devices": 10_000]], judging: 10_000)
        #expect(
            lines == [
                "no connection is judged differently, except with these keys (assumed devices: no client reported any):",
                "  a.b with sha256/a=: refuse -> accept, 10000 of 10000 devices",
            ])
    }

    @Test func `connections that are refused from then on are counted`() {
        let lines = self.lines(
            [
                ["key": "sha256/a=", "from": "accept", "to": "refuse", "devices": 2500],
                ["from": "accept_and_report", "to": "refuse", "devices": 2500],
            ], judging: 2500)
        #expect(
            lines == [
                "2500 of 10000 devices judge connections differently (assumed devices: no client reported any):",
                "  a.b with sha256/a=: accept -> refuse, 2500 of 10000 devices",
                "  a.b with any other key: accept and report -> refuse, 2500 of 10000 devices",
            ])
    }

    @Test func `no connection is called unchanged where the change reaches devices that were not sampled`() {
        #expect(
            self.lines([], judging: 0, notSampled: ["country", "listed_id"]) == [
                "not known for devices whose country is known, or with an id on a whitelist or exclusion list: "
                    + "no such device was sampled. No other connection is judged differently "
                    + "(assumed devices: no client reported any)."
            ])
        let lines = self.lines(
            [["key": "sha256/a=", "from": "refuse", "to": "accept", "devices": 10_000]], judging: 10_000,
            notSampled: ["rare"])
        #expect(
            lines == [
                "10000 of 10000 devices judge connections differently (assumed devices: no client reported any):",
                "  a.b with sha256/a=: refuse -> accept, 10000 of 10000 devices",
                "  not known for devices of another kind, which the rules treat differently: no such device was sampled",
            ])
    }

    @Test func `a long list of connections is cut off and counted`() {
        let changes = (0..<25).map { number -> JSON in
            ["key": .string("sha256/\(number)="), "from": "accept", "to": "refuse", "devices": 1]
        }
        let lines = self.lines(changes, judging: 1)
        #expect(lines.count == 22 && lines.last == "  and 5 more")
    }
}
