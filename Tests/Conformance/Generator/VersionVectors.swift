import PinWire

/// Pairs of versions under `appver/v1`, equal and unequal ones, and texts that are none.
enum VersionVectors {
    static let file = VectorFile(
        name: "version", about: "The order of app versions, appver/v1: handbook page client-integration, Versions.",
        cases: (Self.ordered + Self.malformed).map { a, b in
            ["kind": "version", "name": .string("\(a) and \(b)"), "a": .string(a), "b": .string(b)]
        })

    private static let ordered = [
        ("1.10", "1.9"), ("1.5", "1.5.0"), ("1.5", "1.5.0.0"), ("1.5-rc1", "1.5"), ("1.0-01", "1.0-1"),
        ("01.002", "1.2"),
        ("1.5+7", "1.5+8"), ("1.5-a", "1.5-a.b"), ("1.5-1", "1.5-a"), ("1.5-2", "1.5-10"), ("1.5-A", "1.5-a"),
        ("1.5--", "1.5-0"),
        ("2-rc.1+b.c", "2-rc.1"), ("999999999", "999999998.999999999"),
        ("1.5-99999999999999999999", "1.5-100000000000000000000"),
        ("0", "0.0.0-0"),
    ]
    private static let malformed = [
        ("v1", "1"), ("", "1"), (" 1", "1"), ("1 ", "1"), ("1.", "1"), (".1", "1"), ("1..2", "1"), ("1.2.3.4.5", "1"),
        ("1234567890", "1"),
        ("1-", "1"), ("1+", "1"), ("1-a..b", "1"), ("1-é", "1"), ("１", "1"), ("1+a+b", "1"),
        ("1-" + String(repeating: "a", count: 127), "1"),
    ]
}
