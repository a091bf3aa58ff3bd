import PinWire
import SeededRandom
import Testing

@testable import pinledger

@Suite struct LineDifferenceTests {
    /// From `diff -u` (GNU diffutils 3.8), without the times.
    static let cases: [(String, [String], [String], [String])] = [
        ("nothing", ["a", "b"], ["a", "b"], []),
        ("a line of its own", [], ["a"], ["@@ -0,0 +1 @@", "+a"]),
        ("everything gone", ["a", "b"], [], ["@@ -1,2 +0,0 @@", "-a", "-b"]),
        ("one of three", ["a", "b", "c"], ["a", "x", "c"], ["@@ -1,3 +1,3 @@", " a", "-b", "+x", " c"]),
        (
            "two places far from each other", (1...20).map(String.init),
            ["0"] + (1...18).map(String.init) + ["20"],
            [
                "@@ -1,3 +1,4 @@", "+0", " 1", " 2", " 3", "@@ -16,5 +17,4 @@", " 16", " 17", " 18", "-19", " 20",
            ]
        ),
        (
            "two places that share their context", (1...10).map(String.init),
            (1...10).map { $0 == 2 || $0 == 9 ? "x" : String($0) },
            [
                "@@ -1,10 +1,10 @@", " 1", "-2", "+x", " 3", " 4", " 5", " 6", " 7", " 8", "-9", "+x", " 10",
            ]
        ),
    ]

    @Test(arguments: cases)
    func `two texts are compared in the unified format of diff`(
        _ name: String, _ first: [String], _ second: [String], _ expected: [String]
    ) {
        let lines = LineDifference(first, second).unified("a", "b")
        #expect(lines == (expected.isEmpty ? [] : ["--- a", "+++ b"] + expected))
    }

    @Test(arguments: 0..<50)
    func `the second text follows from the first one and the difference`(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        func text() -> [String] {
            (0..<Int.random(in: 0...40, using: &generator)).map { _ in generator.pick(["a", "b", "c", "d"]) }
        }
        let (first, second) = (text(), text())
        var (made, next) = ([String](), 0)
        for line in LineDifference(first, second).unified("a", "b").dropFirst(2) {
            if line.hasPrefix("@@") {
                // What stands between two hunks is the same in both.
                let numbers = line.split { !$0.isNumber }.compactMap { Int($0) }
                let isEmpty = line.hasPrefix("@@ -\(numbers[0]),0")
                let start = isEmpty ? numbers[0] : numbers[0] - 1
                made += first[next..<start]
                next = start
            } else if line.hasPrefix("+") {
                made.append(String(line.dropFirst()))
            } else {
                #expect(first[next] == String(line.dropFirst()))
                if line.hasPrefix(" ") { made.append(first[next]) }
                next += 1
            }
        }
        #expect(made + first[next...] == second)
    }

    @Test func `long texts with little in common are shown as replaced`() {
        let first = ["same"] + (0..<LineDifference.limit).map { "a\($0)" } + ["end"]
        let second = ["same"] + (0..<LineDifference.limit).map { "b\($0)" } + ["end"]
        let lines = LineDifference(first, second).unified("a", "b")
        #expect(lines.count == 3 + 2 + 2 * LineDifference.limit)
        #expect(lines[3...5] == [" same", "-a0", "-a1"])
    }

    @Test func `a JSON value is shown with a member or an element on each line`() throws {
        let json = try JSON(parsing: Array(#"{"b":[1,{"c":"\"x"}],"a":{},"d":[]}"#.utf8))
        #expect(
            IndentedJSON.lines(of: json) == [
                "{", "  \"a\": {},", "  \"b\": [", "    1,", "    {", "      \"c\": \"\\\"x\"", "    }", "  ],",
                "  \"d\": []", "}",
            ])
    }
}
