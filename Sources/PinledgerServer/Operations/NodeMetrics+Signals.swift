import Exposition
import Firebase
import PinWire
import Pinning
import Publishing
import Signals
import Webhooks

extension NodeMetrics {
    /// What servers present, and what clients hold and report.
    func addSignals(to samples: inout MetricSamples) {
        let seen = self.services.probeScheduler.overview(at: self.services.clock())
        for state in ProbeOverview.State.allCases {
            samples.add(.endpoints, seen.endpoints[state, default: 0], state.rawValue)
        }
        if let end = seen.firstCertificateEnd { samples.add(.certificateExpiry, Double(end.seconds)) }
        let reports = self.services.telemetry.recorder.intake.counts
        samples.add(.clientReports, Double(reports.duplicate), "duplicate")
        samples.add(.clientReports, Double(reports.lost), "lost")
        samples.add(.clientReports, Double(reports.refused), "refused")
        samples.add(.clientReports, Double(reports.taken), "taken")
        samples.add(.clientReports, Double(reports.turnedAway), "turned_away")
    }

    /// What the node brings to others.
    func addOutgoing(to samples: inout MetricSamples) {
        if let queue = self.services.webhooks.queue {
            samples.add(.webhookDeliveries, Double(queue.failed), DeliveryState.failed.rawValue)
            samples.add(.webhookDeliveries, Double(queue.pending), DeliveryState.pending.rawValue)
            if let oldest = queue.oldest { samples.add(.webhookOldest, Double(oldest.seconds)) }
        }
        guard !self.services.firebase.projects.isEmpty else { return }
        let table = self.services.publisher.table
        var states = ["behind": 0, "in_step": 0, "troubled": 0]
        for (app, entry) in self.services.firebase.all {
            let state =
                entry.trouble != nil
                ? "troubled" : entry.isInStep(documentVersion: table[app]?.version) ? "in_step" : "behind"
            states[state, default: 0] += 1
        }
        for (state, count) in states.sorted(by: { $0.key < $1.key }) { samples.add(.firebaseApps, count, state) }
    }
}
