import Hummingbird
import PinWire
import Pinning
import Publishing
import Signals

/// The document versions that an app's clients hold: `/v1/apps/{app}/adoption`.
struct AdoptionRoutes: Sendable {
    let services: Services

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        [
            Route(
                "getAdoption", .get, "/v1/apps/{app}/adoption", access: .app(.readApps), query: ["version", "hours"],
                self.adoption)
        ]
    }

    private func adoption(_ exchange: Exchange) async throws -> Response {
        let app = try self.services.app(try exchange.app)
        let wanted = try exchange.number("version", in: 1...ClientReport.largestVersion)
        let hours = try exchange.number("hours", in: 1...840) ?? 24
        let current = self.services.publisher.table[app.id]?.version
        let summary = try await self.services.adoption.summary(of: app.id, hours: hours)
        return .json(summary.json(current: current, share: wanted ?? current ?? 1))
    }
}

extension AdoptionSummary {
    /// The number of versions shown; older ones count in the sums.
    private static let versionLimit = 200
    private static let partLimit = 50

    /// - Parameters:
    ///   - current: The version of the app's current document.
    ///   - version: The version whose share is shown.
    func json(current: Int64?, share version: Int64) -> JSON {
        let facts = self.facts
        let total = facts.total
        let versions = self.versions
        return .members([
            "app": .string(self.app.text),
            "measured_at": .string(self.spans.measuredAt.rfc3339),
            "current_version": current.map { .integer($0) },
            "window": [
                "hours": .integer(self.spans.windowSeconds / 3600),
                "since": .string(self.spans.window.rfc3339),
                "installs_since": .string(self.spans.installs.rfc3339),
            ],
            "seen": .members([
                "requests": .integer(total.requests), "reports": .integer(total.reports),
                "identified": .integer(total.identified), "installs": facts.installs.map { .integer($0) },
            ]),
            "share": facts.share(holdingAtLeast: version).json(of: version),
            "signed": facts.signed.share(holdingAtLeast: version).json(of: version),
            "versions": .array(versions.prefix(Self.versionLimit).map(\.json)),
            "older_versions": .integer(Int64(max(0, versions.count - Self.versionLimit))),
            "not_known": .array(
                facts.gaps.map { ["code": .string($0.rawValue), "detail": .string($0.sentence)] }),
        ])
    }

    fileprivate static func json(_ parts: [Part], _ name: String) -> JSON {
        .array(
            parts.prefix(Self.partLimit).map {
                .members([name: $0.name.map { .string($0) }, "sightings": .integer($0.sightings)])
            })
    }
}

extension AdoptionSummary.Version {
    var json: JSON {
        let (state, version): (String, Int64?) =
            switch self.holding.held {
            case .unknown: ("unknown", nil)
            case .nothing: ("nothing", nil)
            case .document(let version): ("document", version)
            case .ahead(let version): ("ahead", version == 0 ? nil : version)
            }
        return .members([
            "holds": .string(state),
            "version": version.map { .integer($0) },
            "requests": [
                "last_hour": .integer(self.hour), "last_day": .integer(self.day), "last_week": .integer(self.week),
                "window": .integer(self.holding.count.requests),
            ],
            "reports": .integer(self.holding.count.reports),
            "installs": self.holding.comparison == nil ? nil : .integer(self.holding.installs),
            "platforms": AdoptionSummary.json(self.platforms, "platform"),
            "app_versions": AdoptionSummary.json(self.releases, "app_version"),
        ])
    }
}

extension AdoptionShare {
    func json(of version: Int64) -> JSON {
        .members([
            "at_least": .integer(version),
            "basis": .string(self.basis.rawValue),
            "basis_points": self.basisPoints.map { .integer(Int64($0)) },
            "lower_basis_points": .integer(Int64(self.lowerBasisPoints)),
            "upper_basis_points": .integer(Int64(self.upperBasisPoints)),
            "sample": .integer(self.sample),
        ])
    }
}
