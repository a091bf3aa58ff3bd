import EventStore
import HTTPTypes
import Hummingbird
import LogLines
import Logging
import NIOCore
import NIOPosix
import PinWire
import Pinning
import Publishing
import Traces
import Tracing

/// A command in a request: with a reason, and perhaps force.
struct Change<Content: Sendable>: Sendable {
    var content: Content
    var reason: Reason?
    var isForced: Bool
    /// The body as it came, to recognise a repeated request.
    var body: [UInt8]
    /// The uploaded keys and certificates. They are stored before the change is recorded, and erased after a day where
    /// it is not.
    var material: Set<Material> = []
}

extension Change {
    // Out of line, as others below: with them in it, Swift 6.3.1 crashes when it optimises a handler's coroutine.
    @inline(never)
    fileprivate init(
        _ body: [UInt8], limits: JSONLimits = JSONLimits(),
        _ read: (inout JSONMembers) throws(JSONDefect) -> Content
    ) throws {
        let (content, reason, isForced) = try JSONField(try JSON(parsing: body, limits: limits)).object {
            (members) throws(JSONDefect) in
            let reason = try members.optional("reason")?.parse(Reason.init)
            let isForced = try members.optional("force")?.bool() ?? false
            return (try read(&members), reason, isForced)
        }
        self.init(content: content, reason: reason, isForced: isForced, body: body)
    }
}

extension Exchange {
    /// Reads a body with a change: the members that `read` asks for, and `reason` and `force`.
    @inline(never)
    func change<Content: Sendable>(
        _ read: (inout JSONMembers) throws(JSONDefect) -> Content
    ) async throws -> Change<Content> {
        let body = try await self.body()
        try self.requireJSON()
        return try Change(body, read)
    }

    /// The same for a body that may hold keys: on a thread that may block, since a key store takes up to seconds to
    /// open.
    ///
    /// - Parameters:
    ///   - known: The keys by which hexadecimal digits are judged.
    ///   - limits: How much the JSON of the body may hold.
    @inline(never)
    func keyChange<Content: Sendable>(
        known: KnownKeys = KnownKeys(), limits: JSONLimits = JSONLimits(),
        _ read: @escaping @Sendable (inout JSONMembers, inout Uploads) throws(JSONDefect) -> Content
    ) async throws -> Change<Content> {
        let body = try await self.body()
        try self.requireJSON()
        return try await NIOThreadPool.singleton.runIfActive {
            var uploads = Uploads(known: known)
            var change = try Change(body, limits: limits) { (members) throws(JSONDefect) in try read(&members, &uploads)
            }
            change.material = uploads.material
            return change
        }
    }

    /// A change whose request has no body: reason and force are in the query.
    func bodilessChange() throws -> Change<Void> {
        Change(content: (), reason: try self.reasonInQuery(), isForced: try self.flag("force"), body: [])
    }

    /// The idempotency key: bare, or as a structured field's string. Each further change of a request has its own, which
    /// follows from it.
    func idempotencyKey(of part: String? = nil) throws(Problem) -> String? {
        guard var key = self.request.headers[.idempotencyKey] else { return nil }
        if key.count >= 2, key.hasPrefix("\""), key.hasSuffix("\"") { key = String(key.dropFirst().dropLast()) }
        guard (1...255).contains(key.utf8.count), key.isPrintableASCII else {
            throw Problem(.malformedRequest, "Idempotency-Key must be 1 to 255 printable ASCII characters.")
        }
        return part.map { Hex.encode(sha256(Array("\(key)\n\($0)".utf8))) } ?? key
    }
}

/// Submits changes to the ledger and answers with the recorded events.
struct CommandExecutor: Sendable {
    let services: Services
    /// Whether a configuration that clients already have is taken over.
    var isImport = false
    /// Whether its operations can propose what they would do.
    var canPropose = true

    /// The query parameters of every command that can be part of a proposed change.
    static let query = ["dry_run", "plan_hash"] + Self.proposalQuery
    /// The same for commands that make a new id or secret for each request, so that no two plans are the same.
    static let drawingQuery = ["dry_run"] + Self.proposalQuery
    /// And those of commands without a body.
    static let bodilessQuery = ["dry_run", "plan_hash", "reason", "force"] + Self.proposalQuery
    private static let proposalQuery = ["change", "not_before", "bypass_approvals"]
    /// The same three, of commands that are only carried out by themselves.
    static let directQuery = ["dry_run", "plan_hash"]
    static let directDrawingQuery = ["dry_run"]
    static let directBodilessQuery = ["dry_run", "plan_hash", "reason", "force"]

    /// The recorded events, or those of a dry run.
    struct Result: Sendable {
        var recorded: Recorded
        var isDryRun: Bool
        var stream: StreamID
        /// The state after a dry run.
        var after: LedgerState?
        /// The stream's state before and after, for a dry run.
        var difference: JSON?
        /// The proposed change that the command was made a part of; nil where it was carried out by itself.
        var changeID: String?
        /// Whether that change was applied at once.
        var isApplied = false

