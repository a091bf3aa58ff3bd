import Foundation
import PinWire

/// The program's output for people and scripts: data goes to standard output, everything else to standard error.
///
/// Texts of servers and files may hold what a terminal obeys. For people it is shown as `?`, in JSON and YAML it is escaped, and the
/// bytes of files reach programs alone.
enum Console {
    /// True where standard output leads to people, by way of a pager too. The first use comes before a pager takes its place.
    static let isTerminal = isatty(STDOUT_FILENO) == 1

    /// The columns of the terminal that standard output leads to, by way of a pager too; nil where it leads to a program.
    /// The first use comes before a pager takes its place.
    static let width: Int? = Self.isTerminal ? Self.columns : nil

    private static var columns: Int {
        if let given = Environment["COLUMNS"].flatMap(Int.init), (1...10_000).contains(given) { return given }
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// True where words may have a colour: in a terminal that shows colours and not in a pager, unless NO_COLOR is set.
    static var isColoured: Bool {
        isatty(STDOUT_FILENO) == 1 && (Environment["NO_COLOR"] ?? "").isEmpty
            && !["", "dumb"].contains(Environment["TERM"] ?? "")
    }

    /// Writes a table, as wide as the terminal at most.
    static func print(_ table: Table) { Self.put(table.text(width: Self.width, isColoured: Self.isColoured) + "\n") }

    /// Writes lines of text. A reader that is gone (`pinledger history | head`) ends the program as SIGPIPE would.
    static func print(_ text: String) { Self.put(text.withoutControls(but: ["\n", "\t"]) + "\n") }

    /// Writes a value in a form for programs: in JSON on one line, or in YAML; or the part of it that is asked for. A value that is not
    /// there ends the program.
    static func print(_ json: JSON, _ output: OutputForm) {
        guard let query = output.query else { return Self.print(json, output.kind) }
        let values = query.values(in: json)
        guard query.isMany || !values.isEmpty else {
            Self.error("pinledger: the answer has no value at the path of --query")
            Self.error("  Look at the whole answer with --output yaml.")
            exit(ExitStatus.notFound.rawValue)
        }
        for value in values {
            // As a table: a text as it is.
            if output.kind != .json, output.kind != .yaml, case .string(let text) = value {
                Self.line(text)
            } else {
                Self.print(value, output.kind)
            }
        }
    }

    private static func print(_ json: JSON, _ kind: OutputForm.Kind) {
        guard kind == .yaml, let text = try? YAMLText.text(of: json) else {
            return Self.put(json.canonicalText.withEscapedControls + "\n")
        }
        Self.put(text)
    }

    /// Writes one line of text; a line feed in it is shown as `?` too.
    static func line(_ text: String) { Self.put(text.withoutControls() + "\n") }

    /// Writes the bytes of a file or of an answer: unchanged for programs, and for people as other text.
    static func write(_ bytes: [UInt8]) {
        guard Self.isTerminal else { return Self.put(bytes) }
        // A line's end of two bytes, found in the bytes: what a server sends is slow to search as text.
        let ends = bytes.indices.dropLast().filter { bytes[$0] == 0x0D && bytes[$0 + 1] == 0x0A }
        var plain: [UInt8] = []
        var start = bytes.startIndex
        for end in ends {
            plain += bytes[start..<end]
            start = end + 1
        }
        plain += bytes[start...]
        Self.put(String(decoding: plain, as: UTF8.self).withoutControls(but: ["\n", "\t"]))
    }

    /// Moves the cursor of a terminal home, and empties all below it; what was scrolled away stays.
    static func clear() {
        if Self.isTerminal { Self.put("\u{1B}[H\u{1B}[2J") }
    }

    private static func put(_ text: String) { Self.put(Array(text.utf8)) }

    private static func put(_ bytes: [UInt8]) {
        do { try FileHandle.standardOutput.write(contentsOf: Data(bytes)) } catch { exit(128 + SIGPIPE) }
    }

    /// Writes lines for people; a reader that is gone loses nothing.
    static func error(_ text: String) {
        let text = text.withoutControls(but: ["\n"])
        try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
    }
}
