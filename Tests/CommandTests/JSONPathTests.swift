import PinWire
import Testing

@testable import pinledger

@Suite("Paths into answers") struct JSONPathTests {
    private static let json: JSON = [
        "apps": [["app": "a", "n": 1], ["app": "b", "odd name": [true, .null]]], "a.b": "dotted", "é": 7,
        "map": ["y": 2, "x": 1],
    ]

    @Test(
        arguments: [
            ("$", 1, nil), ("apps", 1, nil), ("$.apps[0].app", 1, "a"), ("apps[-1].app", 1, "b"),
            ("apps[*].app", 2, "a"),
            (".apps[1]['odd name'][0]", 1, nil), ("$['a.b']", 1, "dotted"), (#"["a.b"]"#, 1, "dotted"), ("é", 1, nil),
            ("map.*", 2, nil), ("apps[2]", 0, nil), ("apps[-3]", 0, nil), ("apps.app", 0, nil), ("a.b", 0, nil),
            ("apps[0].app[*]", 0, nil), ("nothing[*].x", 0, nil), ("*[*].app", 2, "a"),
        ] as [(String, Int, String?)])
    func `a path leads to the values that it names`(text: String, count: Int, first: String?) throws {
        let values = try #require(JSONPath(text)).values(in: Self.json)
        #expect(values.count == count && (first == nil || values.first?.stringValue == first))
    }

    @Test func `members of objects come in the order of their names`() throws {
        #expect(try #require(JSONPath("map.*")).values(in: Self.json) == [1, 2])
    }

    @Test(arguments: [
        "$x", "a..b", "a.", "a[", "a[]", "a[1", "a[01]", "a[+1]", "a[1:2]", "a[?@.b]", "a['b]", "a['b'", "a[b]", "a.0b",
        "$..a", "a b", "a['\\n']", "a[99999999999999999999]", "a[0]b",
    ])
    func `a text that is no path is refused`(text: String) { #expect(JSONPath(text) == nil) }
}
