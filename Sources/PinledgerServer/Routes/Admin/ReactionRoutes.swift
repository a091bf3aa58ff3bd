import Concurrency
import EventStore
import Hummingbird
import NIOPosix
import PinWire
import Pinning
import Signals

/// What clients' reports come to, and when the detectors would have fired: `/v1/apps/{app}/reactions`.
struct ReactionRoutes: Sendable {
    let services: Services
    /// Replays at once: each may take a thread for a while.
    private let limiter = ConcurrencyLimiter<Never>(limit: 4)

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        [
            Route(
                "getReactions", .get, "/v1/apps/{app}/reactions", access: .app(.readApps),
                query: ["failure_threshold_bp", "hours"],
                self.reactions)
        ]
    }

    private func reactions(_ exchange: Exchange) async throws -> Response {
        let app = try self.services.app(try exchange.app)
        let threshold = try exchange.number("failure_threshold_bp", in: 1...9999)
        let hours = try exchange.number("hours", in: 1...336) ?? TelemetrySummary.factHours
        let recorder = self.services.telemetry.recorder
        // The present verdicts use the server's own inputs, whatever is replayed.
        let facts = try await recorder.summary(of: app.id, hours: TelemetrySummary.factHours).facts
        let past =
            hours == TelemetrySummary.factHours
            ? facts : try await recorder.summary(of: app.id, hours: hours).facts(minutes: Int(hours) * 60)
        var context = self.services.decisionContext
        context.facts.telemetry = { $0 == app.id ? facts : nil }
        let points = threshold.map { Int($0) } ?? app.monitoring.failureThreshold
        guard let slot = self.limiter.take() else { throw Problem(.overloaded, "Other replays are running.") }
        defer { slot.release() }
        // Thousands of cells with two weeks of minutes take their time.
        let replays = try await NIOThreadPool.singleton.runIfActive {
            ReactionReplay.wouldHaveFired(on: past, threshold: points)
        }
        return .json([
            "app": .string(app.id.text),
            "reaction": .string(app.monitoring.isEnabled ? app.monitoring.reaction.rawValue : "off"),
            "measured_at": .string(facts.measuredAt.rfc3339),
            "verdicts": .array(self.services.ledger.view.state.verdicts(of: app.id, in: context).map(\.json)),
            "would_have_fired": [
                "failure_threshold_bp": .integer(Int64(points)),
                "hours": .integer(hours),
                "arms": .array(replays.map(\.json)),
            ],
        ])
    }
}

extension ReactionReplay {
    fileprivate var json: JSON {
        .members([
            "host": .string(self.host.text),
            "arm": self.arm.map { .string($0.rawValue) },
            "version": .integer(self.version),
            "authenticated": .bool(self.isAuthenticated),
            "installs": .integer(Int64(self.total.installs)),
            "failing": .integer(Int64(self.total.failing)),
            "stage_test": self.stage?.json,
            "change_point": self.change?.json,
        ])
    }
}

extension ReactionReplay.Firing {
    fileprivate var json: JSON {
        [
            "minute": .string(self.minute.rfc3339),
            "installs": .integer(Int64(self.seen.installs)),
            "failing": .integer(Int64(self.seen.failing)),
        ]
    }
}
