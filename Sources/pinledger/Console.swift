import Foundation

/// Where people and scripts read: data goes to standard output, everything else to standard error.
enum Console {
    static func print(_ text: String) {
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }

    static func error(_ text: String) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
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
            row.map { cell in
                String(cell.unicodeScalars.map { $0.properties.generalCategory == .control ? "?" : Character($0) })
            }
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
