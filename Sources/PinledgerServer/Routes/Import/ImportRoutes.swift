import ClientFormats
import EventStore
import HTTPTypes
import Hummingbird
import NIOPosix
import PinWire
import Pinning
import Publishing
import Secrets

/// Imports: `/v1/import`.
struct ImportRoutes: Sendable {
    let services: Services
    private var change: CommandExecutor { CommandExecutor(services: self.services, isImport: true) }

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        let query = CommandExecutor.bodilessQuery + ["app"]
        let bodyLimit = 1024 * 1024
        return [
            Route(
                "importRemoteConfig", .post, "/v1/import/remote-config", access: .app(.changeApps), query: query,
                bodyLimit: bodyLimit,
                self.remoteConfig),
            Route(
                "importFile", .post, "/v1/import/{format}", access: .app(.changeApps),
                query: query + ["host", "condition"], bodyLimit: bodyLimit,
                self.file),
        ]
    }

    private func remoteConfig(_ exchange: Exchange) async throws -> Response {
        let id = try Self.app(in: exchange)
        let body = try await exchange.body()
        let change = try Self.change(of: body, in: exchange)
        return try await self.record(ImportedFile(remoteConfig: body), change, into: id, in: exchange)
    }

    private func file(_ exchange: Exchange) async throws -> Response {
        let id = try Self.app(in: exchange)
        let request = try Self.fileRequest(in: exchange)
        let body = try await exchange.body()
        let change = Change(content: (), reason: request.reason, isForced: request.isForced, body: body)
        // A file of a mebibyte takes up to a second, one with certificates too.
        let file = try await NIOThreadPool.singleton.runIfActive {
            ImportedFile(
                body, as: request.format, for: id, host: request.host, condition: request.condition)
        }
        return try await self.record(file, change, into: id, in: exchange)
    }

    private func record(
        _ file: ImportedFile, _ change: Change<Void>, into id: AppID, in exchange: Exchange
    ) async throws -> Response {
        let (time, isPublicSuffix) = (self.services.clock(), self.services.environment.isPublicSuffix)
        let planned = PlannedChange(executor: self.change, change: change, id: id) { app in
            file.plan(for: id, app, at: time, isPublicSuffix: isPublicSuffix)
        } prepare: { plan, change in
            try Self.refuse(plan)
            try await self.store(plan, for: id, in: exchange)
            var change = change
            change.material = plan.material
            return change
        }
        return try await planned.response(in: exchange)
    }

    /// Stores the key that the plan names before the ledger does, so that no node is ever asked for what is not there.
    /// Where the change is refused the row has no use, and the sweep erases it.
    private func store(_ plan: ImportPlan, for id: AppID, in exchange: Exchange) async throws {
        guard let secret = plan.secret, let key = plan.key else { return }
        guard try Proposal(exchange) == nil else {
            throw Problem(
                Refusal.commandNotProposable,
                alternative: "The file has a private key in it, which must be stored first.")
        }
        guard try !exchange.flag("dry_run") else { return }
        guard self.services.writer != nil else { throw Problem(.readOnly, "This node is read-only.") }
        try await self.services.clientKeys.store(secret, of: key, id)
    }

    // These stay out of line: with them in it, Swift 6.3.1 crashes when it optimises the handler's coroutine.

    @inline(never)
    private static func app(in exchange: Exchange) throws -> AppID {
        guard let id = try exchange.appInQuery else {
            throw Problem(.malformedRequest, "The query parameter `app` is required: the app to import into.")
        }
        return id
    }

    @inline(never)
    private static func change(of body: [UInt8], in exchange: Exchange) throws -> Change<Void> {
        try exchange.requireJSON()
        let reason = try exchange.reasonInQuery() ?? Reason("imported from remote configuration")
        return Change(content: (), reason: reason, isForced: try exchange.flag("force"), body: body)
    }

    /// What a request says besides the file.
    private struct FileRequest {
        var format: ImportedFile.Format
        var host: HostPattern?
        var condition: String?
        var reason: Reason
        var isForced: Bool
    }

    @inline(never)
    private static func fileRequest(in exchange: Exchange) throws -> FileRequest {
        let format = try exchange.importedFormat
        try exchange.requireType(format.mediaTypes)
        let condition = exchange.query["condition"]
        guard condition == nil || format == .firebaseTemplate else {
            throw Problem(.malformedRequest, "The query parameter `condition` is only for firebase_template.")
        }
        return FileRequest(
            format: format, host: try Self.host(of: format, in: exchange), condition: condition,
            reason: try exchange.reasonInQuery() ?? Reason(format.reason), isForced: try exchange.flag("force"))
    }

    private static func host(of format: ImportedFile.Format, in exchange: Exchange) throws(Problem) -> HostPattern? {
        guard let text = exchange.query["host"] else { return nil }
        guard format == .pins(.hpkp) else {
            throw Problem(.malformedRequest, "The query parameter `host` is only for hpkp.")
        }
        let host: HostPattern
        do { host = try HostPattern(text) } catch {
            throw Problem(.malformedRequest, "The query parameter `host` \(error.description).")
        }
        guard !host.isWildcard else {
            throw Problem(.malformedRequest, "The query parameter `host` must be the name of one host.")
        }
        return host
    }

    /// Refuses a file with defects that keep it from being imported.
    @inline(never)
    private static func refuse(_ plan: ImportPlan) throws {
        guard !plan.fatal.isEmpty else { return }
        let count = plan.fatal.count
        var problem = Problem(
            .importRefused,
            "The file has \(count) defect\(count == 1 ? "" : "s") that keep\(count == 1 ? "s" : "") it from being imported.",
            errors: plan.fatal.map(\.defect)
        )
        problem.members["findings"] = plan.findingsJSON
        throw problem
    }
}

extension ImportPlan: AppPlan {
    var members: [String: JSON] { ["plan": self.stepsJSON, "findings": self.findingsJSON] }

    /// The key whose private half is ``secret``.
    fileprivate var key: ClientKey? {
        for case .setClientKey(_, let key) in self.commands { return key }
        return nil
    }
}

extension Exchange {
    private struct FormatUnknown: Error, CustomStringConvertible {
        let description = "must be one of \(ImportedFile.Format.names.joined(separator: ", "))"
    }

    fileprivate var importedFormat: ImportedFile.Format {
        get throws(Problem) {
            try self.parameter("format") { (text) throws(FormatUnknown) in
                guard let format = ImportedFile.Format(text) else { throw FormatUnknown() }
                return format
            }
        }
    }
}
