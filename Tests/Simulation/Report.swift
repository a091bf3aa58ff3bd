/// What was measured beside what the reference says, and whether all of it is near enough.
struct Report {
    private(set) var failures = 0

    mutating func line(_ name: String, _ measured: String, reference: String, isNear: Bool) {
        if !isNear { self.failures += 1 }
        print(
            "\(isNear ? "ok  " : "FAR ") \(Self.padded(name, 44)) \(Self.padded(measured, 22)) reference \(reference)")
    }

    static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    static func text(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }
}

extension [Int] {
    /// The middle one; nil of none.
    var median: Int? { self.isEmpty ? nil : self.sorted()[self.count / 2] }
}
