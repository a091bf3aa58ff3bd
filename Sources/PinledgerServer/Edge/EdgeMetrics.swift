import Edge
import Exposition
import PinWire
import Publishing

/// The numbers of an edge at one moment, for `/metrics`.
struct EdgeMetrics: Sendable {
    let services: EdgeServices
    let push: DocumentPush
    let tallies: ListenerTallies

    @Sendable func samples() -> MetricSamples {
        var samples = MetricSamples()
        samples.add(.build, 1, self.services.version)
        samples.addProcess(startedAt: self.services.startedAt)
        samples.addHealth(self.services.health)
        samples.addAnswers(self.tallies, streams: self.push.count)
        samples.addDocuments(self.services.table, at: self.services.clock())
        samples.add(.withheldDocuments, self.services.documents.withheld.count)
        let status = self.services.status
        samples.add(.documentsBehind, status.behindCount)
        samples.add(.upstreamStream, status.isFollowing ? 1 : 0)
        if let time = status.syncedAt { samples.add(.upstreamSync, Double(time.microseconds) / 1e6) }
        let refusals = status.refusals
        for cause in EdgeDocuments.causes { samples.add(.upstreamRefusals, refusals[cause, default: 0], cause) }
        samples.add(.waitingReports, self.services.reports.count)
        let outcomes = self.services.reports.outcomes
        for outcome in ReportQueue.Outcome.allCases {
            samples.add(.edgeReports, outcomes[outcome, default: 0], outcome.rawValue)
        }
        self.services.metrics.collect(into: &samples)
        return samples
    }
}
