import Exposition
import Testing

@testable import pinledger

@Suite("The service levels of nodes") struct ServiceLevelTests {
    private static func reading(_ text: String) -> MetricReading { MetricReading(text.utf8) }

    private static func level(_ name: String, _ levels: ServiceLevels) throws -> ServiceLevels.Level {
        try #require(levels.levels.first { $0.name == name })
    }

    private static let node = """
        # HELP pinledger_requests_total x
        pinledger_prepared_answers_total{status="200"} 9990
        pinledger_requests_total{operation="getDocument",status="200",caller="client"} 8
        pinledger_requests_total{operation="getDocument",status="500",caller="client"} 2
        pinledger_requests_total{operation="getApp",status="404",caller="operator"} 7
        pinledger_requests_total{operation="getApp",status="401",caller="operator"} 50
        pinledger_requests_total{operation="getReadiness",status="503",caller="monitoring"} 50
        pinledger_requests_total{operation="getApp",status="503",caller="operator"} 3
        pinledger_append_duration_seconds_bucket{le="1"} 90
        pinledger_append_duration_seconds_bucket{le="+Inf"} 100
        pinledger_append_duration_seconds_count 100
        pinledger_documents 4
        pinledger_documents_behind 1
        pinledger_expired_documents 0
        pinledger_node_use{use="serves_documents"} 1
        pinledger_node_use{use="writes"} 0
        """

    @Test func `shares are counted from what one node says`() throws {
        let levels = ServiceLevels(of: [(nil, Self.reading(Self.node))])
        let clients = try Self.level("clients_answered", levels)
        #expect(clients.all == 10_000 && clients.good == 9_998 && !clients.isKept)
        #expect(abs(try #require(clients.budget) + 1) < 1e-6)
        let operators = try Self.level("operators_answered", levels)
        #expect(operators.all == 10 && operators.good == 7)
        #expect(try Self.level("changes_in_time", levels).share == 0.9)
        #expect(try Self.level("documents_current", levels).share == 0.75)
        #expect(try Self.level("documents_valid", levels).isKept)
        #expect(try !Self.level("changes_possible", levels).isKept && !levels.areKept)
    }

    @Test func `nodes are counted together and counters from the first scrape on`() throws {
        let grown = Self.node.replacing("9990", with: "29990").replacing("} 2\n", with: "} 3\n")
        let restarted = """
            pinledger_start_time_seconds 2
            pinledger_prepared_answers_total{status="200"} 20005
            pinledger_node_use{use="writes"} 1
            """
        let levels = ServiceLevels(of: [
            (Self.reading(Self.node), Self.reading(grown)), (Self.reading(Self.node), Self.reading(restarted)),
        ])
        let clients = try Self.level("clients_answered", levels)
        #expect(clients.all == 40_006 && clients.good == 40_005 && clients.isKept)
        #expect(try Self.level("changes_possible", levels).isKept)
        #expect(try Self.level("nodes_serve", levels).share == 0.5)
        // Nobody asked: no promise was broken.
        #expect(try Self.level("changes_in_time", levels).isKept)
    }

    @Test(arguments: [
        "a", "a{", "a{b", "a{b=", "a{b=\"", "a{b=\"c", "a{b=\"\\", "a{b=\"c\"} x", "a{b=\"c\",", "a NaN", "a +Inf",
        "a -1", "a 1e300", "{} 1", "a b", "#",
        "\u{0}",
    ])
    func `a line that is no sample is left out`(line: String) { #expect(Self.reading(line).samples.isEmpty) }

    @Test func `samples are read as they were written`() throws {
        var samples = MetricSamples()
        samples.add(.build, 1, "a\"b\\c\nd")
        samples.add(.documents, 7)
        let reading = MetricReading(MetricText.prometheus.bytes(of: samples))
        #expect(reading["pinledger_build_info"].first?.labels == ["version": "a\"b\\c\nd"])
        #expect(reading["pinledger_documents"].first?.value == 7 && reading.samples.count == 2)
    }
}
