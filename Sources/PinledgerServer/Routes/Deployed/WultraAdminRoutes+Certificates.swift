import ClientFormats
import EventStore
import Hummingbird
import KeyFiles
import LogLines
import Logging
import NIOPosix
import PinWire
import Pinning
import Publishing
import Signals

/// Certificates: uploaded, looked up, and deleted where they have expired.
extension WultraAdminRoutes {
    /// A request's certificate, with its bytes and those of its key.
    struct Found: Sendable {
        var certificate: CertificateFacts
        var material: Set<Material>

        fileprivate init(_ certificate: CertificateFacts, of upload: Upload) {
            let digests = KeyEvidence.certificate(certificate).digests
            self.certificate = certificate
            self.material = upload.material.filter { digests.contains($0.digest) }
        }
    }

    func add(
        _ found: Found, depth: Int64?, to pattern: HostPattern, _ body: [UInt8], in exchange: Exchange
    ) async throws -> Response {
        let result = try await self.changes.change(
            try exchange.wultraApp, body, showing: found.material, in: exchange
        ) { (state) throws(WultraAdminError) in
            try .adding(found.certificate, depth: depth, to: pattern, of: state.app)
        }
        // A repeated request is answered with the first result, whatever is served by now.
        let certificate = result.certificate ?? found.certificate
        let shown = found.material.first { $0.digest == certificate.sha256 }
        return await self.answer(certificate, shown, of: pattern, to: result, in: exchange)
    }

    /// Adds the certificate that a server of the host presents as its own now.
    func addServed(to pattern: HostPattern, _ body: [UInt8], in exchange: Exchange) async throws -> Response {
        let id = try exchange.wultraApp
        // The server looks at the host before there is a change to decide on.
        for permission in [Permission.runProbes, .changeApps] {
            guard exchange.rights.allows(permission, on: id, hosts: [pattern]) else {
                throw Problem(Refusal.permissionMissing(permission, .app(id)))
            }
        }
        // A recorded certificate needs no reachable server any more.
        if let replay = try await self.changes.replay(id, body, in: exchange), let certificate = replay.certificate {
            return await self.answer(certificate, nil, of: pattern, to: replay, in: exchange)
        }
        let found = try await self.served(by: pattern, of: id)
        return try await self.add(found, depth: nil, to: pattern, body, in: exchange)
    }

    /// - Parameter shown: The certificate itself, where the request has uploaded it. It is recorded by now, and the
    ///   answer does not fail if it is missing.
    private func answer(
        _ certificate: CertificateFacts, _ shown: Material?, of pattern: HostPattern, to result: CommandExecutor.Result,
        in exchange: Exchange
    ) async -> Response {
        var der = shown?.der
        if der == nil {
            let digest = certificate.sha256
            der = await self.services.material.der(of: [digest], within: MaterialStore.patience).found[digest]
        }
        return exchange.reply(WultraAdminAnswer.certificate(certificate, der: der, of: pattern), to: result)
    }

    /// The certificate that a server of the host presents as its own now.
    private func served(by pattern: HostPattern, of id: AppID) async throws -> Found {
        let app = try self.services.wultraApp(id).app
        let endpoints = app.hosts[pattern]?.probed(of: pattern) ?? Endpoint(host: pattern).map { [$0] } ?? []
        guard let endpoint = endpoints.first else {
            throw WultraAdminError(
                "domain",
                "names no server that could be looked at: upload the certificate, or give the host an endpoint")
        }
        let observation = await self.services.probeScheduler.probe(endpoint)
        guard let certificate = observation.chains.first?.certificates.first else {
            let why = observation.failure.map { ": \($0)" } ?? "."
            throw WultraAdminError(.refused, "\(endpoint) presented no certificate\(why)")
        }
        guard let der = observation.material[certificate.sha256] else {
            throw WultraAdminFault(description: "a probe of \(endpoint) kept no bytes of the certificate it tells of")
        }
        return try await NIOThreadPool.singleton.runIfActive {
            var der = der
            return Found(certificate, of: try Upload.read(&der))
        }
    }

    /// The certificate of an upload; for a chain the server's own.
    static func uploaded(_ pem: String) async throws -> Found {
        try await NIOThreadPool.singleton.runIfActive {
            let upload: Upload
            var bytes = Array(pem.utf8)
            do throws(UploadError) { upload = try Upload.read(&bytes) } catch {
                throw WultraAdminError(
                    .malformed, "pem is refused. \(error.descriptionWithinText)",
                    violations: [WultraAdminError.Violation(field: "pem", hint: "is refused")])
            }
            let material: UploadedKey
            do throws(UploadedKey.Ambiguity) { material = try UploadedKey(upload, known: KnownKeys()) } catch {
                throw WultraAdminError("pem", error.description)
            }
            guard case .certificate(let certificate) = material.evidence else {
                throw WultraAdminError("pem", "must be a certificate")
            }
            return Found(certificate, of: upload)
        }
    }

    // MARK: Expired ones

    /// Every app's certificates that have expired and that no install can need, host by host: the reason to keep one
    /// does not affect the others.
    func deleteExpired(_ exchange: Exchange) async throws -> Response {
        // Where nothing has expired, no other code would examine these.
        guard self.services.writer != nil else { throw Problem(.readOnly, "This node is read-only.") }
        _ = try exchange.idempotencyKey()
        let now = self.services.wultraNow
        for app in self.services.wultraApps.map(\.app) {
            for pattern in app.hosts.keys.sorted() {
                let (command, kept) = self.deletingExpired(from: pattern, of: app, at: now)
                if !kept.isEmpty {
                    self.logKept(
                        pattern, of: app.id,
                        because: "not every service of the host was seen within a day without \(kept[0]), "
                            + "or the host would be left with too few keys to enforce")
                }
                if !command.commands.isEmpty { try await self.deleteExpired(from: pattern, of: app.id, in: exchange) }
            }
        }
        return exchange.reply(status: 200, WultraAdminAnswer.ok)
    }

    private func deleteExpired(from pattern: HostPattern, of id: AppID, in exchange: Exchange) async throws {
        do {
            // Made again from the present facts: a renewed certificate may have been uploaded meanwhile.
            _ = try await self.changes.change(id, [], in: exchange, part: "\(id) \(pattern)") {
                (state) throws(WultraAdminError) in
                self.deletingExpired(from: pattern, of: state.app, at: state.now).command
            }
        } catch WriteFailure.refused(let refusal) {
            self.logKept(pattern, of: id, because: Problem(refusal).detail)
        } catch let error as WultraAdminError where error.code == .appNotFound {
            // It has no clients of this kind any more.
        }
    }

    private func deletingExpired(
        from pattern: HostPattern, of app: App, at now: Timestamp
    ) -> (command: WultraAdminCommand, kept: [Pin]) {
        WultraAdminCommand.deletingExpired(from: pattern, of: app, at: now, facts: self.services.observations.facts)
    }

    private func logKept(_ pattern: HostPattern, of id: AppID, because why: String) {
        self.services.logger.log(.expiredCertificatesKept, ["app": "\(id)", "host": "\(pattern)", "why": "\(why)"])
    }
}

extension CommandExecutor.Result {
    /// The certificate that was recorded with a key.
    fileprivate var certificate: CertificateFacts? {
        self.recorded.entries.compactMap { entry -> CertificateFacts? in
            guard case .app(.keyDescribed(.certificate(let certificate))) = entry.event else { return nil }
            return certificate
        }.first
    }
}
