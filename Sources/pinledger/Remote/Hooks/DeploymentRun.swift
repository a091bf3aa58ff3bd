import Foundation
import PinWire
import Pinning

/// Moves the certificates of a directory on, as far as the rotations of their keys allow.
///
/// Each step is written down before it is taken, and can be taken again: if the process dies, the next run goes on from there.
final class DeploymentRun {
    private let directory: CertificateDirectory
    private let remote: RemoteOptions
    private var deployment: Deployment

    init(_ deployment: Deployment, in directory: CertificateDirectory, _ remote: RemoteOptions) {
        self.deployment = deployment
        self.directory = directory
        self.remote = remote
    }

    private static let reason = "renewed by `pinledger hook`"

    private var hosts: String { self.deployment.hosts.joined(separator: ", ") }

    /// Takes up a certificate. One whose key servers present already is served at once, whether or not Pinledger can be reached.
    func deploy(_ certificate: RenewedCertificate) async throws {
        let served = try self.directory.live.map { try self.directory.certificate(of: $0) }
        guard certificate.chain != served?.chain else {
            return Console.print("\(self.hosts): the certificate is served already.")
        }
        let waiting = self.deployment.releases.compactMap { try? self.directory.certificate(of: $0) }
        guard !waiting.contains(where: { $0.chain == certificate.chain }) else { return }
        let isKeyServed: Bool
        if let served {
            isKeyServed = served.pin == certificate.pin
        } else {
            isKeyServed = try await self.isPrimary(certificate.pin)
        }
        let release = try self.directory.store(certificate, at: Node.clock())
        guard isKeyServed else {
            self.deployment.add(Deployment.Renewal(release: release, pin: certificate.pin))
            return try self.directory.keep(self.deployment)
        }
        if self.deployment.current?.pin == certificate.pin { self.deployment.current?.release = release }
        try await self.serve(release)
        Console.print(
            "\(self.hosts): serves the certificate that ends at \(LocalTime.text(certificate.end.rfc3339)). Its key is the same as before."
        )
    }

    /// Goes on until there is something to wait for.
    ///
    /// - Parameter alarm: The time before the end of the served certificate from which on waiting is a failure, in seconds.
    func resume(alarm: Int64) async throws {
        if self.deployment.isCommandDue { try await self.runCommand() }
        if self.deployment.current != nil {
            try await self.remote.withClient { client in
                while let renewal = self.deployment.current, try await self.step(renewal, client) {}
            }
        }
        self.directory.clean(keeping: self.deployment.releases)
        guard let renewal = self.deployment.current, let live = self.directory.live, live != renewal.release else {
            return
        }
        let end = try self.directory.certificate(of: live).end
        guard end.seconds - Node.clock().seconds < alarm else { return }
        throw CommandFailure(
            "the served certificate of \(self.hosts) ends at \(LocalTime.text(end.rfc3339)), and the next one waits for the rotation \(renewal.rotation)",
            advice:
                "See `pinledger rotation status \(self.deployment.app) \(renewal.rotation)`. `pinledger rotation advance \(self.deployment.app) \(renewal.rotation) --force --reason TEXT` goes on without what it waits for; then run this again.",
            status: .refused)
    }

    // MARK: Steps

    /// Does the next thing for a renewal; false where it has to wait.
    private func step(_ renewal: Deployment.Renewal, _ client: APIClient) async throws -> Bool {
        let path = "\(RotationCommands.path(self.deployment.app))/\(APIClient.escaped(renewal.rotation))"
        let answer = try await client.send("GET", path)
        if answer.status == 404, try answer.json["type"] == "/problems/rotation_unknown" {
            try await self.start(renewal, client)
            return true
        }
        try answer.check()
        let rotation = try answer.json
        guard let phase = rotation["phase"]?.stringValue.flatMap(Rotation.Phase.init) else {
            throw CommandFailure(
                "the server names the phase \(rotation.text("phase")), which this program does not know")
        }
        switch phase {
        case .done, .aborted:
            Console.print("\(self.hosts): the rotation \(renewal.rotation) is \(phase == .done ? "done" : "aborted").")
            self.deployment.finish()
            try self.directory.keep(self.deployment)
            return true
        case .switch where self.directory.live != renewal.release:
            try await self.serve(renewal.release)
            let end = try self.directory.certificate(of: renewal.release).end
            Console.print(
                "\(self.hosts): serves the certificate with the next key, which ends at \(LocalTime.text(end.rfc3339))."
            )
            await self.probe(client)
            return true
        case .deliver, .switch, .settle, .cleanUp:
            if rotation["ready"] == true {
                try await self.advance(path, from: phase, client)
                return true
            }
            if phase == .deliver, let reason = try self.insistence() {
                try await self.advance(path, from: phase, client, insisting: reason)
                return true
            }
            // What no node looks at by itself is looked at now.
            if phase == .switch { await self.probe(client) }
            let now = phase == .switch ? try await client.get(path) : rotation
            if now["ready"] == true { return true }
            Console.print(
                "\(self.hosts): the rotation \(renewal.rotation) is in the phase \(phase.rawValue), and waits:")
            for wait in now["waits_for"]?.arrayValue ?? [] where wait.text("met") != "yes" {
                Console.print("  \(wait.text("what")): \(wait.text("detail"))")
            }
            return false
        }
    }

