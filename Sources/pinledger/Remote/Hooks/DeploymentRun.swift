import Foundation
import PinWire
import Pinning

/// Moves the certificates of a directory on, as far as the rotations of their keys allow.
///
/// Each step is written down before it is taken, and can be taken again: if the process dies, the next run goes on from there.
final class DeploymentRun {
    let directory: CertificateDirectory
    let place: ServerOptions
    var deployment: Deployment

    init(_ deployment: Deployment, in directory: CertificateDirectory, _ place: ServerOptions) {
        self.deployment = deployment
        self.directory = directory
        self.place = place
    }

    static let reason = "renewed by `pinledger hook`"
    /// How long the command may take that has servers load their certificate, in seconds.
    private static let patience = 300

    var hosts: String { self.deployment.hosts.joined(separator: ", ") }

    /// The certificate that is served; nil where there is none, or none that can be read.
    var served: RenewedCertificate? {
        self.directory.live.flatMap { try? self.directory.certificate(of: $0) }
    }

    private var waiting: [RenewedCertificate] {
        [self.deployment.current, self.deployment.next].compactMap { renewal in
            renewal.flatMap { try? self.directory.certificate(of: $0.release) }
        }
    }

    func keep() throws { try self.directory.keep(self.deployment) }

    // MARK: A certificate comes

    /// Takes up a certificate. One whose key servers present already is served at once, whether or not Pinledger can be reached.
    ///
    /// - Throws: ``CommandFailure``, also where it is not for the hosts, or not valid now.
    func deploy(_ certificate: RenewedCertificate) async throws {
        // What else the command line says holds from now on.
        try self.keep()
        try self.directory.finish(self.deployment.releases)
        if let live = self.directory.live, certificate.chain == self.served?.chain {
            Console.print("\(self.hosts): the certificate is served already.")
            // The state is new: a rotation to this key may be under way.
            if !self.deployment.hasServed { self.deployment.add(live, certificate.pin) }
            self.deployment.hasServed = true
            return try self.keep()
        }
        guard !self.waiting.contains(where: { $0.chain == certificate.chain }) else { return }
        try certificate.check(isFor: self.deployment.hosts, at: Node.clock())
        if let served, certificate.end < served.end {
            Console.error(
                "The certificate ends sooner than the served one: \(LocalTime.text(certificate.end.rfc3339)).")
        }
        if let served, served.pin == certificate.pin {
            let release = try self.directory.store(certificate, at: Node.clock())
            if self.deployment.current?.pin == certificate.pin { self.deployment.current?.release = release }
            try self.keep()
            try self.directory.finish([release])
            try await self.serve(release)
            Console.print(
                "\(self.hosts): serves the certificate that ends at \(LocalTime.text(certificate.end.rfc3339)). Its key is the same as before."
            )
        } else {
            let release = try self.directory.store(certificate, at: Node.clock())
            self.deployment.add(release, certificate.pin)
            try self.keep()
            try self.directory.finish([release])
        }
    }

    /// Takes up what the ACME client has written without a hook that said so, or that ended before its time.
    private func lookForRenewal() async throws {
        guard let source = self.deployment.source, FileManager.default.fileExists(atPath: source.chain) else { return }
        let certificate = try RenewedCertificate(chainFile: source.chain, keyFile: source.key)
        guard certificate.chain != self.served?.chain, self.served.map({ $0.end < certificate.end }) ?? true,
            !self.waiting.contains(where: { $0.end >= certificate.end })
        else { return }
        try await self.deploy(certificate)
    }

    // MARK: What waits goes on

