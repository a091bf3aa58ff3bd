import Exposition
import Fixtures
import Foundation
import Testing

/// The families of metrics, which are declared in one place.
@Suite struct `A family of metrics` {
    private static let file = SourceTexts.root.appending(path: "Sources/CHandbook/pages/metrics.md")

    /// What the handbook says of all families.
    private static var page: String {
        func cell(_ text: String) -> String { text.replacing("|", with: "\\|") }
        let rows = MetricFamily.allCases.map { family in
            let declaration = family.declaration
            let labels = declaration.labels.map { "`\($0)`" }.joined(separator: ", ")
            return "| `\(family.rawValue)` | \(declaration.kind.rawValue) | \(labels) | \(cell(declaration.help)) |"
        }
        return """
            # Metrics

            A node shows what it counts and measures at `/metrics`, as OpenMetrics 1.0 or in the text format of Prometheus, whichever the reader
            asks for. Operators read it on their address with a token that may `fleet.read`, which the role `viewer` on `*` has. Give monitoring systems an address of their
            own, where they need no token and are answered also while a node starts, is halted or cannot reach its database:

            ```sh
            pinledger serve --database "$DATABASE" --kek-file kek --metrics-listen 127.0.0.1:9440
            ```

            ```yaml
            scrape_configs:
              - job_name: pinledger
                static_configs: [{targets: ['127.0.0.1:9440']}]
            ```

            What is shown names no app, host, person or token, only numbers of them. Still, keep the address to your own network. The node's
            certificate holds for it too: where the node has one, set `scheme: https`. [Alerts](alerts.md) has rules for Prometheus and a dashboard.

            `pinledger slo` shows from the same figures what nodes do for clients and operators, beside what is promised: of one server by its
            address for operators, of several by those of `--metrics-listen`. The promises: 99.99 % of clients' requests and 99.9 % of operators' are
            answered without a failure of the server (status 5xx; requests of monitoring, and those with 401 and 429, are left out), 99 % of batches of changes are recorded within a second; and now every document
            is current and valid, every node serves, and one records. What is left of a budget is the share of the failures that an objective
            allows and that have not happened.

            The names stay the same between versions. Samples of counters end with `_total`. Times since 1970 and durations are in seconds. Requests for documents that are answered
            from prepared bytes are in `pinledger_prepared_answers` alone: they are counted on each event loop, and nothing is added to their cost.

            | Family | Kind | Labels | What it is |
            | --- | --- | --- | --- |

            """ + rows.joined(separator: "\n") + "\n"
    }

    @Test func `every family of metrics is in the handbook`() throws {
        if ProcessInfo.processInfo.environment["PINLEDGER_WRITE_GOLDEN"] == "1" {
            try Self.page.write(to: Self.file, atomically: true, encoding: .utf8)
        }
        #expect(
            try String(contentsOf: Self.file, encoding: .utf8) == Self.page,
            "write it again with PINLEDGER_WRITE_GOLDEN=1, and look at the difference")
    }

    @Test func `the help of a family is in plain words`() throws {
        for family in MetricFamily.allCases {
            for pattern in try `The help of a command`.notPlain() {
                #expect(!family.declaration.help.contains(pattern), "\(family)")
            }
        }
    }
}
