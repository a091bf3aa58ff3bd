/// Columns of text for people.
///
/// Control characters are shown as `?`, so that a text from the server cannot move the cursor.
struct Table {
    private var rows: [[String]]

    /// The space between two columns.
    private static let gap = 2

    init(_ header: [String]) {
        self.rows = [header]
    }

    mutating func add(_ row: [String]) { self.rows.append(row) }

    /// The table for standard output, without colours.
    var text: String { self.text(width: Console.width) }

    /// The table with columns as wide as their widest cell.
    ///
    /// Where that is too wide, cells go on in further lines; no word is cut. Where the longest words do not fit beside each other
    /// either, each row becomes lines with the header's word before each cell.
    ///
    /// - Parameters:
    ///   - width: The most characters of a line; nil for any number. A word that is longer makes a longer line.
    ///   - isColoured: Whether severities and states have a colour.
    func text(width: Int?, isColoured: Bool = false) -> String {
        let rows = self.rows.map { row in row.map { Cell($0.withoutControls()) } }
        let columns = rows.map(\.count).max() ?? 0
        let natural = Self.widest(rows, columns, \.width)
        let header = rows.first ?? []
        let styles = (0..<columns).map { isColoured && header.count > $0 && WordColour.styles(header[$0].text) }
        guard let width, natural.reduce(0, +) + Self.gap * max(0, columns - 1) > width else {
            return Self.columns(rows, natural, styles)
        }
        let room = width - Self.gap * max(0, columns - 1)
        guard let widths = Self.widths(least: Self.widest(rows, columns, \.longestWord), natural, room) else {
            return Self.records(rows, width, styles)
        }
        return Self.columns(rows, widths, styles)
    }

    /// A text in the table.
    private struct Cell {
        let text: String
        let width: Int
        let words: [Substring]
        let longestWord: Int

        init(_ text: String) {
            self.text = text
            self.width = text.count
            // Spaces before the first word are an indentation, and stay with it.
            let indentation = text.prefix { $0 == " " }
            var words = text.dropFirst(indentation.count).split(separator: " ")
            if !indentation.isEmpty, let first = words.first { words[0] = indentation + first }
            self.words = words
            self.longestWord = words.map(\.count).max() ?? 0
        }

        /// The text in lines of at most so many characters, or of one word.
        func lines(_ width: Int) -> [String] {
            guard self.width > width else { return [self.text] }
            var lines: [String] = []
            var (line, length) = ("", 0)
            for word in self.words {
                if length > 0, length + 1 + word.count > width {
                    lines.append(line)
                    (line, length) = ("", 0)
                }
                line += length > 0 ? " \(word)" : word
                length += word.count + (length > 0 ? 1 : 0)
            }
            return lines + [line]
        }
    }

    private static func widest(_ rows: [[Cell]], _ columns: Int, _ measure: (Cell) -> Int) -> [Int] {
        (0..<columns).map { column in rows.map { $0.count > column ? measure($0[column]) : 0 }.max() ?? 0 }
    }

    /// The widths of columns that have so much room together: the narrowest that are not whole grow first; nil where the longest words
    /// have no room.
    private static func widths(least: [Int], _ natural: [Int], _ room: Int) -> [Int]? {
        var widths = least
        var spare = room - least.reduce(0, +)
        guard spare >= 0 else { return nil }
        while spare > 0,
            let column = widths.indices.filter({ widths[$0] < natural[$0] }).min(by: { widths[$0] < widths[$1] })
        {
            widths[column] += 1
            spare -= 1
        }
        return widths
    }

    private static func columns(_ rows: [[Cell]], _ widths: [Int], _ styles: [Bool]) -> String {
        var lines: [String] = []
        for (number, row) in rows.enumerated() {
            let cells = row.enumerated().map { column, cell in cell.lines(widths[column]) }
            for place in 0..<(cells.map(\.count).max() ?? 0) {
                // A cell that is over takes no space at the end of its line.
                let last = cells.lastIndex { place < $0.count && !(place > 0 && $0[place].isEmpty) } ?? 0
                var line = ""
                for (column, parts) in cells.enumerated() where place == 0 || column <= last {
                    let part = place < parts.count ? parts[place] : ""
                    line += number > 0 && styles[column] ? WordColour.coloured(part) : part
                    let isLast = column + 1 == row.count || (place > 0 && column == last)
                    if !isLast { line += String(repeating: " ", count: widths[column] - part.count + Self.gap) }
                }
                lines.append(line)
            }
        }
        return lines.joined(separator: "\n")
    }

    /// Each row by itself: the header's word and the cell on a line, with an empty line between two rows.
    private static func records(_ rows: [[Cell]], _ width: Int, _ styles: [Bool]) -> String {
        guard let header = rows.first, rows.count > 1 else {
            return Self.columns(rows, rows.first.map { $0.map(\.width) } ?? [], styles)
        }
        let label = (header.map(\.width).max() ?? 0) + Self.gap
        return rows.dropFirst().map { row in
            row.enumerated().map { column, cell in
                let name = column < header.count ? header[column].text : ""
                let lines = cell.lines(max(1, width - label)).map { styles[column] ? WordColour.coloured($0) : $0 }
                return name + String(repeating: " ", count: label - name.count)
                    + lines.joined(separator: "\n" + String(repeating: " ", count: label))
            }.joined(separator: "\n")
        }.joined(separator: "\n\n")
    }
}
