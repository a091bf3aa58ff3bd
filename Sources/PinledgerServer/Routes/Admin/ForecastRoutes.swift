import EventStore
import Hummingbird
import PinWire
import Pinning
import Signals

/// Whether an app's clients survive the renewals of certificates: `/v1/apps/{app}/forecast`.
struct ForecastRoutes: Sendable {
    let services: Services

    var routes: [Route] {
        [
            Route(
                "getForecast", .get, "/v1/apps/{app}/forecast", access: .app(.readApps), query: ["adoption_hours"],
                self.forecast)
        ]
    }

    private func forecast(_ exchange: Exchange) async throws -> Response {
        let app = try exchange.app
        let given = try exchange.number("adoption_hours", in: 0...8760).map {
            AdoptionTime(atLeast: $0 * 3600, atMost: $0 * 3600)
        }
        // As far back as counts are kept: clients that come rarely belong to those that have to be waited for.
        let facts = given == nil ? try await self.services.adoption.summary(of: app, hours: 840).facts : nil
        let forecast = try self.services.ledger.view.state.forecast(
            of: app, adoption: given, in: self.services.decisionContext
        ) { facts?.share(holdingAtLeast: $0) }
        return .json(forecast.json)
    }
}

extension Forecast {
    fileprivate var json: JSON {
        .members([
            "app": .string(self.app.text),
            "made_at": .string(self.madeAt.rfc3339),
            "delivery_seconds": .integer(self.deliverySeconds),
            "adoption": self.adoption.map { adoption in
                .members([
                    "basis_points": .integer(Int64(AdoptionTime.basisPoints)),
                    "at_least_seconds": .integer(adoption.atLeast),
                    "at_most_seconds": adoption.atMost.map { .integer($0) },
                ])
            },
            "hosts": .array(self.hosts.map(\.json)),
        ])
    }
}

extension HostForecast {
    fileprivate var json: JSON {
        .members([
            "host": .string(self.host.text),
            "verdict": .string(self.verdict.rawValue),
            "remark": self.remark.map { .string($0) },
            "certificate": self.certificate.map {
                ["not_before": .string($0.notBefore.rfc3339), "not_after": .string($0.notAfter.rfc3339)]
            },
            "next": self.next.map { next in
                .members([
                    "at": .string(next.at.rfc3339),
                    "spare": next.spare.map { .string($0.description) },
                    "spare_since": next.spareSince.map { .string($0.rfc3339) },
                    "slack_seconds": Self.slack(next.slackAtLeast, next.slackAtMost),
                    "verdict": .string(next.verdict.rawValue),
                ])
            },
            "eras": .array(
                self.eras.map { era in
                    .members([
                        "from": .string(era.from.rfc3339),
                        "lifetime_seconds": .integer(era.lifetime),
                        "renewal_seconds": .integer(era.interval),
                        "slack_seconds": Self.slack(era.slackAtLeast, era.slackAtMost),
                        "verdict": .string(era.verdict.rawValue),
                    ])
                }),
        ])
    }

    private static func slack(_ atLeast: Int64?, _ atMost: Int64) -> JSON {
        .members(["at_least": atLeast.map { .integer($0) }, "at_most": .integer(atMost)])
    }
}
