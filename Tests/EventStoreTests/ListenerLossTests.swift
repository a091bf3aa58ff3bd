import Postgres
import Testing

@testable import EventStore

/// When a node logs that it lost its notification connection.
struct ListenerLossTests {
    /// An event of the listener, and whether the database answered after it.
    enum Step: Sendable {
        case lost(answered: Bool), tick(answered: Bool), connected(answered: Bool)

        var event: PostgresListenerEvent {
            switch self {
            case .lost: .disconnected(PostgresError(.connectionLost, "lost"))
            case .tick: .tick
            case .connected: .connected
            }
        }

        var isAnswered: Bool {
            switch self {
            case .lost(let answered), .tick(let answered), .connected(let answered): answered
            }
        }
    }

    private static let longWait = Array(repeating: Step.tick(answered: true), count: ListenerLoss.patience)

    @Test(
        arguments: [
            ("taken up again at once", [.lost(answered: true), .connected(answered: true)], 1),
            ("away for long", [.lost(answered: true), .tick(answered: true), .lost(answered: true)] + longWait, 1),
            ("never there", [.lost(answered: true), .lost(answered: true)] + longWait, 1),
            (
                "lost twice",
                [
                    .lost(answered: true), .connected(answered: true), .tick(answered: true), .lost(answered: true),
                    .tick(answered: true), .connected(answered: true),
                ], 2
            ),
            (
                "lost with the database",
                [.lost(answered: false), .tick(answered: false), .tick(answered: true), .connected(answered: true)], 0
            ),
            (
                "lost shortly before the database",
                [.lost(answered: true), .tick(answered: false), .lost(answered: false), .connected(answered: true)], 0
            ),
            (
                "tried in vain shortly before the database is back",
                [
                    .lost(answered: false), .tick(answered: false), .lost(answered: true), .lost(answered: true),
                    .tick(answered: true), .connected(answered: true),
                ], 0
            ),
            (
                "not back with the database",
                [.lost(answered: false), .lost(answered: true)] + longWait + longWait + [.lost(answered: true)], 1
            ),
            (
                "lost by itself after the database is back",
                [
                    .lost(answered: false), .connected(answered: true), .lost(answered: true),
                    .connected(answered: true),
                ], 1
            ),
        ] as [(String, [Step], Int)])
    func `a lost notification connection is logged once, and not beside a lost database`(
        _ name: String, _ steps: [Step], _ lines: Int
    ) {
        var loss = ListenerLoss()
        let logged = steps.count { loss.note($0.event, isAnswered: $0.isAnswered) != nil }
        #expect(logged == lines, "\(name)")
    }
}
