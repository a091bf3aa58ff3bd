import EventStore
import HTTPTypes
import Hummingbird
import Keys
import PinWire
import Pinning
import Publishing

/// Where a command goes that is not carried out by itself, but as a proposed change: the query parameters `change` and
/// `bypass_approvals`.
enum Proposal: Hashable, Sendable {
    /// A change of its own, open for approvals.
    case new
    /// A change of its own that is not yet open for approvals.
    case draft
    /// Added to a change that is open.
    case addition(String)
    /// A change of its own, applied at once without the approvals that it needs.
    case bypass

    /// Nil for a command that is carried out by itself.
    init?(_ exchange: Exchange) throws {
        let bypasses = try exchange.flag("bypass_approvals")
        guard exchange.query["not_before"] == nil || exchange.query["change"] != nil else {
            throw Problem(
                .invalidValue, "not_before goes with change: by itself, a command is carried out at once.")
        }
        switch exchange.query["change"] {
        case nil:
            guard bypasses else { return nil }
            self = .bypass
        case let text?:
            guard !bypasses else {
                throw Problem(
                    .invalidValue,
                    "Send the query parameter `change` or the query parameter `bypass_approvals`, not both.")
            }
            switch text {
            case "new": self = .new
            case "draft": self = .draft
            default:
                guard AccessID.change.isID(text) else {
                    throw Problem(
                        .malformedRequest,
                        "The query parameter `change` must be new, draft, or the id of an open change (chg_…).")
                }
                self = .addition(text)
            }
        }
    }
}

extension CommandExecutor {
    /// Writes a command down as a proposed change, or as a part of one.
    ///
    /// - Parameter version: The stream version that the command was made for, where it is not in `If-Match`.
    func propose<Content>(
        _ command: Command, of change: Change<Content>, _ proposal: Proposal, in exchange: Exchange,
        expecting version: Int64?
    ) async throws -> Result {
        guard let writer = self.services.writer else { throw Problem(.readOnly, "This node is read-only.") }
        guard exchange.query["plan_hash"] == nil else {
            throw Problem(
                .invalidValue, "plan_hash does not go with a proposed change, whose approvals name its content.")
        }
        let state = self.services.ledger.view.state
        let expected = try Self.expectedVersion(of: exchange.request)
        let command = try self.written(command, in: state)
        guard command.isProposable else { throw Problem(Refusal.commandNotProposable) }
        var reason = change.reason
        var draft = ChangeDraft(
            commands: [command], isForced: change.isForced, isImport: self.isImport,
            notBefore: try exchange.time("not_before"))
        let id: String
        let make: ChangeCommand
        switch proposal {
        case .new, .draft:
            id = AccessID.change.generate()
            make = .create(id: id, draft, isDraft: proposal == .draft)
        case .bypass:
            id = AccessID.change.generate()
            make = .bypass(id: id, draft)
        case .addition(let known):
            guard let present = state.changes[known], state.isVisible(present, to: exchange.rights) else {
                throw Problem(Refusal.changeUnknown(known))
            }
            id = known
            draft.commands = present.content.commands + [command]
            draft.isForced = present.content.isForced || change.isForced
            // Next to an import, other commands get none of its leniency.
            draft.isImport = present.content.isImport && self.isImport
            draft.notBefore = draft.notBefore ?? present.content.notBefore
            draft.expiresAt = present.expiresAt
            reason = reason ?? present.content.reason
            make = .edit(id: id, base: present.contentDigest, draft)
        }
        guard let actor = exchange.actor else { throw Problem(.tokenMissing, "A change requires a token.") }
        let request = CommandRequest(
            command: .change(make),
            origin: Origin(
                actor: actor, reason: reason, requestID: exchange.requestID,
                correlationID: id, idempotencyKey: try exchange.idempotencyKey()),
            expectedVersion: version ?? expected?.number, expectedEpoch: expected?.epoch,
            expectedStream: command.stream,
            digest: Self.digest(of: exchange, body: change.body))
        if try exchange.flag("dry_run") {
            let rehearsal = try await writer.rehearse(request)
            return Self.result(rehearsal.recorded, of: command, proposal, id, rehearsal.before, rehearsal.after)
        }
        await self.keep(change.material)
        let recorded = try await writer.execute(request)
        await self.services.publisher.waitForPublication(of: recorded, in: command.stream)
        if recorded.isReplay { try self.requireVisible(recorded, in: exchange) }
        // A repeated request gets the id of the first one.
        return Self.result(recorded, of: command, proposal, recorded.entries.first?.changeID ?? id)
    }

