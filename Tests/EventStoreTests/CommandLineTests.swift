import Testing

@testable import EventStore

@Suite struct CommandLineTests {
    private typealias Line = CommandLine<Character, Character>

    /// Letters; the large ones are urgent, each of a sender of its own.
    private static func line(_ commands: String) -> Line {
        commands.reduce(into: Line()) { $0.add($1, urgentOf: $1.isUppercase ? $1 : nil) }
    }

    private static func all(_ line: Line) -> String {
        var line = line
        return String(line.take(atMost: .max))
    }

    @Test(arguments: [("abc", "abc"), ("abCdE", "CEabd"), ("AbC", "ACb"), ("", "")])
    func `urgent commands go first, and each kind in the order in which it came`(come: String, order: String) {
        #expect(Self.all(Self.line(come)) == order)
        #expect(Self.line(come).count == come.count)
    }

    @Test func `senders of urgent commands take turns`() {
        var line = Line()
        for (number, command) in "ABCDE".enumerated() { line.add(command, urgentOf: number < 4 ? "e" : "b") }
        line.add("F", urgentOf: "b")
        #expect(line.urgentCount(of: "e") == 4 && line.urgentCount(of: "b") == 2)
        let first = line.claim()?.command
        // One that comes while the first round is under way still has its turn in it.
        line.add("G", urgentOf: "a")
        #expect(first == "A" && Self.all(line) == "AEGBFCD")
        _ = line.take(atMost: .max)
        line.add("H", urgentOf: "e")
        line.add("I", urgentOf: "b")
        #expect(Self.all(line) == "IH")
    }

    @Test func `a claimed command stays before urgent ones that come later`() {
        var line = Self.line("abc")
        let first = line.claim()?.command
        line.add("X", urgentOf: "X")
        line.add("Y", urgentOf: "Y")
        let second = line.claim()?.command
        #expect(first == "a" && second == "X")
        let taken = line.takeClaimed()
        #expect(String(taken) == "aX" && Self.all(line) == "Ybc")
    }

    @Test func `only commands of a kind that may be claimed are claimed`() {
        var line = Self.line("abCD")
        let claimed = [(false, true), (true, false), (false, false), (true, true), (true, true), (true, true)]
            .map { line.claim(urgent: $0.0, other: $0.1)?.command }
        #expect(claimed == ["a", "C", nil, "D", "b", nil])
    }

    @Test func `urgent commands are first again once claims are given up`() {
        var line = Self.line("ab")
        _ = line.claim()
        line.add("X", urgentOf: "X")
        line.release()
        #expect(Self.all(line) == "Xab")
    }

    @Test func `commands that are put back are the first of their kind`() {
        var line = Self.line("abXY")
        let taken = line.take(atMost: 3)
        #expect(String(taken) == "XYa")
        line.add("Z", urgentOf: "Z")
        line.putBack([("Y", "Y"), ("a", nil)])
        #expect(Self.all(line) == "YZab")
    }

    @Test(arguments: [("a", true, "Xbc"), ("c", false, "aXb"), ("X", false, "abc"), ("?", false, "aXbc")])
    func `claims are given up where a claimed command leaves`(leaving: Character, losesClaims: Bool, rest: String) {
        var line = Self.line("abc")
        _ = line.claim()
        line.add("X", urgentOf: "X")
        let result = line.remove { $0 == leaving }
        #expect(result.losesClaims == losesClaims)
        #expect(result.removed == (leaving == "?" ? [] : [leaving]))
        let claimed = String(line.takeClaimed())
        #expect(claimed == (losesClaims ? "" : "a"))
        #expect(claimed + Self.all(line) == rest)
    }
}

@Suite struct ShareLineTests {
    private typealias Line = ShareLine<String, String>

    @Test func `a place goes to the first in line none of whose sharers has one`() {
        var line = Line(limit: 2, waiting: 10)
        let actions = [["ci", "app/a"], ["ci", "app/b"], ["eve", "app/a"], ["eve", "app/c"], ["bob", "app/d"]]
            .enumerated()
            .map { line.request($0.offset, of: $0.element[0], Set($0.element)) }
        #expect(actions == [.grant, .wait, .wait, .grant, .wait])
        let granted = [["eve", "app/c"], ["bob", "app/d"], ["ci", "app/a"]].map { line.release(Set($0)) }
        #expect(granted == [[4], [], [2, 1]])
    }

    @Test func `senders take turns`() {
        var line = Line(limit: 1, waiting: 10)
        let actions = ["eve", "eve", "eve", "bob", "bob"].enumerated().map { place, sender in
            line.request(place, of: sender, [sender])
        }
        #expect(actions == [.grant, .wait, .wait, .wait, .wait])
        let granted = ["eve", "bob", "eve", "bob"].map { line.release([$0]) }
        #expect(granted == [[3], [1], [4], [2]])
    }

    @Test func `the line has an end, half of it for one sender, and who leaves it makes room`() {
        var line = Line(limit: 1, waiting: 4)
        let actions = ["eve", "eve", "eve", "eve", "bob", "ada", "joe"].enumerated().map { place, sender in
            line.request(place, of: sender, [sender])
        }
        #expect(actions == [.grant, .wait, .wait, .refuse, .wait, .wait, .refuse])
        let withdrawn = (0..<2).map { _ in line.withdraw(2) }
        #expect(withdrawn == [true, false])
        let (action, granted) = (line.request(7, of: "joe", ["joe"]), line.release(["eve"]))
        #expect(action == .wait && granted == [4])
    }
}
