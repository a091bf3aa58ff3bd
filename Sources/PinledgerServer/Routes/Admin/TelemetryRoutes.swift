import EventStore
import HTTPTypes
import Hummingbird
import Keys
import LogLines
import Logging
import PinWire
import Pinning
import Secrets
import Signals

/// The reports of an app's clients, and the keys that sign them: `/v1/apps/{app}/telemetry` and `…/telemetry-keys`.
struct TelemetryRoutes: Sendable {
    let services: Services
    private var change: CommandExecutor { CommandExecutor(services: self.services) }
    private var tools: TelemetryServices { self.services.telemetry }

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        let keys = "/v1/apps/{app}/telemetry-keys"
        return [
            Route(
                "getTelemetry", .get, "/v1/apps/{app}/telemetry", access: .app(.readApps),
                query: ["hours", "host", "minutes"], self.telemetry),
            Route("listTelemetryKeys", .get, keys, access: .app(.readApps), self.list),
            Route(
                "createTelemetryKey", .post, keys, access: .app(.manageTelemetryKeys),
                query: CommandExecutor.directDrawingQuery, self.create),
            Route(
                "retireTelemetryKey", .post, "\(keys)/{key_id}/retire", access: .app(.manageTelemetryKeys),
                query: CommandExecutor.directQuery, self.retire),
        ]
    }

    // MARK: What was reported

    private func telemetry(_ exchange: Exchange) async throws -> Response {
        let app = try self.services.app(try exchange.app)
        let hours = try exchange.number("hours", in: 1...336) ?? TelemetrySummary.factHours
        let minutes = try exchange.flag("minutes")
        let host = try exchange.hostInQuery
        guard !minutes || host != nil else {
            let defect = JSONDefect(pointer: JSONPointer(["minutes"]), message: "requires host")
            throw Problem(.invalidValue, "In the query, minutes \(defect.message).", errors: [defect])
        }
        let summary = try await self.tools.recorder.summary(of: app.id, hours: hours)
        return .json(
            summary.json(hours: hours, host: host, minutes: minutes, counts: self.tools.recorder.intake.counts))
    }

    // MARK: Keys

    private func list(_ exchange: Exchange) async throws -> Response {
        let app = try self.services.app(try exchange.app)
        return .json(
            ["app": .string(app.id.text), "keys": .array(app.watch.telemetryKeys.map(\.json))],
            headers: [.eTag: self.services.tag(of: app.watch.version)])
    }

    private func create(_ exchange: Exchange) async throws -> Response {
        let app = try exchange.app
        let change = try await exchange.change { (members) throws(JSONDefect) in
            try members.optional("note")?.plainText(atMost: TelemetryKey.noteLimit)
        }
        let id = TelemetryKeyName.draw()
        let command = Command.telemetryKey(app, .add(id: id, note: change.content))
        if try exchange.flag("dry_run") { return try await self.change(command, of: change, in: exchange) }
        _ = try self.services.app(app)
        guard self.services.writer != nil else { throw Problem(.readOnly, "This node is read-only.") }
        let secret = try await self.tools.secrets.create(id, of: app)
        let result: CommandExecutor.Result
        do { result = try await self.change.perform(command, of: change, in: exchange) } catch {
            // Unless it is unknown whether the ledger names it, it has no use.
            if Problem(error).type != .outcomeUnknown { await self.erase(id) }
            throw error
        }
        let location = "/v1/apps/\(app.text)/telemetry-keys"
        if result.recorded.isReplay {
            await self.erase(id)
            return self.change.response(to: result, status: .created, location: location)
        }
        return self.change.response(
            to: result, status: .created, location: location,
            adding: ["key_id": .string(id), "secret": .string(secret.revealedText)])
    }

    private func retire(_ exchange: Exchange) async throws -> Response {
        let app = try exchange.app
        let id = try exchange.telemetryKeyID
        let change = try await exchange.change { (_) throws(JSONDefect) in }
        let result = try await self.change.perform(.telemetryKey(app, .retire(id: id)), of: change, in: exchange)
        if !result.isDryRun { await self.erase(id) }
        return self.change.response(to: result)
    }

    /// Erases a secret that has no use. A failure is no answer to the caller; the hourly sweep erases it then.
    private func erase(_ id: String) async {
        // A node that has halted does not know whether the ledger names it.
        guard self.services.ledger.fault == nil else { return }
        do { try await self.tools.secrets.erase(id) } catch {
            self.services.logger.log(.reportKeyNotErased, ["key_id": "\(id)", "error": "\(error)"])
        }
    }
}

