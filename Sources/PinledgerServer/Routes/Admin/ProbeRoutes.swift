import EventStore
import HTTPTypes
import Hummingbird
import PinWire
import Pinning
import Publishing
import Signals

/// The chains that servers present: `/v1/probes` and those of a host.
struct ProbeRoutes: Sendable {
    let services: Services

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        [
            Route("probe", .post, "/v1/probes", access: .somewhere(.runProbes), self.probe),
            Route(
                "getObservations", .get, "/v1/apps/{app}/hosts/{host}/observations", access: .app(.readApps),
                self.observations),
        ]
    }

    private func probe(_ exchange: Exchange) async throws -> Response {
        let body = try await exchange.body()
        try exchange.requireJSON()
        let endpoint = try JSONField(try JSON(parsing: body)).object { (members) throws(JSONDefect) in
            try members.required("endpoint").parse(Endpoint.requested)
        }
        let before = self.services.observations.facts(of: endpoint)
        let observation = await self.services.probeScheduler.probe(endpoint)
        guard case .object(var members) = observation.outcome else { return .json(observation.outcome) }
        members["keys"] = .array(self.keys(of: observation, before, for: exchange.rights))
        return .json(.object(members))
    }

    /// Every presented key: whether it had been seen there before, and which hosts pin it, of the apps that the caller sees.
    private func keys(of observation: Observation, _ before: EndpointFacts?, for rights: Rights) -> [JSON] {
        let apps = self.services.ledger.view.state.apps.values.filter { rights.sees($0.id) }.sorted { $0.id < $1.id }
        let hosts = apps.map { app in (app, app.patterns(probedBy: observation.endpoint)) }
        // What was seen for others' apps would tell of them.
        let isShown = rights.allowsEverywhere(.readApps) || hosts.contains { !$0.1.isEmpty }
        let seen = isShown ? Set(before?.chains.flatMap(\.pins) ?? []) : []
        var done: Set<Pin> = []
        return observation.chains.flatMap(\.certificates).compactMap { certificate in
            let pin = certificate.key.pin
            guard done.insert(pin).inserted else { return nil }
            return [
                "pin": .string(pin.description),
                "subject": .string(certificate.subject),
                "seen_before": .bool(seen.contains(pin)),
                "pinned_by": .array(self.pinned(pin, in: hosts)),
            ]
        }
    }

    /// The hosts of an endpoint that pin a key.
    private func pinned(_ pin: Pin, in hosts: [(App, [HostPattern])]) -> [JSON] {
        hosts.flatMap { app, patterns in
            patterns.flatMap { pattern -> [JSON] in
                PolicySlot.allCases.compactMap { slot in
                    guard let record = app.hosts[pattern]?[slot]?.pins[pin] else { return nil }
                    return [
                        "app": .string(app.id.text), "host": .string(pattern.text), "policy": .string(slot.rawValue),
                        "role": .string(record.role.rawValue), "state": .string(record.state.rawValue),
                    ]
                }
            }
        }
    }

    private func observations(_ exchange: Exchange) async throws -> Response {
        let app = try self.services.app(try exchange.app)
        let pattern = try exchange.host
        guard let host = app.hosts[pattern] else { throw Problem(Refusal.hostUnknown(pattern)) }
        let (facts, now) = (self.services.environment.facts(), self.services.clock())
        let endpoints = host.probed(of: pattern).map { endpoint -> JSON in
            let known = facts.endpoint(endpoint)
            return .members([
                "endpoint": .string(endpoint.description),
                "last_attempt": known?.lastAttempt.map { .string($0.rfc3339) },
                "last_success": known?.lastSuccess.map { .string($0.rfc3339) },
                "chains": .array((known?.chains ?? []).map(\.json)),
                "probes": .array(self.services.observations.outcomes(of: endpoint)),
            ])
        }
        let pins = Set(PolicySlot.allCases.flatMap { host[$0]?.pins.keys ?? [] }).sorted()
        let sightings = pins.map { pin -> JSON in
            let (sighting, detail) = app.sighting(of: pin, at: pattern, facts, now)
            return ["pin": .string(pin.description), "sighting": .string(sighting.rawValue), "detail": .string(detail)]
        }
        return .json(["host": .string(pattern.text), "endpoints": .array(endpoints), "pins": .array(sightings)])
    }
}

extension App {
    /// The hosts for which an endpoint is probed, and the one whose pins clients use for its name; in order.
    fileprivate func patterns(probedBy endpoint: Endpoint) -> [HostPattern] {
        let patterns = self.hosts.keys.sorted()
        let index = HostIndex(patterns.map { ($0, self.hosts[$0]?.includesSubdomains == true) })
        let covering = index.place(of: endpoint.host.text).map { patterns[$0] }
        return patterns.filter { $0 == covering || self.hosts[$0]?.probed(of: $0).contains(endpoint) == true }
    }
}

extension Pinning.ObservedChain {
    fileprivate var json: JSON {
        [
            "address": .string(self.address),
            "vantage": .string(self.vantage),
            "first_seen": .string(self.firstSeen.rfc3339),
            "last_seen": .string(self.lastSeen.rfc3339),
            "current": .bool(self.isCurrent),
            "certificates": .array(self.certificates.map(\.json)),
        ]
    }
}
