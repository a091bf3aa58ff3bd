/// One defect that makes a text unreadable, and its place: lines and columns count from 1, columns in Unicode scalars.
package struct TextDefect: Error, Hashable, Sendable, CustomStringConvertible {
    package let line: Int
    package let column: Int
    /// What is wrong, as a sentence without a full stop.
    package let message: String

    package init(line: Int, column: Int, _ message: String) {
        self.line = line
        self.column = column
        self.message = message
    }

    package var description: String { "line \(self.line), column \(self.column): \(self.message)" }
}
