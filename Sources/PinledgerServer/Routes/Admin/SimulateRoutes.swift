import Concurrency
import EventStore
import HTTPTypes
import Hummingbird
import NIOPosix
import PinWire
import Pinning
import Publishing
import Signals

/// Whom a change would move, from what to what, before it is made: `/v1/apps/{app}/simulate`. Records nothing.
struct SimulateRoutes: Sendable {
    let services: Services
    /// One at a time: each may take a thread for seconds.
    private let limiter = ConcurrencyLimiter<Never>(limit: 1)

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        [
            Route(
                "simulate", .post, "/v1/apps/{app}/simulate", access: .app(.readApps), bodyLimit: 512 * 1024,
                self.simulate)
        ]
    }

    private struct Question: Sendable {
        var commands: [AppCommand] = []
        /// The proposed change that is simulated instead of commands.
        var changeID: String?
        /// The hosts that the change is about.
        var changed: [HostPattern] = []
        /// Nil for what is known.
        var population: Population?
        var sample = 10_000
        /// Nil for all that the app has.
        var hosts: [String]?

        static let hostLimit = 50
    }

    private func simulate(_ exchange: Exchange) async throws -> Response {
        let id = try exchange.app
        let app = try self.services.app(id)
        let question = try await self.question(exchange)
        let view = self.services.ledger.view
        let (before, now) = (view.state, view.head.present(by: self.services.clock()))
        let context = try self.context(now, of: exchange)
        let rehearsal =
            if let change = question.changeID {
                try before.rehearse(before.change(change, seenBy: exchange.rights), of: id, in: context)
            } else {
                try before.rehearse(question.commands, of: id, in: context)
            }
        guard let old = before.document(of: id), let new = rehearsal.after.document(of: id) else {
            throw Problem(Refusal.appUnknown(id))
        }
        let population = try await self.population(question, of: id)
        // Hosts that the change adds are hosts of the app afterwards alone.
        let (hosts, leftOut) =
            question.hosts.map { ($0, 0) }
            ?? app.sampleNames(
                first: question.changed + Self.hosts(of: rehearsal.events), atMost: Question.hostLimit,
                and: rehearsal.after.apps[id])
        guard hosts.count * question.sample <= Simulation.decisionLimit else {
            throw Problem(
                JSONDefect(
                    pointer: JSONPointer(["devices"]),
                    message: "\(question.sample) devices and \(hosts.count) hosts are more than "
                        + "\(Simulation.decisionLimit) decisions: ask for fewer"
                ))
        }
        let simulation = Simulation(from: old, to: new, hosts: hosts, at: now)
        guard let slot = self.limiter.take() else { throw Problem(.overloaded, "Another simulation is running.") }
        defer { slot.release() }
        // Up to some seconds of work, which no cooperative thread is to be taken for.
        let result = try await NIOThreadPool.singleton.runIfActive {
            simulation.run(on: population, sample: question.sample)
        }
        return .json(
            .members([
                "app": .string(id.text),
                "version": .integer(old.version),
                "evaluated_at": .string(now.rfc3339),
                "population": [
                    "source": .string(population.source.rawValue),
                    "cohorts": .integer(Int64(population.cohorts.count)),
                    "blind_to": .array(population.blindSpots.map { .string($0.rawValue) }),
                ],
                "devices": .integer(Int64(result.sample.devices)),
                "moved": .integer(Int64(result.sample.moved)),
                "judging_differently": .integer(Int64(result.judgingDifferently)),
                "not_sampled": .array(result.unsampled.map { .string($0.rawValue) }),
                "hosts_left_out": .integer(Int64(leftOut)),
                "hosts": .array(result.hosts.map(\.json)),
                "app_versions": .array(Self.json(result.appVersions, "app_version") { $0 }),
                "platforms": .array(Self.json(result.platforms, "platform") { $0.rawValue }),
                "events": .array(rehearsal.events.map { ["type": .string($0.type), "data": $0.data] }),
                "is_refused": .bool(rehearsal.isRefused),
                "guard_rail_findings": .array(rehearsal.findings.map(\.json)),
            ])
        )
    }

    /// The hosts that events are about.
    private static func hosts(of events: [Event]) -> [HostPattern] {
        var hosts: [HostPattern] = []
        for event in events {
            guard let host = event.data["host"]?.stringValue.flatMap({ try? HostPattern($0) }), !hosts.contains(host)
            else { continue }
            hosts.append(host)
        }
        return hosts
    }

    private func context(_ now: Timestamp, of exchange: Exchange) throws -> DecisionContext {
        var context = self.services.environment.context(at: now, actor: exchange.actor?.kind ?? .token)
        context.reason = try Reason("a simulation")
        return context
    }

    private func population(_ question: Question, of id: AppID) async throws -> Population {
        if let given = question.population { return given }
        let summary = try await self.services.adoption.summary(of: id, hours: 24 * 7)
        let cohorts = summary.cohorts
        return cohorts.isEmpty ? .assumed : Population(source: .known, cohorts: cohorts)
    }

    // MARK: Reading the question

    private func question(_ exchange: Exchange) async throws -> Question {
        let body = try await exchange.body()
        try exchange.requireJSON()
        // On a thread that may be blocked: what is pinned may be given as a key store.
        let known = self.services.knownKeys(of: try exchange.app)
        return try await NIOThreadPool.singleton.runIfActive {
            var uploads = Uploads(known: known)
            return try JSONField(try JSON(parsing: body)).object { (members) throws(JSONDefect) in
                var question = Question()
                question.changeID = try members.optional("change_id")?.string()
                if let change = question.changeID == nil ? try members.required("change") : members.optional("change") {
                    guard question.changeID == nil else {
                        throw change.defect("must not be given together with change_id")
                    }
                    question.commands = try change.object { (m) throws(JSONDefect) in
                        try Self.commands(&m, &question.changed, &uploads)
                    }
                }
                question.population = try members.optional("population").mapped(Population.init)
                if let sample = members.optional("devices") {
                    question.sample = Int(try sample.integer(1...Int64(Simulation.sampleLimit)))
                }
                question.hosts = try members.optional("hosts")?.hostNames(atMost: Question.hostLimit)
                return question
            }
        }
    }

    private static func commands(
        _ members: inout JSONMembers, _ changed: inout [HostPattern], _ uploads: inout Uploads
    ) throws(JSONDefect) -> [AppCommand] {
        var commands = try AppRoutes.settings(&members)
        commands += try Self.killSwitch(nil, &members)
        guard let hosts = members.optional("hosts") else { return commands }
        for element in try hosts.elements(atMost: App.hostLimit) {
            commands += try element.object { (m) throws(JSONDefect) in
                let pattern = try m.required("host").parse(HostPattern.init)
                changed.append(pattern)
                return try Self.commands(of: pattern, &m, &uploads)
            }
        }
        return commands
    }

    private static func commands(
        of pattern: HostPattern, _ members: inout JSONMembers, _ uploads: inout Uploads
    ) throws(JSONDefect) -> [AppCommand] {
        var commands: [AppCommand] = []
        if let candidate = members.optional("start_candidate") {
            commands += try candidate.object { (m) throws(JSONDefect) in
                try HostRoutes.candidate(of: pattern, &m, &uploads)
            }
        }
        commands += try HostRoutes.settings(of: pattern, &members)
        if try members.optional("promote_candidate")?.bool() == true { commands.append(.promoteCandidate(pattern)) }
        if try members.optional("drop_candidate")?.bool() == true { commands.append(.dropCandidate(pattern)) }
        return try commands + Self.killSwitch(pattern, &members)
    }

    /// A kill switch that is engaged until a time, or, being null, released.
    private static func killSwitch(
        _ host: HostPattern?, _ members: inout JSONMembers
    ) throws(JSONDefect) -> [AppCommand] {
        guard members.mentions("kill_switch") else { return [] }
        guard let field = members.optional("kill_switch") else { return [.releaseKillSwitch(host)] }
        return try field.object { (m) throws(JSONDefect) in
            let expiresAt = try m.required("expires_at").timestamp()
            guard host == nil, let versions = try m.optional("versions").mapped(VersionRange.init) else {
                return [.engageKillSwitch(host, expiresAt: expiresAt)]
            }
            return [.engageVersionKillSwitch(versions, expiresAt: expiresAt)]
        }
    }

    // MARK: Writing the answer

    private static func json<Key: Hashable>(
        _ shares: [Key?: Simulation.Share], _ name: String, _ text: (Key) -> String
    ) -> [JSON] {
        let named = shares.map { (name: $0.key.map(text), share: $0.value) }
        return named.sorted { ($1.share.devices, $0.name ?? "") < ($0.share.devices, $1.name ?? "") }.map {
            .members([
                name: $0.name.map { .string($0) },
                "devices": .integer(Int64($0.share.devices)),
                "moved": .integer(Int64($0.share.moved)),
            ])
        }
    }
}

