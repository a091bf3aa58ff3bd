import PinWire

/// A row of a table, such as one of events: RFC 4180, UTF-8, lines that end with CR LF.
///
/// Spreadsheets take a cell that begins with `=`, `+`, `-`, `@`, one of these in full width, a tab or a line break for a formula, or
/// may: such a cell gets an apostrophe in front. A cell with text of others then shows what it says and computes nothing. Every cell stands in
/// quotes, so that a semicolon or a tab in it begins no cell where those separate too.
struct CSVRow {
    private let cells: [String]

    private static let columns = [
        "position", "time", "stream", "stream_version", "type", "actor_kind", "actor_id", "actor_name", "reason",
        "forced",
        "request_id", "idempotency_key", "data",
    ]

    /// The names of the columns.
    static let header = CSVRow(cells: Self.columns)

    init(cells: [String]) {
        self.cells = cells
    }

    init(_ event: JSON) {
        func text(_ value: JSON?) -> String { value.map { $0.stringValue ?? $0.canonicalText } ?? "" }
        let actor = event["actor"]
        self.cells =
            ["position", "time", "stream", "stream_version", "type"].map { text(event[$0]) }
            + ["kind", "id", "name"].map { text(actor?[$0]) }
            + ["reason", "forced", "request_id", "idempotency_key", "data"].map { text(event[$0]) }
    }

    var bytes: [UInt8] { Array((self.cells.map(Self.quoted).joined(separator: ",") + "\r\n").utf8) }

    private static func quoted(_ cell: String) -> String {
        guard let first = cell.unicodeScalars.first else { return "" }
        let isFormula = "=+-@\t\r\n\u{FF1D}\u{FF0B}\u{FF0D}\u{FF20}".unicodeScalars.contains(first)
        return "\"" + (isFormula ? "'" : "") + cell.replacing("\"", with: "\"\"") + "\""
    }
}
