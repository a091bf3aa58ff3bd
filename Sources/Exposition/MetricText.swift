/// Writes samples as text that monitoring systems read.
///
/// OpenMetrics 1.0 (`application/openmetrics-text; version=1.0.0`), and for readers that do not ask for it the text format 0.0.4 of
/// Prometheus, in which a counter's family has the suffix of its sample.
package enum MetricText: Sendable {
    case openMetrics, prometheus

    /// The format for an `Accept` field.
    package init(accept: String?) {
        self = accept?.contains("application/openmetrics-text") == true ? .openMetrics : .prometheus
    }

    package var contentType: String {
        switch self {
        case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
        }
    }

    /// The text of all families that have samples, in the order of their declaration.
    package func bytes(of samples: MetricSamples) -> [UInt8] {
        var text = ""
        for family in MetricFamily.allCases {
            let (plain, distributions) = (samples.samples[family] ?? [], samples.distributions[family] ?? [])
            guard !plain.isEmpty || !distributions.isEmpty else { continue }
            let declaration = family.declaration
            self.writeHead(of: family, declaration, to: &text)
            for sample in plain {
                text += "\(family.rawValue)\(Self.suffix(declaration.kind))"
                text += "\(Self.labels(declaration.labels, sample.labels)) \(Self.number(sample.value))\n"
            }
            for distribution in distributions { Self.write(distribution, of: family, declaration, to: &text) }
        }
        if self == .openMetrics { text += "# EOF\n" }
        return Array(text.utf8)
    }

    private func writeHead(of family: MetricFamily, _ declaration: MetricFamily.Declaration, to text: inout String) {
        var (name, kind) = (family.rawValue, declaration.kind.rawValue)
        if self == .prometheus {
            name += Self.suffix(declaration.kind)
            if declaration.kind == .info { kind = MetricFamily.Kind.gauge.rawValue }
        }
        text += "# TYPE \(name) \(kind)\n# HELP \(name) \(Self.escaped(declaration.help))\n"
        guard self == .openMetrics, declaration.kind != .info else { return }
        for unit in ["seconds", "bytes"] where name.hasSuffix("_\(unit)") { text += "# UNIT \(name) \(unit)\n" }
    }

    private static func write(
        _ distribution: MetricSamples.Distribution, of family: MetricFamily, _ declaration: MetricFamily.Declaration,
        to text: inout String
    ) {
        var count: UInt64 = 0
        let bounds = declaration.bounds.map(Self.number) + ["+Inf"]
        for (bound, part) in zip(bounds, distribution.counts) {
            count += part
            let labels = Self.labels(declaration.labels + ["le"], distribution.labels + [bound])
            text += "\(family.rawValue)_bucket\(labels) \(count)\n"
        }
        let labels = Self.labels(declaration.labels, distribution.labels)
        text += "\(family.rawValue)_count\(labels) \(count)\n"
        text += "\(family.rawValue)_sum\(labels) \(Self.number(distribution.sum))\n"
    }

    private static func suffix(_ kind: MetricFamily.Kind) -> String {
        switch kind {
        case .counter: "_total"
        case .info: "_info"
        case .gauge, .histogram: ""
        }
    }

    private static func labels(_ names: [String], _ values: [String]) -> String {
        guard !names.isEmpty else { return "" }
        return "{\(zip(names, values).map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ","))}"
    }

    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": escaped += "\\\(scalar)"
            case "\n": escaped += "\\n"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// As short as it reads back the same; whole numbers without a point.
    static func number(_ value: Double) -> String {
        guard value.isFinite else { return value.isNaN ? "NaN" : value < 0 ? "-Inf" : "+Inf" }
        if value == value.rounded(), abs(value) < 1e15 { return String(Int64(value)) }
        return "\(value)"
    }
}