    /// Refuses to repeat the answer about a change that the caller no longer sees: others have added to it what it may not see.
    func requireVisible(_ recorded: Recorded, in exchange: Exchange) throws {
        let state = self.services.ledger.view.state
        guard let id = recorded.entries.first?.changeID, let change = state.changes[id],
            !state.isVisible(change, to: exchange.rights)
        else { return }
        throw Problem(Refusal.changeUnknown(id))
    }

    /// The result of a command that was written down. One that was applied at once is answered as if it had been carried out
    /// by itself: with its own stream.
    static func result(
        _ recorded: Recorded, of command: Command, _ proposal: Proposal, _ id: String, _ before: LedgerState? = nil,
        _ after: LedgerState? = nil
    ) -> Result {
        guard proposal == .bypass else {
            return Result(
                recorded: recorded, isDryRun: after != nil, stream: .changes, after: after, changeID: id)
        }
        var recorded = recorded
        let stream = command.stream
        recorded.streamVersion = recorded.entries.last { $0.stream == stream }?.streamVersion ?? recorded.streamVersion
        return Result(
            recorded: recorded, isDryRun: after != nil, stream: stream, after: after,
            difference: after.flatMap { after in before?.difference(of: stream, to: after).json }, changeID: id,
            isApplied: true)
    }

    /// A command in the form in which a change holds it: what puts a recorded change back as the commands that do so.
    private func written(_ command: Command, in state: LedgerState) throws -> Command {
        guard case .app(let id, let commands) = command, case .revert(let past)? = commands.first else {
            return command
        }
        guard let app = state.apps[id] else { throw Refusal.appUnknown(id) }
        let reversal = try Reversal(of: past, in: app, at: self.services.clock())
        guard reversal.conflicts.isEmpty else { throw Refusal.changedSince(reversal.conflicts) }
        return .app(id, reversal.commands)
    }

    /// The answer to a command that was written down: the change, and what it would do.
    func response(
        toProposal result: Result, status: HTTPResponse.Status = .accepted, adding more: [String: JSON] = [:]
    ) -> Response {
        let state = result.after ?? self.services.ledger.view.state
        // The text of a new token is shown once, and what an import makes of its file belongs to the proposal; everything else
        // that handlers add is about what was carried out.
        var members = more.filter { ["token", "token_id", "plan", "findings", "remainder"].contains($0.key) }
        members["dry_run"] = .bool(result.isDryRun)
        members["position"] = .integer(result.recorded.position)
        members["change_id"] = result.changeID.map { .string($0) }
        var headers: HTTPFields = [.ledgerPosition: String(result.recorded.position)]
        if result.recorded.isReplay { headers[.idempotencyReplayed] = "true" }
        if let id = result.changeID, !result.isDryRun { headers[.location] = "/v1/changes/\(id)" }
        if let change = result.changeID.flatMap({ state.changes[$0] }) {
            members["change"] = ChangePreview(of: change, in: state, self.services).json
        }
        members["events"] = .array(result.recorded.entries.map(\.json))
        return .json(.object(members), status: status, headers: headers)
    }
}

extension Entry {
    /// The proposed change that the event is about; nil for an event of another stream.
    var changeID: String? {
        guard case .changes(let event) = self.event else { return nil }
        return switch event {
        case .created(let id, _, _, _, _), .edited(let id, _, _, _), .proposed(let id), .approved(let id, _, _, _),
            .rejected(let id, _), .withdrawn(let id, _), .suspended(let id, _), .applied(let id, _, _, _),
            .reviewed(let id, _):
            id
        }
    }
}
