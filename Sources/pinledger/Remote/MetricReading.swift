/// The samples of one scrape, read from the text format 0.0.4 of Prometheus as ``MetricText`` writes it.
///
/// Linear in the text. Lines that are no samples of this form, and values that no count has, are left out: another program's text gives few samples, and no error.
struct MetricReading: Sendable {
    struct Sample: Hashable, Sendable {
        let name: String
        let labels: [String: String]
        let value: Double
    }

    let samples: [Sample]

    init(_ text: some Sequence<UInt8>) {
        let lines = Array(text).split(separator: UInt8(ascii: "\n"))
        self.samples = lines.compactMap { Self.sample(String(decoding: $0, as: UTF8.self)) }
    }

    /// The samples of one name, whatever their labels.
    subscript(_ name: String) -> [Sample] { self.samples.filter { $0.name == name } }

    /// Counts above it are not exact. What is not a number is not within it.
    private static let largest = 9_007_199_254_740_992.0

    private static func sample(_ line: String) -> Sample? {
        guard !line.hasPrefix("#"), let end = line.firstIndex(where: { $0 == "{" || $0 == " " }) else { return nil }
        let name = String(line[..<end])
        var rest = line[end...]
        var labels: [String: String] = [:]
        if rest.first == "{" {
            guard let read = Self.labels(rest.dropFirst()) else { return nil }
            (labels, rest) = read
        }
        guard rest.first == " ", let value = Double(rest.dropFirst()), !name.isEmpty, (0...Self.largest).contains(value)
        else { return nil }
        return Sample(name: name, labels: labels, value: value)
    }

    /// The labels up to the closing brace, and what follows it.
    private static func labels(_ text: Substring) -> ([String: String], Substring)? {
        var labels: [String: String] = [:]
        var rest = text
        while rest.first != "}" {
            guard let equals = rest.firstIndex(of: "=") else { return nil }
            let name = String(rest[..<equals])
            rest = rest[equals...].dropFirst()
            guard rest.popFirst() == "\"" else { return nil }
            var value = ""
            while let character = rest.popFirst(), character != "\"" {
                guard character == "\\" else {
                    value.append(character)
                    continue
                }
                guard let escaped = rest.popFirst() else { return nil }
                value.append(escaped == "n" ? "\n" : escaped)
            }
            labels[name] = value
            if rest.first == "," { rest = rest.dropFirst() }
        }
        return (labels, rest.dropFirst())
    }
}
