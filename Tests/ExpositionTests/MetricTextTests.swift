import CoreMetrics
import Testing

@testable import Exposition

/// The text of metrics, in both formats.
@Suite struct MetricTextTests {
    private static let samples: MetricSamples = {
        var samples = MetricSamples()
        samples.add(.build, 1, "1.0 \"x\"\\\n")
        samples.add(.residentMemory, 1_048_576)
        samples.add(.processorTime, 1.25)
        samples.add(.requests, 3, "getApp", "200", "operator")
        samples.add(
            .appendDuration,
            MetricSamples.Distribution(
                labels: [], counts: [2, 0, 1] + Array(repeating: 0, count: 11) + [1], sum: 60.5))
        return samples
    }()

    @Test func `samples are written as OpenMetrics`() {
        let text = String(decoding: MetricText.openMetrics.bytes(of: Self.samples), as: UTF8.self)
        let expected = [
            "# TYPE pinledger_build info", "# HELP pinledger_build The version of the program.",
            #"pinledger_build_info{version="1.0 \"x\"\\\n"} 1"#, "# TYPE pinledger_resident_memory_bytes gauge",
            "# UNIT pinledger_resident_memory_bytes bytes", "pinledger_resident_memory_bytes 1048576",
            "# TYPE pinledger_processor_seconds counter", "# UNIT pinledger_processor_seconds seconds",
            "pinledger_processor_seconds_total 1.25", "# TYPE pinledger_requests counter",
            #"pinledger_requests_total{operation="getApp",status="200",caller="operator"} 3"#,
            "# TYPE pinledger_append_duration_seconds histogram",
            #"pinledger_append_duration_seconds_bucket{le="0.0005"} 2"#,
            #"pinledger_append_duration_seconds_bucket{le="0.0025"} 3"#,
            #"pinledger_append_duration_seconds_bucket{le="10"} 3"#,
            #"pinledger_append_duration_seconds_bucket{le="+Inf"} 4"#, "pinledger_append_duration_seconds_count 4",
            "pinledger_append_duration_seconds_sum 60.5",
        ]
        let lines = text.split(separator: "\n").map(String.init)
        #expect(expected.allSatisfy(lines.contains), "\(text)")
        #expect(text.hasSuffix("\n# EOF\n"))
    }

    @Test func `a family has the name of its samples in the format of Prometheus`() {
        let text = String(decoding: MetricText.prometheus.bytes(of: Self.samples), as: UTF8.self)
        for line in [
            "# TYPE pinledger_build_info gauge", "# TYPE pinledger_processor_seconds_total counter",
            "# TYPE pinledger_requests_total counter", "# TYPE pinledger_append_duration_seconds histogram",
        ] {
            #expect(text.contains("\(line)\n"), "\(text)")
        }
        #expect(!text.contains("# EOF") && !text.contains("# UNIT"))
    }

    @Test(arguments: [
        (nil, MetricText.prometheus), ("*/*", .prometheus), ("text/plain;version=0.0.4", .prometheus),
        ("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3", .openMetrics),
    ])
    func `the reader chooses the format`(accept: String?, format: MetricText) {
        #expect(MetricText(accept: accept) == format)
    }

    @Test(
        arguments: [
            (0, "0"), (1, "1"), (-2, "-2"), (0.5, "0.5"), (1_764_201_600, "1764201600"), (1e16, "1e+16"),
            (.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"),
        ] as [(Double, String)])
    func `a number is as short as it reads back the same`(value: Double, text: String) {
        #expect(MetricText.number(value) == text)
    }

    @Test(arguments: MetricFamily.allCases)
    func `a family has a name and a help that monitoring systems take`(family: MetricFamily) {
        let declaration = family.declaration
        #expect(family.rawValue.wholeMatch(of: /pinledger(_[a-z]+)+/) != nil)
        #expect(!["_total", "_count", "_sum", "_bucket", "_info"].contains { family.rawValue.hasSuffix($0) })
        #expect(
            declaration.help.hasSuffix(".") && declaration.help.first?.isUppercase == true
                || declaration.help.first == "1")
        #expect((declaration.kind == .histogram) == !declaration.bounds.isEmpty)
        #expect(declaration.bounds == declaration.bounds.sorted())
        #expect(!declaration.labels.contains("le"))
    }
}

/// The counters behind the interface of swift-metrics.
@Suite struct MetricRegistryTests {
    private func text(_ registry: MetricRegistry) -> String {
        var samples = MetricSamples()
        registry.collect(into: &samples)
        return String(decoding: MetricText.openMetrics.bytes(of: samples), as: UTF8.self)
    }

    @Test func `counters and timers of a family add up, however many there are`() async {
        let registry = MetricRegistry()
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for _ in 0..<1_000 {
                        Counter(
                            label: "pinledger_requests",
                            dimensions: [("status", "200"), ("caller", "client"), ("operation", "a\(task % 2)")],
                            factory: registry
                        ).increment()
                        Timer(label: "pinledger_append_duration_seconds", factory: registry)
                            .recordNanoseconds(2_000_000)
                    }
                }
            }
        }
        let text = self.text(registry)
        #expect(
            text.contains(#"pinledger_requests_total{operation="a0",status="200",caller="client"} 4000"#), "\(text)")
        #expect(text.contains(#"pinledger_append_duration_seconds_bucket{le="0.001"} 0"#))
        #expect(text.contains(#"pinledger_append_duration_seconds_bucket{le="0.0025"} 8000"#))
    }

    @Test func `a metric that is not declared, or lacks a label, is not kept`() {
        let registry = MetricRegistry()
        Counter(label: "pinledger_other", factory: registry).increment()
        Counter(label: "pinledger_requests", dimensions: [("operation", "a")], factory: registry).increment()
        // Of another kind than it was declared.
        Counter(label: "pinledger_append_duration_seconds", factory: registry).increment()
        Timer(
            label: "pinledger_requests", dimensions: [("operation", "a"), ("status", "1"), ("caller", "client")],
            factory: registry
        )
        .recordNanoseconds(1)
        Gauge(label: "pinledger_apps", factory: registry).record(1)
        #expect(self.text(registry) == "# EOF\n")
    }

    @Test func `a family keeps a bounded number of labels`() {
        let registry = MetricRegistry()
        for number in 0...MetricRegistry.limit {
            Counter(
                label: "pinledger_requests",
                dimensions: [("operation", "\(number)"), ("status", "200"), ("caller", "client")],
                factory: registry
            ).increment()
        }
        #expect(self.text(registry).split(separator: "\n").count { $0.hasPrefix("pinledger_requests_total") } == 2_000)
    }
}
