import Exposition
import PinWire

/// What nodes do for those who depend on them, measured by their own counters, beside what they are meant to do.
struct ServiceLevels {
    /// One promise.
    struct Level: Hashable {
        /// Its name in JSON.
        let name: String
        let promise: String
        /// The least share of good events, from 0 to 1; nil for a promise about now.
        let objective: Double?
        let good: Double
        let all: Double

        /// Nil where nothing was asked.
        var share: Double? { self.all > 0 ? self.good / self.all : nil }

        var isKept: Bool { (self.share ?? 1) >= (self.objective ?? 1) }

        /// The share of the failures that the objective allows and that have not happened, from 1 down, and below 0 where more have; nil
        /// for a promise about now, and where nothing was asked.
        var budget: Double? {
            guard let objective, self.all > 0 else { return nil }
            return 1 - (self.all - self.good) / (self.all * (1 - objective))
        }

        var json: JSON {
            .members([
                "name": .string(self.name), "promise": .string(self.promise), "kept": .bool(self.isKept),
                "objective": self.objective.map { Self.number($0) }, "share": self.share.map { Self.number($0) },
                "good": Self.number(self.good), "all": Self.number(self.all),
                "budget_left": self.budget.map { Self.number($0) },
            ])
        }

        /// In the one form of JSON for equal numbers.
        private static func number(_ value: Double) -> JSON {
            Int64(exactly: value).flatMap { abs($0) <= JSON.largestInteger ? .integer($0) : nil } ?? .number(value)
        }
    }

    let levels: [Level]

    /// - Parameters:
    ///   - nodes: The scrapes of each node: of the counters the last less the first; of the rest the last.
    ///   - missing: Nodes that do not answer.
    init(of nodes: [(first: MetricReading?, last: MetricReading)], missing: Int = 0) {
        let nodes = nodes.map { node in
            // One that has started again counts from there.
            let start = MetricFamily.startTime.rawValue
            return (first: node.first?[start] == node.last[start] ? node.first : nil, last: node.last)
        }
        func sum(_ name: String, where isMeant: (MetricReading.Sample) -> Bool = { _ in true }) -> Double {
            nodes.reduce(0) { sum, node in
                let last = node.last[name].filter(isMeant).reduce(0) { $0 + $1.value }
                let first = node.first?[name].filter(isMeant).reduce(0) { $0 + $1.value } ?? 0
                return sum + max(0, last - first)
            }
        }
        func requests(of caller: String, failed: Bool) -> Double {
            sum(MetricFamily.requests.rawValue + "_total") { sample in
                // Who is refused for a token, or for asking too often, says nothing of how others are answered.
                sample.labels["caller"] == caller && !["401", "429"].contains(sample.labels["status"])
                    && (!failed || sample.labels["status"]?.hasPrefix("5") == true)
            }
        }
        func count(_ family: MetricFamily) -> Double {
            nodes.reduce(0) { $0 + $1.last[family.rawValue].reduce(0) { $0 + $1.value } }
        }
        func uses(_ use: String) -> Double {
            nodes.reduce(0) { sum, node in
                sum + (node.last[MetricFamily.nodeUse.rawValue].first { $0.labels["use"] == use }?.value ?? 0)
            }
        }
        let prepared = sum(MetricFamily.preparedAnswers.rawValue + "_total")
        let clients = prepared + requests(of: "client", failed: false)
        let operators = requests(of: "operator", failed: false)
        let append = MetricFamily.appendDuration.rawValue
        let batches = sum("\(append)_count")
        let documents = count(.documents)
        self.levels = [
            Level(
                name: "clients_answered", promise: "clients are answered without a failure of the server",
                objective: 0.9999, good: clients - requests(of: "client", failed: true), all: clients),
            Level(
                name: "operators_answered", promise: "operators are answered without a failure of the server",
                objective: 0.999, good: operators - requests(of: "operator", failed: true), all: operators),
            Level(
                name: "changes_in_time", promise: "changes are recorded, or refused, within a second",
                objective: 0.99, good: sum("\(append)_bucket") { $0.labels["le"] == "1" }, all: batches),
            Level(
                name: "documents_current", promise: "documents say what the ledger says", objective: nil,
                good: max(0, documents - count(.documentsBehind)), all: documents),
            Level(
                name: "documents_valid", promise: "clients may use the documents they get", objective: nil,
                good: max(0, documents - count(.expiredDocuments)), all: documents),
            Level(
                name: "nodes_serve", promise: "every node serves documents", objective: nil,
                good: uses("serves_documents"), all: Double(nodes.count + missing)),
            Level(
                name: "changes_possible", promise: "a node records changes", objective: nil,
                good: min(1, uses("writes")), all: 1),
        ]
    }

    var areKept: Bool { self.levels.allSatisfy(\.isKept) }
}
