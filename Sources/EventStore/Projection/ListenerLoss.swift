import Postgres

/// Whether a node is to log that it lost its notification connection: once for each loss, and not where it lost the
/// database too, which has a line of its own.
///
/// The two come in any order: a server that shuts down may answer a query after it has cut the notifications, and one
/// that starts may answer a query before the listener's next attempt. So a loss is logged when the database answers a
/// later event than the loss; and where the database was away meanwhile, when the listener still cannot connect after
/// ``patience`` ticks.
struct ListenerLoss: Sendable, Hashable {
    private enum Phase: Sendable, Hashable {
        case listening
        case lost(PostgresError, withDatabase: Bool)
        case told
    }

    /// The number of ticks, which come once a second, that the listener has for its return after the database's.
    static let patience = 10

    private var phase = Phase.listening
    /// How many ticks the database has answered since it was lost, or since the listener was.
    private var ticks = 0

    /// Takes an event of the listener, and whether the database answered the query that followed it.
    ///
    /// - Returns: The loss to log.
    mutating func note(_ event: PostgresListenerEvent, isAnswered: Bool) -> PostgresError? {
        if !isAnswered { self.ticks = 0 }
        switch (event, self.phase) {
        case (.disconnected(let error), .listening):
            self.ticks = 0
            self.phase = .lost(error, withDatabase: !isAnswered)
        case (.disconnected(let error), .lost(_, let withDatabase)):
            self.phase = .lost(error, withDatabase: withDatabase || !isAnswered)
        case (.connected, .lost(let error, withDatabase: false)) where isAnswered:
            self.phase = .listening
            return error
        case (.connected, _):
            self.phase = .listening
        case (_, .lost(let error, _)) where !isAnswered:
            self.phase = .lost(error, withDatabase: true)
        case (_, .lost(let error, let withDatabase)):
            self.ticks += 1
            guard self.ticks >= (withDatabase ? Self.patience : 1) else { break }
            self.phase = .told
            return error
        case (_, .listening), (_, .told):
            break
        }
        return nil
    }
}
