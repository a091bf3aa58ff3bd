import Testing

@testable import pinledger

@Suite struct `A table in a terminal` {
    private static func table() -> Table {
        var table = Table(["POSITION", "SEVERITY", "WHAT"])
        table.add([
            "1", "urgent", "The certificate of api.example.com ends in two days, and no pin of a next key is there.",
        ])
        table.add(["12", "info", "Short."])
        return table
    }

    private func lines(_ text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    @Test(arguments: [nil, 1000, 120]) func `a table that fits has a line for each row`(width: Int?) {
        let lines = self.lines(Self.table().text(width: width))
        #expect(lines.count == 3)
        #expect(lines[2] == "12        info      Short.")
    }

    @Test func `a program gets the whole of each cell on its line`() {
        var table = Table(["A", "B"])
        table.add([String(repeating: "x ", count: 500), String(repeating: "y", count: 500)])
        #expect(self.lines(table.text(width: nil)).count == 2)
    }

    @Test(arguments: 40...100) func `a table is no wider than the terminal, and no word is lost or cut`(width: Int) {
        let text = Self.table().text(width: width)
        #expect(self.lines(text).allSatisfy { $0.count <= width }, "\(text)")
        for word in ["POSITION", "urgent", "certificate", "api.example.com", "there."] {
            #expect(text.contains(word))
        }
        #expect(self.lines(text).allSatisfy { !$0.hasSuffix(" ") })
    }

    @Test func `a cell that is too long goes on below itself`() {
        var table = Table(["ID", "WHAT"])
        table.add(["1", "one two three four"])
        #expect(self.lines(table.text(width: 14)) == ["ID  WHAT", "1   one two", "    three four"])
    }

    @Test func `rows whose words do not fit beside each other are shown one below the other`() {
        var table = Table(["PIN", "STATE"])
        table.add(["sha256/" + String(repeating: "A", count: 43) + "=", "active"])
        table.add(["sha256/b=", "retired"])
        #expect(
            self.lines(table.text(width: 30)) == [
                "PIN    sha256/" + String(repeating: "A", count: 43) + "=", "STATE  active", "", "PIN    sha256/b=",
                "STATE  retired",
            ])
    }

    @Test func `an indentation stays where a cell goes on`() {
        var table = Table(["    STATE", "X"])
        table.add(["    active since long ago", "y"])
        #expect(self.lines(table.text(width: 18))[1].hasPrefix("    active"))
    }

    @Test func `severities and states alone have a colour, and columns stay in line`() {
        let coloured = Self.table().text(width: nil, isColoured: true)
        #expect(coloured.contains("\u{1B}[31murgent\u{1B}[0m"))
        #expect(coloured.count(where: { $0 == "\u{1B}" }) == 2)
        let plain = coloured.replacing("\u{1B}[31m", with: "").replacing("\u{1B}[0m", with: "")
        #expect(plain == Self.table().text(width: nil))
    }

    @Test func `a colour of the server's is none`() {
        var table = Table(["STATE"])
        table.add(["\u{1B}[31mactive"])
        #expect(!table.text(width: nil, isColoured: true).contains("\u{1B}[31m"))
    }

    @Test(arguments: 1...20) func `an empty table, and one of a header alone, fit any terminal`(width: Int) {
        #expect(Table([]).text(width: width) == "")
        #expect(!Table(["LONG", "HEADER"]).text(width: width).isEmpty)
    }
}
