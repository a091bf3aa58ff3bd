import EventStore
import PinWire
import Pinning

extension LedgerFindings {
    /// True of a sound ledger that ends in the future: nodes go on with it, and nothing is to be repaired.
    var onlyEndAhead: Bool { self.codes == [.timeAhead] }

    /// The judgement on the ledger in one word, for programs.
    var status: String { self.isEmpty ? "clean" : self.onlyEndAhead ? "ahead" : "damaged" }

    /// Prints the findings for people; nothing where there are none.
    func printTable() {
        guard !self.isEmpty else { return }
        var table = Table(["CODE", "POSITION", "OF", "FINDING"])
        for finding in self.kept {
            let last = finding.lastPosition.map { "-\($0)" } ?? ""
            table.add([
                finding.code.rawValue, finding.position.map { "\($0)\(last)" } ?? "", finding.subject ?? "",
                finding.detail,
            ])
        }
        Console.print(table)
        if self.count > self.kept.count { Console.print("and \(self.count - self.kept.count) more") }
    }
}

extension LedgerAuditor.Outcome {
    /// Refuses to call a ledger sound or damaged whose later events this program does not understand.
    ///
    /// - Parameter findings: What was found, and is shown.
    func checkLevel(_ findings: LedgerFindings) throws(CommandFailure) {
        let level = self.state.fleet.featureLevel
        guard level > FeatureLevel.known else { return }
        throw CommandFailure(
            "the ledger is at the feature level \(level), and this program knows \(FeatureLevel.known): it cannot judge all of it",
            advice: "Use the program that the nodes run. Findings may be what only that program knows.",
            status: findings.isEmpty ? .failure : .notVerified)
    }
}

extension LedgerFinding {
    var json: JSON {
        .members([
            "code": .string(self.code.rawValue),
            "position": self.position.map { .integer($0) },
            "last_position": self.lastPosition.map { .integer($0) },
            "of": self.subject.map { .string($0) },
            "detail": .string(self.detail),
        ])
    }
}
