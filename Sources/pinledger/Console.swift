import Foundation
import PinWire

/// The program's output for people and scripts: data goes to standard output, everything else to standard error.
enum Console {
    /// Writes a line of data. A reader that is gone (`pinledger history | head`) ends the program as SIGPIPE would.
    static func print(_ text: String) {
        do { try FileHandle.standardOutput.write(contentsOf: Data((text + "\n").utf8)) } catch { exit(128 + SIGPIPE) }
    }

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
            // As a table: a text as it is, without what could move the cursor.
            if output.kind != .json, output.kind != .yaml, case .string(let text) = value {
                Self.line(text)
            } else {
                Self.print(value, output.kind)
            }
        }
    }

    private static func print(_ json: JSON, _ kind: OutputForm.Kind) {
        guard kind == .yaml, let text = try? YAMLText.text(of: json) else { return Self.print(json.canonicalText) }
        Self.write(Array(text.utf8))
    }

    /// Writes a line of data with texts from files and servers in it: control characters are shown as `?`.
    static func line(_ text: String) { Self.print(text.withoutControls()) }

    /// Writes data unchanged, and ends the same way where its reader is gone.
    static func write(_ bytes: [UInt8]) {
        do { try FileHandle.standardOutput.write(contentsOf: Data(bytes)) } catch { exit(128 + SIGPIPE) }
    }

    /// Writes a line for people; a reader that is gone loses nothing. Control characters but line feeds are shown as `?`, so
    /// that a text from a server cannot move the cursor.
    static func error(_ text: String) {
        let text = text.withoutControls(but: "\n")
        try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
    }
}

extension String {
    /// The text with `?` for each control character, and for each that changes the direction of the text around it.
    fileprivate func withoutControls(but kept: Unicode.Scalar? = nil) -> String {
        String(
            self.unicodeScalars.map { scalar in
                let isControl = scalar.properties.generalCategory == .control || scalar.properties.isBidiControl
                return isControl && scalar != kept ? "?" : Character(scalar)
            })
    }
}

/// Columns of text for people.
struct Table {
    private var rows: [[String]]

    init(_ header: [String]) {
        self.rows = [header]
    }

    mutating func add(_ row: [String]) { self.rows.append(row) }

    /// The table with columns as wide as their widest cell. Control characters are shown as `?`, so that a text from the
    /// server cannot move the cursor.
    var text: String {
        let rows = self.rows.map { row in
            row.map { $0.withoutControls() }
        }
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in rows.map { $0.count > column ? $0[column].count : 0 }.max() ?? 0 }
        return rows.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                line += cell
                if column + 1 < row.count { line += String(repeating: " ", count: widths[column] - cell.count + 2) }
            }
            return line
        }.joined(separator: "\n")
    }
}
