import Addresses
import EventStore
import HTTPTypes
import Hummingbird
import KeyFiles
import Keys
import PinWire
import Pinning
import Postgres
import Probing
import Publishing
import Secrets
import Signals

/// Clients' reports about their connections: `/client/v1/apps/{app}/reports`, and the same in the formats of TrustKit
/// and RFC 7469.
struct ReportRoutes: Sendable {
    let services: Services
    private var tools: TelemetryServices { self.services.telemetry }

    init(services: Services) {
        self.services = services
    }

    var routes: [Route] {
        let path = "/client/v1/apps/{app}/reports"
        func route(
            _ id: String, _ path: String, _ handler: @escaping @Sendable (Exchange) async throws -> Response
        ) -> Route {
            Route(
                id, .post, path, surface: .client, access: .everybody, bodyLimit: TelemetryServices.bodyLimit, handler)
        }
        return [
            route("sendReports", path, self.batch),
            route("sendTrustKitReport", "\(path)/trustkit", self.foreign),
            route("sendPinReport", "\(path)/hpkp", self.foreign),
        ]
    }

    private func batch(_ exchange: Exchange) async throws -> Response {
        try await self.receive(exchange, isSignable: true) { bytes in
            try ReportBatch(parsing: bytes, pause: ThreadExecutor.giveWay)
        }
    }

    private func foreign(_ exchange: Exchange) async throws -> Response {
        try await self.receive(exchange, isSignable: false) { bytes in
            let json = try JSON(parsing: bytes, limits: ForeignReport.limits)
            let foreign: ForeignReport
            do throws(ForeignReport.Malformed) { foreign = try ForeignReport(json) } catch {
                throw JSONDefect(
                    pointer: JSONPointer(error.member.isEmpty ? [] : [error.member]), message: error.message)
            }
            var report = foreign.report
            // A stranger's upload: the other forms of operators' uploads, key stores with their passphrases, are not
            // read here.
            if let certificate = foreign.certificate.flatMap(PresentedCertificate.init(text:)) {
                report.servedPins = [certificate.pin]
            }
            return ReportBatch([report])
        }
    }

    // MARK: Receiving

    private func receive(
        _ exchange: Exchange, isSignable: Bool, _ read: @escaping @Sendable ([UInt8]) throws -> ReportBatch
    ) async throws -> Response {
        let id = try exchange.app
        let state = self.services.ledger.view.state
        guard let app = state.apps[id], let newest = state.documentVersion(of: id) else {
            throw Problem(Refusal.appUnknown(id))
        }
        guard self.services.writer != nil else { throw Problem(.readOnly, "This node is read-only.") }
        let intake = self.tools.recorder.intake
        let address = ClientAddress.of(exchange, trusted: self.tools.trustedProxies.networks).bytes
        let bucket = intake.bucket(of: address)
        if let wait = intake.admit(bucket) {
            var problem = Problem(.tooManyReports, "Your network sends too many reports.")
            problem.headers[.retryAfter] = String(Int(min(wait, 86_400).rounded(.up)))
            throw problem
        }
        let received = try await self.tools.withBody(of: exchange) { body in
            try exchange.requireJSON()
            let isCompressed = try Self.isCompressed(exchange.request)
            let seal = isSignable ? try await self.seal(of: exchange, app) : nil
            let (tools, version, time) = (self.tools, newest, self.services.clock())
            let adoption = self.services.adoption
            let receipt = try await tools.work {
                if let seal { try seal.check(body, of: id) }
                let batch = try read(isCompressed ? Self.inflated(body) : body)
                let origin = TelemetryIntake.Origin(
                    app: id, hosts: tools.hosts(of: app), version: version,
                    network: intake.network(of: address, at: time), bucket: bucket, seal: seal?.signature.code)
                // Other libraries' reports do not state their sender's document.
                if isSignable { adoption.note(batch.holders, of: id, isSigned: seal != nil) }
                return intake.take(batch, from: origin, at: time)
            }
            return (receipt, isSealed: seal != nil)
        }
        guard let (receipt, isSealed) = received else {
            intake.countTurnedAway()
            throw Problem(.overloaded, "Too many reports are waiting to be processed.")
        }
        return .json(
            [
                "authenticated": .bool(isSealed), "taken": .integer(Int64(receipt.taken)),
                "duplicate": .integer(Int64(receipt.duplicate)), "refused": .integer(Int64(receipt.refused)),
                "refusals": .object(
                    Dictionary(
                        uniqueKeysWithValues: receipt.refusals.map { ($0.rawValue, JSON.integer(Int64($1))) })),
            ], status: .accepted)
    }

    private static func isCompressed(_ request: Request) throws(Problem) -> Bool {
        switch request.headers[.contentEncoding]?.lowercased() {
        case nil, "identity": return false
        case "gzip": return true
        case let coding?:
            throw Problem(
                .unsupportedMediaType, "The body has the coding \(coding.printable); only gzip is accepted.")
        }
    }

    private static func inflated(_ body: [UInt8]) throws(Problem) -> [UInt8] {
        do { return try Inflation.gunzip(body, atMost: TelemetryServices.inflatedLimit) } catch .tooLarge {
            throw Problem(
                .bodyTooLarge, "The body may have at most \(TelemetryServices.inflatedLimit) bytes inside gzip.")
        } catch {
            throw Problem(.malformedRequest, "The body is not gzip, or is truncated.")
        }
    }

    // MARK: Signatures

    /// A signature and the key to check it with.
    private struct Seal: Sendable {
        var signature: ReportSignature
        var secret: TelemetrySecret

        func check(_ body: [UInt8], of app: AppID) throws(Problem) {
            guard
                self.secret.isAuthentic(self.signature.code, app: app.text, time: self.signature.time, body: body)
            else { throw Problem(.signatureInvalid, "The signature does not match this body, app and time.") }
        }
    }

    /// The signature of a request; nil for one without. A wrong one never counts as absent.
    private func seal(of exchange: Exchange, _ app: App) async throws -> Seal? {
        guard let field = PreparedAnswer.joined(exchange.request.headers, .pinledgerSignature) else { return nil }
        guard let signature = ReportSignature(field: field) else {
            throw Problem(.signatureInvalid, "Pinledger-Signature must have keyid, time and mac.")
        }
        guard app.watch.telemetryKeys.contains(where: { $0.id == signature.keyID && $0.isInUse }) else {
            throw Problem(.signatureInvalid, "The app has no active key with this id.")
        }
        guard signature.isTimely(at: self.services.clock()) else {
            throw Problem(
                .signatureInvalid,
                "The signature's time is more than \(ReportSignature.tolerance) seconds from the server's time, which is in Date."
            )
        }
        return Seal(
            signature: signature, secret: try await self.tools.secrets.secret(signature.keyID, of: app.id))
    }
}
