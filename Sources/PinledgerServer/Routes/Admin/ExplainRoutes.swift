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
        [Route("explain", .post, "/v1/apps/{app}/explain", access: .app(.readApps), self.explain)]
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
        let moment = try await PastMoment(
            of: [.fleet, .app(id)], position: question.position, time: question.time, self.services)
        let document = try moment.document(of: id, self.services)
        let evaluator = Evaluator(document)
        let (names, leftOut) =
            question.hosts.map { ($0, 0) }
            ?? moment.state.apps[id]?.sampleNames(atMost: Question.hostLimit) ?? ([], 0)
        return .json([
            "app": .string(id.text),
            "version": .integer(document.version),
            "position": .integer(moment.position),
            "evaluated_at": .string(moment.time.rfc3339),
            "content_sha256": .string(Hex.encode(document.contentDigest)),
            "hosts_left_out": .integer(Int64(leftOut)),
            "hosts": .array(names.map { evaluator.explain($0, for: question.device, at: moment.time).json(for: $0) }),
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
}