        /// Whether the command was only written down.
        var isProposed: Bool { self.changeID != nil && !self.isApplied }
        /// Whether the ledger now has what the command does.
        var isCarriedOut: Bool { !self.isDryRun && !self.isProposed }
    }

    /// Records the events of `command`; with `dry_run=true`, only computes them.
    ///
    /// - Parameters:
    ///   - version: The stream version that the command was made for, where it is not in `If-Match`.
    ///   - part: The index among several changes of the request; nil where it is the only one, or the first. `If-Match`
    ///     does not apply to it.
    @inline(never)
    func perform<Content>(
        _ command: Command, of change: Change<Content>, in exchange: Exchange, expecting version: Int64? = nil,
        part: String? = nil
    ) async throws -> Result {
        await self.recall(for: command)
        if let proposal = try Proposal(exchange) {
            return try await self.propose(command, of: change, proposal, in: exchange, expecting: version)
        }
        guard let writer = self.services.writer else { throw Problem(.readOnly, "This node is read-only.") }
        let request = try self.request(command, of: change, in: exchange, expecting: version, part: part)
        let stream = command.stream
        if try exchange.flag("dry_run") {
            let rehearsal = try await writer.rehearse(request)
            return Result(
                recorded: rehearsal.recorded, isDryRun: true, stream: stream, after: rehearsal.after,
                difference: rehearsal.before.difference(of: stream, to: rehearsal.after).json
            )
        }
        await self.keep(change.material)
        let recorded: Recorded
        do throws(WriteFailure) {
            recorded = try await traced("append") { (span) throws(WriteFailure) in
                let recorded = try await writer.execute(request)
                span?.updateAttributes { attributes in
                    attributes["pinledger.stream"] = stream.text
                    attributes["pinledger.position"] = recorded.position
                    attributes["pinledger.events"] = recorded.entries.count
                }
                return recorded
            }
        } catch {
            guard !self.canPropose, case .refused(.approvalRequired(let rules)) = error else { throw error }
            throw Problem(
                .approvalRequired(rules),
                alternative: "This operation proposes nothing: propose the same with those of hosts, pins and clients.")
        }
        await traced("publish") { _ in
            await self.services.publisher.waitForPublication(of: recorded, in: stream)
        }
        return Result(recorded: recorded, isDryRun: false, stream: stream)
    }

    /// Throws the ledger's present refusal, and records nothing: to be called before something costly is made for the
    /// change.
    func check<Content>(_ command: Command, of change: Change<Content>, in exchange: Exchange) async throws {
        guard let writer = self.services.writer else { throw Problem(.readOnly, "This node is read-only.") }
        _ = try await writer.rehearse(try self.request(command, of: change, in: exchange, part: nil))
    }

    /// Fetches an app's keys and certificates into memory for a pin that is given without its key: guard rail G16 compares
    /// it with hashes of their texts. The change does not fail for it.
    @inline(never)
    private func recall(for command: Command) async {
        guard case .app(let id, let commands) = command,
            commands.contains(where: { $0.newPins.contains { $0.evidence == nil } }),
            let app = self.services.ledger.view.state.apps[id]
        else { return }
        var digests: Set<[UInt8]> = []
        for known in app.keys.values.prefix(Self.recalled) {
            digests.insert(known.key.pin.bytes)
            digests.formUnion(known.certificates.map(\.sha256))
        }
        _ = await self.services.material.der(of: digests, within: MaterialStore.patience)
    }

    /// The most keys of an app that are fetched so.
    private static let recalled = 1000

    /// How long a change waits until its uploads are stored.
    private static let storing = Duration.seconds(1)

    /// Stores a change's uploads, before the ledger names them. The change neither fails for it nor waits for long:
    /// pins matter more, and missing material can be uploaded again.
    @inline(never)
    func keep(_ material: Set<Material>) async {
        do { try await self.services.material.store(material, within: Self.storing) } catch {
            self.services.logger.log(.materialNotStored, ["error": "\(error)"])
        }
    }

    /// The first result of a repeated request, proposals included; nil where it was not recorded, or cannot be repeated because it
    /// has no idempotency key.
    func replay<Content>(
        _ command: Command, of change: Change<Content>, in exchange: Exchange, part: String? = nil
    ) async throws -> Result? {
        let request = try self.request(command, of: change, in: exchange, part: part)
        guard var recorded = try await self.services.reader.recorded(by: request) else { return nil }
        if recorded.entries.isEmpty {
            recorded.streamVersion = self.services.ledger.view.state.version(of: command.stream)
        }
        if let proposal = try Proposal(exchange) {
            try self.requireVisible(recorded, in: exchange)
            return Self.result(recorded, of: command, proposal, recorded.entries.first?.changeID ?? "")
        }
        return Result(recorded: recorded, isDryRun: false, stream: command.stream)
    }

