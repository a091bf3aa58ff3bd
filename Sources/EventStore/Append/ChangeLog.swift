import LogLines
import Logging
import PinWire
import Pinning

/// Writes one line in the server's log for each change, and one for each that a guard rail stopped. The ledger has the
/// details; the line says at which time and by whom to look.
struct ChangeLog: Sendable {
    let logger: Logger

    /// The number of events of one change that a line names.
    private static let limit = 5

    func note(_ recorded: Recorded, of request: CommandRequest) {
        guard self.logger.writes(.changeRecorded), let first = recorded.entries.first, !recorded.isReplay else {
            return
        }
        var types: [String] = []
        for entry in recorded.entries where types.last != entry.event.type { types.append(entry.event.type) }
        let names = types.prefix(Self.limit).joined(separator: ", ") + (types.count > Self.limit ? ", …" : "")
        var metadata = self.metadata(of: request)
        metadata["position"] = "\(first.position)"
        metadata["events"] = "\(names)"
        self.logger.log(.changeRecorded, metadata)
    }

    /// The server repeats its own commands until they succeed, so only people's refused commands are logged.
    func note(_ failure: WriteFailure, of request: CommandRequest) {
        guard request.origin.actor.kind != .system, case .refused(let refusal) = failure else { return }
        var metadata = self.metadata(of: request)
        if case .guarded(let findings) = refusal {
            let codes = Set(findings.filter { $0.severity != .warn }.map(\.rail)).sorted().map(\.code)
            metadata["rails"] = "\(codes.joined(separator: ", "))"
            if let first = findings.first { metadata["why"] = "\(first.detail)" }
        } else if let rail = refusal.rail {
            metadata["rails"] = "\(rail.code)"
        } else {
            return
        }
        self.logger.log(.changeStopped, metadata)
    }

    private func metadata(of request: CommandRequest) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "stream": "\(request.command.stream.text)",
            "actor": "\(request.origin.actor.kind.rawValue):\(request.origin.actor.id)",
        ]
        if let id = request.origin.requestID { metadata["request_id"] = "\(id)" }
        return metadata
    }
}
