import ClientFormats
import EventStore
import LogLines
import Logging
import PinWire
import Pinning
import Publishing

/// Submits the commands of requests to Wultra's administrative interface to the ledger.
struct WultraAdminChanges: Sendable {
    let services: Services
    private var handler: CommandExecutor { CommandExecutor(services: self.services, canPropose: false) }

    /// The inputs of a command.
    struct State: Sendable {
        var app: App
        /// The app's settings for clients of this kind.
        var settings: ClientSettings
        var now: Timestamp
    }

    /// How often a command is made again because the app was changed meanwhile.
    private static let attempts = 10

    /// Records the result of `make` for the app's present state, with the desired additions if the ledger accepts them,
    /// as one change; concurrent changes by others are not lost.
    ///
    /// - Parameters:
    ///   - material: The uploaded keys and certificates.
    ///   - part: The index among several changes of the request; nil where it is the only one.
    func change(
        _ id: AppID, _ body: [UInt8], showing material: Set<Material> = [], in exchange: Exchange, part: String? = nil,
        _ make: @Sendable (State) throws(WultraAdminError) -> WultraAdminCommand
    ) async throws -> CommandExecutor.Result {
        // A completed command may be impossible now: a repeated request must not be judged again.
        if let replay = try await self.replay(id, body, in: exchange, part: part) { return replay }
        for _ in 0..<Self.attempts {
            let (app, settings) = try self.services.wultraApp(id)
            let command = try make(State(app: app, settings: settings, now: self.services.wultraNow))
            do {
                if !command.desired.isEmpty,
                    let result = try await self.recordDesired(
                        command, of: app, body, showing: material, in: exchange, part: part)
                {
                    return result
                }
                return try await self.record(
                    command, of: id, body, showing: material, in: exchange, expecting: app.version, part: part)
            } catch let failure as WriteFailure {
                guard case .stale = failure else { throw failure }
            }
        }
        throw Problem(.overloaded, "Others kept changing the app \(id) at the same time.")
    }

    /// Records a command with its desired additions; nil where the ledger refuses those, and nothing is recorded.
    private func recordDesired(
        _ command: WultraAdminCommand, of app: App, _ body: [UInt8], showing material: Set<Material>,
        in exchange: Exchange, part: String?
    ) async throws -> CommandExecutor.Result? {
        do {
            return try await self.record(
                command, command.desired, of: app.id, body, showing: material, in: exchange, expecting: app.version,
                part: part)
        } catch WriteFailure.refused(let refusal) {
            self.services.logger.log(
                .partOfChangeRefused,
                [
                    "app": "\(app.id)", "reason": "\(command.reason)",
                    "why": "\(WultraAdminRefusal.sentences(Problem(refusal)))",
                ])
            return nil
        }
    }

    /// Throws the ledger's present refusal of a command, and records nothing.
    func check(_ command: WultraAdminCommand, of id: AppID, _ body: [UInt8], in exchange: Exchange) async throws {
        try await self.handler.check(
            Self.command(command, [], of: id), of: try Self.change(command.reason, body), in: exchange)
    }

    /// Records a command as one change.
    ///
    /// - Parameters:
    ///   - more: Additions to record with it.
    ///   - material: The uploaded keys and certificates.
    ///   - version: The app's version that the command was made for; nil where it does not matter.
    func record(
        _ command: WultraAdminCommand, _ more: [AppCommand] = [], of id: AppID, _ body: [UInt8],
        showing material: Set<Material> = [], in exchange: Exchange, expecting version: Int64? = nil,
        part: String? = nil
    ) async throws -> CommandExecutor.Result {
        var change = try Self.change(command.reason, body)
        change.material = material
        return try await self.handler.perform(
            Self.command(command, more, of: id), of: change, in: exchange, expecting: version, part: part)
    }

    private static func command(_ command: WultraAdminCommand, _ more: [AppCommand], of id: AppID) -> Command {
        let settings = command.settings.map { [AppCommand.setClient(.wultra, $0)] } ?? []
        return .app(id, command.commands + settings + more)
    }

    /// The first result of a repeated request; nil where it was not recorded, or has no idempotency key.
    func replay(
        _ id: AppID, _ body: [UInt8], in exchange: Exchange, part: String? = nil
    ) async throws -> CommandExecutor.Result? {
        let change = Change(content: (), reason: nil, isForced: false, body: body)
        return try await self.handler.replay(.app(id, []), of: change, in: exchange, part: part)
    }

    private static func change(_ reason: String, _ body: [UInt8]) throws -> Change<Void> {
        Change(content: (), reason: try Reason(reason), isForced: false, body: body)
    }
}

extension Services {
    /// The apps with Wultra's clients, in order of their ids.
    var wultraApps: [(app: App, settings: ClientSettings)] {
        self.ledger.view.state.apps.values.sorted { $0.id < $1.id }.compactMap { app in
            app.clients[.wultra].map { (app, $0.settings) }
        }
    }

    /// - Throws: ``WultraAdminError`` where there is no such app, or none with clients of this kind.
    func wultraApp(_ id: AppID) throws(WultraAdminError) -> (app: App, settings: ClientSettings) {
        guard let app = self.ledger.view.state.apps[id], let client = app.clients[.wultra] else {
            throw .appNotFound(id.text)
        }
        return (app, client.settings)
    }

    var wultraNow: Timestamp { self.ledger.view.head.present(by: self.clock()) }
}
