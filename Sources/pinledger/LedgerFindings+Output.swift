import EventStore
import PinWire

extension LedgerFindings {
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
        Console.print(table.text)
        if self.count > self.kept.count { Console.print("and \(self.count - self.kept.count) more") }
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
