import EventStore
import Pinning

/// The entity tag of a stream's state: the stream's version, after the number of the epoch where that is not 0. So a tag from
/// before a loss never matches what stands at the same version after it.
enum StreamTag {
    static func text(of version: Int64, in epoch: Int64) -> String {
        "\"\(EpochNumber(epoch: epoch, number: version))\""
    }

    /// Reads one tag; nil for anything else.
    static func read(_ text: some StringProtocol) -> EpochNumber? {
        guard text.utf8.count >= 3, text.hasPrefix("\""), text.hasSuffix("\"") else { return nil }
        return EpochNumber(text.dropFirst().dropLast())
    }
}

extension Services {
    /// The entity tag of a stream's state in the present epoch.
    func tag(of version: Int64) -> String { StreamTag.text(of: version, in: self.ledger.view.state.fleet.epoch) }
}
