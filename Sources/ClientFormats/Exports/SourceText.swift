/// Lines of a text file in UTF-8, each ended by a line feed.
struct SourceText {
    private(set) var bytes: [UInt8] = []

    /// Adds one line, `depth` times four spaces in; an empty one without any.
    mutating func add(_ line: String = "", depth: Int = 0) {
        if !line.isEmpty { self.bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: depth * 4)) }
        self.bytes.append(contentsOf: line.utf8)
        self.bytes.append(UInt8(ascii: "\n"))
    }

    mutating func add(_ lines: [String], depth: Int = 0) {
        for line in lines { self.add(line, depth: depth) }
    }
}
