import EventStore
import HTTPTypes
import Hummingbird
import Keys
import PinWire
import Pinning

/// Proposed changes: `/v1/changes`. They are made by the operations whose commands they hold (``Proposal``).
struct ChangeRoutes: Sendable {
    let services: Services

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        let change = "/v1/changes/{change_id}"
        let access = Route.Access.somewhere(.readChanges)
        func act(
            _ operationID: String, _ verb: String, _ make: @escaping @Sendable (String) -> ChangeCommand
        ) -> Route {
            Route(operationID, .post, "\(change)/\(verb)", access: access, query: ["dry_run"]) { exchange in
                let id = try Self.id(of: exchange)
                let content = try await exchange.change { (_) throws(JSONDefect) in }
                return try await self.perform(make(id), of: content, in: exchange)
            }
        }
        return [
            Route(
                "listChanges", .get, "/v1/changes", access: access, query: ["status", "app", "limit", "cursor"],
                self.list),
            Route("getChange", .get, change, access: access, self.get),
            Route("updateChange", .patch, change, access: access, query: ["dry_run"], self.update),
            act("proposeChange", "propose") { .propose(id: $0) },
            Route("approveChange", .post, "\(change)/approve", access: access, query: ["dry_run"], self.approve),
            act("rejectChange", "reject") { .reject(id: $0) },
            act("withdrawChange", "withdraw") { .withdraw(id: $0) },
            Route("applyChange", .post, "\(change)/apply", access: access, query: ["dry_run"], self.apply),
            act("reviewChange", "review") { .review(id: $0) },
        ]
    }

    private struct Malformed: Error, CustomStringConvertible {
        let description = "must be the id of a change: chg_ and 16 letters and digits"
    }

    private static func id(of exchange: Exchange) throws(Problem) -> String {
        try exchange.parameter("change_id") { (text) throws(Malformed) in
            guard AccessID.change.isID(text) else { throw Malformed() }
            return text
        }
    }

    // MARK: Reading

    private static let statuses = ["open", "awaits_review"] + ProposedChange.Status.allCases.map(\.rawValue)

    /// The newest first, without their commands: these are many bytes.
    private func list(_ exchange: Exchange) async throws -> Response {
        let (state, now) = (self.services.ledger.view.state, self.services.clock())
        let app = try exchange.appInQuery
        let wanted = exchange.query["status"]
        if let wanted, !Self.statuses.contains(wanted) {
            throw Problem(
                .malformedRequest,
                "The query parameter `status` must be one of \(Self.statuses.joined(separator: ", ")).")
        }
        let limit = Int(try exchange.number("limit", in: 1...1000) ?? 100)
        let filter = [exchange.query["app"], wanted]
        let last = try Cursor.read(exchange, list: "/v1/changes", filter: filter)
        let found = state.changes.changes.values.filter { change in
            let status = change.status(at: now)
            let fits =
                switch wanted {
                case nil: true
                case "open"?: status.isOpen
                case "awaits_review"?: change.awaitsReview
                case let name?: status.rawValue == name
                }
            return fits && (app.map { app in change.content.commands.contains { $0.stream.app == app } } ?? true)
                && state.isVisible(change, to: exchange.rights)
        }.sorted { $0.place > $1.place }
        let page = found.drop { change in last.map { change.place >= $0 } ?? false }.prefix(limit)
        var members: [String: JSON] = ["changes": .array(page.map { $0.summary(at: now) })]
        if let end = page.last, end.id != found.last?.id {
            members["next_cursor"] = .string(Cursor.text(end.place, list: "/v1/changes", filter: filter))
        }
        return .json(.object(members))
    }

    private func get(_ exchange: Exchange) async throws -> Response {
        let (id, state) = (try Self.id(of: exchange), self.services.ledger.view.state)
        let change = try state.change(id, seenBy: exchange.rights)
        return .json(ChangePreview(of: change, in: state, self.services).json)
    }

    // MARK: Acting

    private func approve(_ exchange: Exchange) async throws -> Response {
        let id = try Self.id(of: exchange)
        let change = try await exchange.change { (members) throws(JSONDefect) in
            (digest: try Self.digest(&members), signature: members.optional("signature"))
        }
        let digest = change.content.digest
        let access = self.services.ledger.view.state.access
        let signature = try change.content.signature.map {
            try ApprovalSignature.verified($0, of: id, digest, by: exchange.actor, in: access)
        }
        return try await self.perform(
            .approve(id: id, contentDigest: digest, signature: signature), of: change, in: exchange)
    }

    private func apply(_ exchange: Exchange) async throws -> Response {
        let id = try Self.id(of: exchange)
        let change = try await exchange.change { (members) throws(JSONDefect) in
            try members.optional("bypass_approvals")?.bool() ?? false
        }
        return try await self.perform(.apply(id: id, bypassesApprovals: change.content), of: change, in: exchange)
    }

    /// Gives a change another reason, time or end. Its commands are added to by their own operations.
    private func update(_ exchange: Exchange) async throws -> Response {
        let id = try Self.id(of: exchange)
        var change = try await exchange.change { (members) throws(JSONDefect) in
            let base = try Self.digest(&members)
            let isTimed = members.mentions("not_before")
            let notBefore = try members.optional("not_before")?.timestamp()
            return (base, isTimed, notBefore, expiresAt: try members.optional("expires_at")?.timestamp())
        }
        let (base, isTimed, notBefore, expiresAt) = change.content
        let state = self.services.ledger.view.state
        let known = try state.change(id, seenBy: exchange.rights)
        // What is sent on is the content as this node knows it.
        guard known.contentDigest == base else { throw Problem(Refusal.changeContentStale(id)) }
        var draft = ChangeDraft(
            commands: known.content.commands, isForced: known.content.isForced, isImport: known.content.isImport,
            notBefore: known.content.notBefore, expiresAt: expiresAt ?? known.expiresAt)
        if isTimed { draft.notBefore = notBefore }
        change.reason = change.reason ?? known.content.reason
        return try await self.perform(.edit(id: id, base: base, draft), of: change, in: exchange)
    }

    private static func digest(_ members: inout JSONMembers) throws(JSONDefect) -> [UInt8] {
        let field = try members.required("content_sha256")
        guard let digest = Hex.decode(try field.string()), digest.count == 32 else {
            throw field.defect("must be the 64 hexadecimal digits of the change's content_sha256")
        }
        return digest
    }

    private func perform<Content>(
        _ command: ChangeCommand, of change: Change<Content>, in exchange: Exchange
    ) async throws -> Response {
        // Whether guard rails are overridden is part of the content, and not of what becomes of it.
        guard !change.isForced else {
            throw Problem(
                .malformedRequest,
                "`force` belongs to the commands of a change: send it with the operation that adds one.")
        }
        let executor = CommandExecutor(services: self.services)
        var result = try await executor.perform(.change(command), of: change, in: exchange)
        result.changeID = command.id
        return executor.response(toProposal: result, status: .ok)
    }
}

extension LedgerState {
    /// A proposed change, unless who asks may not know of it.
    func change(_ id: String, seenBy rights: Rights) throws(Problem) -> ProposedChange {
        guard let change = self.changes[id], self.isVisible(change, to: rights) else {
            throw Problem(Refusal.changeUnknown(id))
        }
        return change
    }
}

extension ProposedChange {
    /// Where it stands in a list by age: the time of its creation in microseconds, and its id. Texts of the same length.
    fileprivate var place: String {
        let time = String(self.createdAt.microseconds)
        return String(repeating: "0", count: max(0, 20 - time.count)) + time + self.id
    }

    /// The change without its commands, and with the streams that they are about.
    fileprivate func summary(at now: Timestamp) -> JSON {
        guard case .object(var members) = self.json(at: now) else { return .null }
        members["commands"] = nil
        var streams: [String] = []
        for command in self.content.commands where !streams.contains(command.stream.text) {
            streams.append(command.stream.text)
        }
        members["streams"] = .array(streams.map { .string($0) })
        return .object(members)
    }
}
