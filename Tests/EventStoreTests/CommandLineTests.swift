import Testing

@testable import EventStore

@Suite struct CommandLineTests {
    /// Letters; the large ones are urgent.
    private static func line(_ commands: String) -> CommandLine<Character> {
        commands.reduce(into: CommandLine()) { $0.add($1, isUrgent: $1.isUppercase) }
    }

    private static func all(_ line: CommandLine<Character>) -> String {
        var line = line
        return String(line.take(atMost: .max))
    }

    @Test(arguments: [("abc", "abc"), ("abCdE", "CEabd"), ("AbC", "ACb"), ("", "")])
    func `urgent commands go first, and each kind in the order in which it came`(come: String, order: String) {
        #expect(Self.all(Self.line(come)) == order)
        #expect(Self.line(come).count == come.count)
    }

    @Test func `a claimed command stays before urgent ones that come later`() {
        var line = Self.line("abc")
        let first = line.claim()?.command
        line.add("X", isUrgent: true)
        line.add("Y", isUrgent: true)
        let second = line.claim()?.command
        #expect(first == "a" && second == "X")
        let taken = line.takeClaimed()
        #expect(String(taken) == "aX" && Self.all(line) == "Ybc")
    }

    @Test func `only urgent commands are claimed where nothing else may be`() {
        var line = Self.line("aB")
        let claimed = [true, true, false, false].map { line.claim(urgentOnly: $0)?.command }
        #expect(claimed == ["B", nil, "a", nil])
    }

    @Test func `urgent commands are first again once claims are given up`() {
        var line = Self.line("ab")
        _ = line.claim()
        line.add("X", isUrgent: true)
        line.release()
        #expect(Self.all(line) == "Xab")
    }

    @Test func `commands that are put back are the first of their kind`() {
        var line = Self.line("abXY")
        let taken = line.take(atMost: 3)
        #expect(String(taken) == "XYa")
        line.add("Z", isUrgent: true)
        line.putBack([("Y", true), ("a", false)])
        #expect(Self.all(line) == "YZab")
    }

    @Test(arguments: [("a", true, "Xbc"), ("c", false, "aXb"), ("X", false, "abc"), ("?", false, "aXbc")])
    func `claims are given up where a claimed command leaves`(leaving: Character, losesClaims: Bool, rest: String) {
        var line = Self.line("abc")
        _ = line.claim()
        line.add("X", isUrgent: true)
        let result = line.remove { $0 == leaving }
        #expect(result.losesClaims == losesClaims)
        #expect(result.removed == (leaving == "?" ? [] : [leaving]))
        let claimed = String(line.takeClaimed())
        #expect(claimed == (losesClaims ? "" : "a"))
        #expect(claimed + Self.all(line) == rest)
    }
}

@Suite struct ShareLineTests {
    @Test func `a place goes to the first in line none of whose sharers has one`() {
        var line = ShareLine<String>(limit: 2, waiting: 10)
        let actions = [["ci", "app/a"], ["ci", "app/b"], ["eve", "app/a"], ["eve", "app/c"], ["bob", "app/d"]]
            .enumerated()
            .map { line.request($0.offset, Set($0.element)) }
        #expect(actions == [.grant, .wait, .wait, .grant, .wait])
        let granted = [["eve", "app/c"], ["ci", "app/a"], ["ci", "app/b"]].map { line.release(Set($0)) }
        #expect(granted == [[4], [1], [2]])
    }

    @Test func `the line has an end, and who leaves it makes room`() {
        var line = ShareLine<Int>(limit: 1, waiting: 1)
        let actions = (1...3).map { line.request($0, [$0]) }
        #expect(actions == [.grant, .wait, .refuse])
        let withdrawn = (0..<2).map { _ in line.withdraw(2) }
        #expect(withdrawn == [true, false])
        let (action, granted) = (line.request(4, [4]), line.release([1]))
        #expect(action == .wait && granted == [4])
    }
}
