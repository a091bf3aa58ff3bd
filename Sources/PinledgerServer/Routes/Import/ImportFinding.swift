import PinWire

/// Something that an import has to say about a file: where, what and what to do.
struct ImportFinding: Sendable, Hashable {
    enum Severity: String, Sendable {
        /// Nothing is recorded.
        case fatal
        /// Recorded, and an operator should check it.
        case warning
        /// A default was taken.
        case note
    }

    /// Where in the file.
    enum Place: Sendable, Hashable {
        case whole
        /// In a JSON text.
        case value(JSONPointer)
        /// In a text that should be JSON and is none.
        case syntax(JSONPointer, line: Int, column: Int)
        /// In any other text; both count from 1.
        case text(line: Int, column: Int)
    }

    var severity: Severity
    var place: Place
    /// What is the matter, as a sentence without a full stop.
    var message: String
    var advice: String

    /// In a JSON text; empty for the whole, and for other texts.
    var pointer: JSONPointer {
        switch self.place {
        case .value(let pointer), .syntax(let pointer, _, _): pointer
        case .whole, .text: JSONPointer()
        }
    }

    /// In a text that is read by lines; nil for the whole, and for a value of a JSON text.
    private var position: (line: Int, column: Int)? {
        switch self.place {
        case .syntax(_, let line, let column), .text(let line, let column): (line, column)
        case .whole, .value: nil
        }
    }

    var json: JSON {
        var members: [String: JSON] = [
            "severity": .string(self.severity.rawValue), "pointer": .string(self.pointer.text),
            "detail": .string(self.message), "advice": .string(self.advice),
        ]
        if let (line, column) = self.position {
            members["line"] = .integer(Int64(line))
            members["column"] = .integer(Int64(column))
        }
        return .object(members)
    }

    /// The finding as an error of a problem, in which the place of a text stands in words.
    var defect: JSONDefect {
        var words = "\(self.message). \(self.advice)"
        if let (line, column) = self.position { words = "line \(line), column \(column): \(words)" }
        return JSONDefect(pointer: self.pointer, message: words)
    }
}
