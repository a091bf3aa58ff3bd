import EventStore
import PinWire
import Pinning

/// Some streams as they were at a moment of the ledger that a request names, by a position or a time; the present where it names none.
struct PastMoment: Sendable {
    /// The state that the streams make, such as an app's and the fleet's. A past moment has nothing else of the ledger.
    var state: LedgerState
    /// The number of events before the moment.
    var position: Int64
    /// The instant that was named, else that of the last event in it.
    var time: Timestamp

    /// Finds the moment.
    ///
    /// - Throws: `position_ahead`, or the database's error.
    init(of streams: [StreamID], position: Int64?, time: Timestamp?, _ services: Services) async throws {
        let view = services.ledger.view
        let found: Int64
        switch (position, time) {
        case (nil, nil):
            (self.state, self.position) = (view.state, view.head.position)
            self.time = view.head.present(by: services.clock())
            return
        case (let given?, _):
            guard given <= view.head.position else {
                throw Problem(.positionAhead, "The ledger has \(view.head.position) events, fewer than \(given).")
            }
            found = given
        case (nil, let time?):
            // Times are recorded to the microsecond: an event of exactly this instant is included.
            found = try await services.reader.position(at: Timestamp(microseconds: time.microseconds + 1))
        }
        let past = try await services.reader.past(of: streams, at: found)
        (self.state, self.position) = (past.state, found)
        // An event from the future has happened by now.
        let present = view.head.present(by: services.clock())
        self.time = time ?? min(past.time ?? present, present)
    }

    /// The document of the app at the moment.
    ///
    /// - Throws: `app_unknown` where there is no such app, or was none yet.
    func document(of id: AppID, _ services: Services) throws(Problem) -> Document {
        guard let document = self.state.document(of: id) else {
            guard services.ledger.view.state.apps[id] != nil else { throw Problem(Refusal.appUnknown(id)) }
            throw Problem(
                .appUnknown, "The app \(id) did not exist yet after the ledger's first \(self.position) events.")
        }
        return document
    }
}

extension PastMoment {
    /// The moment that the query of a request names.
    init(
        of streams: [StreamID], _ exchange: Exchange, _ services: Services, _ positionName: String = "position",
        _ timeName: String = "at"
    ) async throws {
        let (position, time) = (
            try exchange.number(positionName, in: 0...JSON.largestInteger), try exchange.time(timeName)
        )
        guard position == nil || time == nil else {
            throw Problem(
                .malformedRequest,
                "Send the query parameter `\(positionName)` or the query parameter `\(timeName)`, not both.")
        }
        if let time, time > services.clock() {
            throw Problem(.malformedRequest, "The query parameter `\(timeName)` must not be in the future.")
        }
        try await self.init(of: streams, position: position, time: time, services)
    }
}