    /// Goes on until there is something to wait for.
    ///
    /// - Parameter alarm: The time before the end of the served certificate from which on waiting is a failure, in seconds.
    func resume(alarm: Int64) async throws {
        try self.directory.finish(self.deployment.releases)
        // One step's trouble does not keep the others waiting.
        var failure: (any Error)?
        func attempt(_ step: () async throws -> Void) async {
            do { try await step() } catch {
                if let earlier = failure { Console.error(ErrorText.sentence(for: earlier)) }
                failure = error
            }
        }
        if self.deployment.isCommandDue { await attempt { try await self.runCommand() } }
        await attempt { try await self.lookForRenewal() }
        if self.deployment.current != nil {
            await attempt {
                try await self.place.withClient { client in
                    var steps = 0
                    while let renewal = self.deployment.current, try await self.step(renewal, client) {
                        steps += 1
                        // A server whose answers never change is not asked without end.
                        guard steps < Self.stepLimit else { throw CommandFailure("the rotation does not come to rest") }
                    }
                }
            }
        }
        self.directory.clean(keeping: self.deployment.releases)
        await attempt { try self.checkServed(alarm) }
        if let failure { throw failure }
    }

    private static let stepLimit = 50

    /// Fails where what is served cannot be read, or ends soon.
    private func checkServed(_ alarm: Int64) throws {
        guard self.deployment.hasServed || self.directory.live != nil else { return }
        let waits = self.deployment.current.map {
            $0.rotation.map { "the next one waits for the rotation \($0)" }
                ?? "the rotation to the next one has not begun"
        }
        guard let end = self.served?.end else {
            throw CommandFailure(
                "\(self.directory.path)/live holds no certificate that can be read"
                    + (waits.map { ", and \($0)" } ?? ""),
                advice: "Deploy a certificate again.", status: .refused)
        }
        guard end.seconds - Node.clock().seconds < alarm else { return }
        throw CommandFailure(
            "the served certificate of \(self.hosts) ends at \(LocalTime.text(end.rfc3339)), and \(waits ?? "no other one waits")",
            advice: waits == nil
                ? "Check that the ACME client renews it, and runs its deploy hook."
                : "See `pinledger rotation status \(self.deployment.app)` and `pinledger hook status \(self.directory.path)`.",
            status: .refused)
    }

    // MARK: Serving

    /// The certificate of a renewal.
    ///
    /// - Throws: ``CommandFailure`` where it cannot be served any more.
    @discardableResult
    func check(_ renewal: Deployment.Renewal) throws -> RenewedCertificate {
        let certificate = try self.directory.certificate(of: renewal.release)
        do { try certificate.check(isFor: self.deployment.hosts, at: Node.clock()) } catch {
            throw CommandFailure(
                "what waits can no longer be served: \(error.message)",
                advice:
                    "Renew it. `pinledger hook drop \(self.directory.path)` does without it; abort its rotation if it has begun.",
                status: .refused)
        }
        return certificate
    }

    /// Has servers present a renewal's certificate, and keeps the key that they have presented.
    func serveNext(_ renewal: Deployment.Renewal) async throws {
        let certificate = try self.check(renewal)
        // After a renewal with the same key, what was served before that stays the one to go back to.
        if let live = self.directory.live, live != renewal.release, self.served?.pin != renewal.pin {
            self.deployment.previous = live
        }
        try await self.serve(renewal.release)
        Console.print(
            "\(self.hosts): serves the certificate that ends at \(LocalTime.text(certificate.end.rfc3339))."
        )
    }

    func serve(_ release: String) async throws {
        self.deployment.isCommandDue = true
        self.deployment.hasServed = true
        try self.keep()
        try self.directory.serve(release)
        try await self.runCommand()
    }

    /// Has servers load what is served; tried again by each run until it succeeds.
    private func runCommand() async throws {
        if let command = self.deployment.command {
            // It gets no token of this program, and is ended in time: another directory may wait for this run.
            let shell = [
                "timeout", "--kill-after=10", "\(Self.patience)", "/bin/sh", "-c", "cd / && eval \"$1\"", "hook",
                command,
            ]
            let outcome = try await Subprocess.run(shell, environment: ["PINLEDGER_TOKEN": ""])
            guard outcome.status == 0 else {
                let reason =
                    outcome.status == 124 ? "took longer than \(Self.patience) s" : "failed (\(outcome.status))"
                throw CommandFailure(
                    "the certificate is in \(self.directory.path)/live, and `\(command)` \(reason):\n\(outcome.output)",
                    advice: "Mend it. `pinledger hook resume \(self.directory.path)` runs it again.")
            }
        }
        self.deployment.isCommandDue = false
        try self.keep()
    }
}
