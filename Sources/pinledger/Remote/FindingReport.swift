import PinWire

/// The findings of guard rails, for people: one line each, with the advice below it.
enum FindingReport {
    static func print(_ findings: [JSON], indent: String = "", _ write: (String) -> Void = { Console.print($0) }) {
        for line in Self.lines(findings) { write(indent + line) }
    }

    static func lines(_ findings: [JSON], _ words: TerminalWords = .running) -> [String] {
        findings.flatMap { finding in
            let isKnown = finding.text("verdict") == "violated"
            let severity = isKnown ? finding.text("severity") : "unknown"
            return [
                "\(finding.text("code")) \(severity): \(words.text(finding.text("detail")))",
                "     \(words.text(finding.text("remedy")))",
            ]
        }
    }
}
