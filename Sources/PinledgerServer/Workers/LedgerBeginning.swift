import EventStore
import LogLines
import Pinning

extension Services {
    /// Raises the feature level of a ledger without events to the highest that this program knows: no earlier program has
    /// anything to do with it. The writer MUST run.
    package func beginLedger() async {
        let level = self.environment.knownLevel
        guard let writer, self.ledger.position == 0, self.ledger.refusal == nil,
            self.ledger.view.state.fleet.featureLevel < level
        else { return }
        _ = await SystemCommands(ledger: self.ledger, writer: writer, logger: self.logger).submit(
            .fleet(.raiseFeatureLevel(level)), because: "the ledger is new", at: 0, failure: .levelNotRaised)
    }
}
