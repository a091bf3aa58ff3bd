import EventStore
import Hummingbird
import PinWire
import Pinning

/// A device's decision, now or at any time, with its reasons: `/v1/apps/{app}/explain`.
///
/// The device's attributes are neither stored nor logged.
struct ExplainRoutes: Sendable {
    let services: Services

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        [Route("explain", .post, "/v1/apps/{app}/explain", self.explain)]
    }

    private struct Question {
        var device: Device
        /// Nil for all names of the app.
        var hosts: [String]?
        var time: Timestamp?
        var position: Int64?

        static let hostLimit = 100
    }

    private func explain(_ exchange: Exchange) async throws -> Response {
        let id = try exchange.app
        let question = try await self.question(exchange)
        let (state, position, time) = try await self.moment(question, of: id)
        guard let app = state.apps[id], let document = state.document(of: id) else {
            guard self.services.ledger.view.state.apps[id] != nil else { throw Problem(Refusal.appUnknown(id)) }
            throw Problem(.appUnknown, "The app \(id) did not exist yet after the ledger's first \(position) events.")
        }
        let evaluator = Evaluator(document)
        let (names, leftOut) = question.hosts.map { ($0, 0) } ?? app.sampleNames(atMost: Question.hostLimit)
        return .json([
            "app": .string(id.text),
            "version": .integer(document.version),
            "position": .integer(position),
            "evaluated_at": .string(time.rfc3339),
            "content_sha256": .string(Hex.encode(document.contentDigest)),
            "hosts_left_out": .integer(Int64(leftOut)),
            "hosts": .array(names.map { evaluator.explain($0, for: question.device, at: time).json(for: $0) }),
        ])
    }

    private func question(_ exchange: Exchange) async throws -> Question {
        let body = try await exchange.body()
        try exchange.requireJSON()
        let now = self.services.clock()
        return try JSONField(try JSON(parsing: body)).object { (members) throws(JSONDefect) in
            var question = Question(
                device: try members.optional("device")?.object { (m) throws(JSONDefect) in try Device(&m) } ?? Device())
            question.hosts = try members.optional("hosts")?.hostNames(atMost: Question.hostLimit)
            if let at = members.optional("at") {
                let time = try at.timestamp()
                guard time <= now else { throw at.defect("must not be in the future") }
                question.time = time
            }
            question.position = try members.optional("position")?.integer(0...JSON.largestInteger)
            return question
        }
    }

    /// The state in question, the number of events in it, and the instant at which the device decides.
    private func moment(_ question: Question, of id: AppID) async throws -> (LedgerState, Int64, Timestamp) {
        let view = self.services.ledger.view
        let position: Int64
        switch (question.position, question.time) {
        case (nil, nil):
            // Recorded events have happened, also for a node whose clock lags a little.
            return (view.state, view.head.position, max(self.services.clock(), view.head.lastTime))
        case (let given?, _):
            guard given <= view.head.position else {
                throw Problem(.positionAhead, "The ledger has \(view.head.position) events, fewer than \(given).")
            }
            position = given
        case (nil, let time?):
            // Times are recorded to the microsecond: an event of exactly this instant is included.
            position = try await self.services.reader.position(at: Timestamp(microseconds: time.microseconds + 1))
        }
        let past = try await self.services.reader.past(of: id, at: position)
        return (past.state, position, question.time ?? past.time ?? self.services.clock())
    }
}