    @inline(never)
    private func request<Content>(
        _ command: Command, of change: Change<Content>, in exchange: Exchange, expecting version: Int64? = nil,
        part: String?
    ) throws -> CommandRequest {
        guard let actor = exchange.actor else { throw Problem(.tokenMissing, "A change requires a token.") }
        let origin = Origin(
            actor: actor, reason: change.reason, isForced: change.isForced, requestID: exchange.requestID,
            idempotencyKey: try exchange.idempotencyKey(of: part)
        )
        let expected = part == nil ? try Self.expectedVersion(of: exchange.request) : nil
        return CommandRequest(
            command: command, origin: origin, expectedVersion: version ?? expected?.number,
            expectedEpoch: expected?.epoch,
            digest: Self.digest(of: exchange, body: change.body), expectedPlan: try Self.plan(of: exchange),
            isImport: self.isImport
        )
    }

    /// The answer to a change: its recorded events, their positions, and the next value for `If-Match`.
    func response(
        to result: Result, status: HTTPResponse.Status = .ok, location: String? = nil, adding more: [String: JSON] = [:]
    ) -> Response {
        if result.isProposed { return self.response(toProposal: result, adding: more) }
        var headers: HTTPFields = [
            .eTag: self.services.tag(of: result.recorded.streamVersion),
            .ledgerPosition: String(result.recorded.position),
        ]
        if result.recorded.isReplay { headers[.idempotencyReplayed] = "true" }
        if let location, !result.isDryRun { headers[.location] = location }
        var members = more
        members["stream"] = .string(result.stream.text)
        members["version"] = .integer(result.recorded.streamVersion)
        members["position"] = .integer(result.recorded.position)
        members["dry_run"] = .bool(result.isDryRun)
        members["difference"] = result.difference
        members["change_id"] = result.changeID.map { .string($0) }
        members["guard_rail_findings"] = .array(result.recorded.findings.map(\.json))
        // A proposal's plan has a new id each time.
        if result.isDryRun, result.changeID == nil { members["plan_hash"] = .string(Hex.encode(result.recorded.plan)) }
        members["events"] = .array(result.recorded.entries.map { $0.json })
        return .json(.object(members), status: result.isDryRun ? .ok : status, headers: headers)
    }

    /// Performs a change and answers it.
    func callAsFunction<Content>(
        _ command: Command, of change: Change<Content>, in exchange: Exchange, status: HTTPResponse.Status = .ok,
        location: String? = nil
    ) async throws -> Response {
        self.response(
            to: try await self.perform(command, of: change, in: exchange), status: status, location: location
        )
    }

    // MARK: Headers

    /// The stream version in `If-Match`, with its epoch; nil where there is none, or `*`.
    static func expectedVersion(of request: Request) throws(Problem) -> EpochNumber? {
        guard let text = request.headers[.ifMatch]?.trimmingCharacters(), text != "*" else { return nil }
        guard let tag = StreamTag.read(text) else {
            throw Problem(
                .malformedRequest, "The header `If-Match` must be one version of this resource, such as \"12\".")
        }
        return tag
    }

    /// The plan in the query, from a dry run.
    private static func plan(of exchange: Exchange) throws(Problem) -> [UInt8]? {
        guard let text = exchange.query["plan_hash"] else { return nil }
        guard let plan = Hex.decode(text), plan.count == 32 else {
            throw Problem(
                .malformedRequest,
                "The query parameter `plan_hash` must be the 64 hexadecimal digits from a dry run.")
        }
        return plan
    }

    static func digest(of exchange: Exchange, body: [UInt8]) -> [UInt8] {
        let head = "\(exchange.request.method.rawValue) \(exchange.request.head.path ?? "")\n"
        return sha256(Array(head.utf8) + body)
    }
}

extension LedgerState {
    /// What a change of one stream makes different.
    func difference(of stream: StreamID, to after: LedgerState) -> JSONDifference {
        guard case .access = stream else { return .between(self.json(of: stream), after.json(of: stream)) }
        // Only what differs: a caller who may change one token need not see the others.
        return .between(self.access.json(whereNot: after.access), after.access.json(whereNot: self.access))
    }

    /// The state of one stream, as the API shows it.
    func json(of stream: StreamID) -> JSON {
        switch stream {
        case .app(let id): self.apps[id]?.json ?? .null
        case .watch(let id):
            [
                "telemetry_keys": .array(self.apps[id]?.watch.telemetryKeys.map(\.json) ?? []),
                "warnings": .array(self.apps[id]?.watch.inOrder.map(\.json) ?? []),
            ]
        case .fleet: self.fleet.json
        case .keys: .array(self.keys.keys.values.sorted { $0.kid < $1.kid }.map(\.json))
        case .access: self.access.json
        case .webhooks: self.webhooks.json
        case .log: self.log.json
        case .changes, .audit: .null
        }
    }
}

extension AppCommand {
    /// The pins that the command adds.
    fileprivate var newPins: [NewPin] {
        switch self {
        case .addHost(_, _, _, let pins), .startCandidate(_, _, _, let pins): pins
        case .addPin(_, _, let pin): [pin]
        case .startRotation(let rotation): [rotation.next]
        default: []
        }
    }
}