extension Population {
    /// Reads `cohorts`, each with `weight` (1 where it is missing) and what is known of its devices.
    fileprivate init(_ field: JSONField) throws(JSONDefect) {
        self.init(source: .given, cohorts: [])
        self.cohorts = try field.object { (members) throws(JSONDefect) in
            var cohorts: [Cohort] = []
            let list = try members.required("cohorts")
            for element in try list.elements(atMost: Self.cohortLimit) {
                cohorts.append(
                    try element.object { (m) throws(JSONDefect) in
                        Cohort(
                            appVersion: try m.optional("app_version")?.limited(to: Device.textLimit),
                            build: try m.optional("build")?.integer(0...JSON.largestInteger),
                            platform: try m.optional("platform")?.oneOf(ClientPlatform.self),
                            country: try m.optional("country")?.limited(to: Device.textLimit),
                            weight: try m.optional("weight")?.integer(1...Self.weightLimit) ?? 1
                        )
                    })
            }
            guard !cohorts.isEmpty else { throw list.defect("must have at least one cohort") }
            return cohorts
        }
    }
}

extension Simulation.HostMoves {
    fileprivate var json: JSON {
        let moved = self.moves.filter(\.isMove).reduce(0) { $0 + $1.devices }
        return [
            "host": .string(self.host),
            "moved": .integer(Int64(moved)),
            "moves": .array(
                self.moves.map {
                    ["from": $0.from.json, "to": $0.to.json, "devices": .integer(Int64($0.devices))]
                }),
            "judged_differently": .array(self.judgementChanges.map(\.json)),
        ]
    }
}

extension JudgementChange {
    fileprivate var json: JSON {
        .members([
            "key": self.key.map { .string($0.description) },
            "from": .string(self.from.rawValue),
            "to": .string(self.to.rawValue),
            "devices": .integer(Int64(self.devices)),
        ])
    }
}

extension Simulation.Lot {
    fileprivate var json: JSON {
        .members([
            "outcome": .string(self.outcome.rawValue),
            "arm": self.arm.map { .string($0.rawValue) },
            "pins": .array(self.pins.map { .string($0.description) }),
        ])
    }
}