extension Exchange {
    private struct KeyIDMalformed: Error, CustomStringConvertible {
        let description = "must be the id of a key for reports: tlk_ and 16 letters and digits"
    }

    fileprivate var telemetryKeyID: String {
        get throws(Problem) {
            try self.parameter("key_id") { (text) throws(KeyIDMalformed) in
                guard TelemetryKeyName.isName(text) else { throw KeyIDMalformed() }
                return text
            }
        }
    }

    fileprivate var hostInQuery: HostPattern? {
        get throws(Problem) {
            guard let text = self.query["host"] else { return nil }
            do { return try HostPattern(text) } catch {
                let defect = JSONDefect(pointer: JSONPointer(["host"]), message: error.description)
                throw Problem(.invalidValue, "In the query, host \(error.description).", errors: [defect])
            }
        }
    }
}

extension TelemetrySummary {
    private static let shownLimit = 500

    /// - Parameters:
    ///   - host: Nil for all.
    ///   - minutes: Whether to include the reports of each minute.
    func json(hours: Int64, host: HostPattern?, minutes: Bool, counts: TelemetryCounts) -> JSON {
        let cells = self.cells.filter { host == nil || $0.key.key.host == host }
        return .members([
            "app": .string(self.app.text),
            "measured_at": .string(self.measuredAt.rfc3339),
            "since": .string(self.measuredAt.startOfHour.adding(seconds: -3600 * (hours - 1)).rfc3339),
            "hours": .integer(hours),
            // How many installs each counted one stands for, in the hour with the most.
            "sampling": [
                "authenticated": .integer(1 << Int64(min(self.level(isAuthenticated: true), 40))),
                "advisory": .integer(1 << Int64(min(self.level(isAuthenticated: false), 40))),
            ],
            "cells": .array(cells.prefix(Self.shownLimit).map { $0.summary.json(of: $0.key, minutes: minutes) }),
            "further_cells": .integer(Int64(max(0, cells.count - Self.shownLimit))),
            "this_node": [
                "batches": .integer(counts.batches), "taken": .integer(counts.taken),
                "duplicate": .integer(counts.duplicate), "refused": .integer(counts.refused),
                "turned_away": .integer(counts.turnedAway), "lost": .integer(counts.lost),
            ],
        ])
    }
}

extension OutcomeSummary {
    fileprivate func json(of cell: OutcomeCellKey, minutes: Bool) -> JSON {
        let facts = OutcomeCell(cell, self)
        func counted(_ name: String, _ text: String?, _ installs: Int, _ failing: Int) -> JSON {
            .members([
                name: text.map { .string($0) }, "installs": .integer(Int64(installs)),
                "failing": .integer(Int64(failing)),
            ])
        }
        return .members([
            "host": .string(facts.host.text),
            "arm": facts.arm.map { .string($0.rawValue) },
            "version": .integer(facts.version),
            "authenticated": .bool(facts.isAuthenticated),
            "installs": .integer(Int64(facts.installs)),
            "failing": .integer(Int64(facts.failing)),
            "installs_estimate": .integer(self.estimate),
            "reports": .integer(self.reports),
            "failures": .integer(self.failures),
            "off_time": .integer(self.offTime),
            "unpinned": .integer(self.unpinned),
            "reasons": .object(
                Dictionary(uniqueKeysWithValues: self.reasons.map { ($0.rawValue, JSON.integer(Int64($1))) })),
            "networks": [
                "distinct": .integer(Int64(facts.networkCount)),
                "largest": .array(
                    facts.networks.map { ["network": .string($0.network), "failing": .integer(Int64($0.failing))] }),
            ],
            "app_versions": .array(
                facts.releases.map {
                    counted(
                        "app_version", $0.release == .unsaid ? nil : $0.release.text, $0.installs, $0.failing)
                }),
            "platforms": .array(
                self.platforms.sorted { ($0.key?.rawValue ?? "") < ($1.key?.rawValue ?? "") }.map {
                    counted("platform", $0.key?.rawValue, $0.value.installs, $0.value.failing)
                }),
            "served_pins": .array(facts.servedPins.map { .string($0.description) }),
            "minutes": minutes
                ? .array(facts.minutes.map { counted("minute", $0.minute.rfc3339, $0.installs, $0.failing) }) : nil,
        ])
    }
}