    private func start(_ renewal: Deployment.Renewal, _ client: APIClient) async throws {
        let chain = try self.directory.certificate(of: renewal.release).chain
        var members: [String: JSON] = [
            "rotation": .string(renewal.rotation), "hosts": .array(self.deployment.hosts.map { .string($0) }),
            "next": ["material": .string(RenewedCertificate.leaf(of: chain))],
        ]
        if !self.deployment.goals.isEmpty { members["goals"] = .object(self.deployment.goals) }
        var options = ChangeOptions.none
        options.reason = Self.reason
        _ = try await client.change("POST", RotationCommands.path(self.deployment.app), members, options)
        Console.print("\(self.hosts): the rotation \(renewal.rotation) publishes the next key, \(renewal.pin).")
    }

    private func advance(
        _ path: String, from phase: Rotation.Phase, _ client: APIClient, insisting reason: String? = nil
    ) async throws {
        var options = ChangeOptions.none
        options.reason = reason ?? Self.reason
        options.force = reason != nil
        _ = try await client.change("POST", "\(path)/advance", ["from": .string(phase.rawValue)], options)
    }

    /// Why the next certificate is served whatever its rotation waits for; nil where it is not.
    private func insistence() throws -> String? {
        guard let insistence = self.deployment.insistence, let live = self.directory.live else { return nil }
        let end = try self.directory.certificate(of: live).end
        guard end.seconds - Node.clock().seconds < insistence else { return nil }
        return "the served certificate ends at \(end.rfc3339)"
    }

    /// Whether every host has a pin as an active primary: servers may present its key.
    private func isPrimary(_ pin: Pin) async throws -> Bool {
        let deployment = self.deployment
        return try await self.remote.withClient { client in
            for host in deployment.hosts {
                let path = "/v1/apps/\(APIClient.escaped(deployment.app))/hosts/\(APIClient.escaped(host))"
                let pins = try await client.get(path)["baseline"]?["pins"]?.arrayValue ?? []
                guard
                    pins.contains(where: {
                        $0["pin"]?.stringValue == pin.description && $0["role"] == "primary" && $0["state"] == "active"
                    })
                else { return false }
            }
            return true
        }
    }

    /// Has the server look at what the hosts present. What it cannot see, its nodes may see later.
    private func probe(_ client: APIClient) async {
        for host in self.deployment.hosts where !host.hasPrefix("*.") {
            let path = "/v1/apps/\(APIClient.escaped(self.deployment.app))/hosts/\(APIClient.escaped(host))"
            let known = (try? await client.get(path))?["endpoints"]?.arrayValue?.compactMap(\.stringValue) ?? []
            for endpoint in known.isEmpty ? [host] : known {
                let body: JSON = ["endpoint": .string(endpoint)]
                _ = try? await client.send("POST", "/v1/probes", body: body.canonicalBytes)
            }
        }
    }

    // MARK: Serving

    private func serve(_ release: String) async throws {
        self.deployment.isCommandDue = true
        try self.directory.keep(self.deployment)
        try self.directory.serve(release)
        try await self.runCommand()
    }

    /// Has servers load what is served; tried again by each run until it succeeds.
    private func runCommand() async throws {
        if let command = self.deployment.command {
            let outcome = try await Subprocess.run(["/bin/sh", "-c", command])
            guard outcome.status == 0 else {
                throw CommandFailure(
                    "the certificate is in \(self.directory.path)/live, and `\(command)` failed (\(outcome.status)):\n\(outcome.output)",
                    advice: "Mend it. `pinledger hook resume \(self.directory.path)` runs it again.")
            }
        }
        self.deployment.isCommandDue = false
        try self.directory.keep(self.deployment)
    }
}
