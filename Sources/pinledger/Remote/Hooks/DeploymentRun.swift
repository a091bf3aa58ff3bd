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
    /// How long the command may take that has servers load their certificate, in seconds.
    private static let patience = 300

    private var hosts: String { self.deployment.hosts.joined(separator: ", ") }

    /// The certificate that is served; nil where there is none, or none that can be read.
    private var served: RenewedCertificate? {
        self.directory.live.flatMap { try? self.directory.certificate(of: $0) }
    }

    private var waiting: [RenewedCertificate] {
        [self.deployment.current, self.deployment.next].compactMap { renewal in
            renewal.flatMap { try? self.directory.certificate(of: $0.release) }
        }
    }

    private func keep() throws { try self.directory.keep(self.deployment) }

    // MARK: A certificate comes

    /// Takes up a certificate. One whose key servers present already is served at once, whether or not Pinledger can be reached.
    ///
    /// - Throws: ``CommandFailure``, also where it is not for the hosts, or not valid now.
    func deploy(_ certificate: RenewedCertificate) async throws {
        // What else the command line says holds from now on.
        try self.keep()
        try self.directory.finish(self.deployment.releases)
        guard certificate.chain != self.served?.chain else {
            return Console.print("\(self.hosts): the certificate is served already.")
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
        guard let source = self.deployment.source,
            let certificate = try? RenewedCertificate(chainFile: source.chain, keyFile: source.key),
            certificate.chain != self.served?.chain, self.served.map({ $0.end < certificate.end }) ?? true,
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
        if self.deployment.isCommandDue { try await self.runCommand() }
        try await self.lookForRenewal()
        if self.deployment.current != nil {
            try await self.remote.withClient { client in
                while let renewal = self.deployment.current, try await self.step(renewal, client) {}
            }
        }
        self.directory.clean(keeping: self.deployment.releases)
        try self.checkServed(alarm)
    }

    /// Fails where what is served cannot be read, or ends soon.
    private func checkServed(_ alarm: Int64) throws {
        guard self.deployment.hasServed else { return }
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

    /// Does the next thing for a renewal; false where it has to wait.
    private func step(_ renewal: Deployment.Renewal, _ client: APIClient) async throws -> Bool {
        guard let id = renewal.rotation else { return try await self.begin(renewal, client) }
        let path = "\(RotationCommands.path(self.deployment.app))/\(APIClient.escaped(id))"
        let answer = try await client.send("GET", path)
        if answer.status == 404, try answer.json["type"] == "/problems/rotation_unknown" {
            return try await self.start(renewal, id, client)
        }
        try answer.check()
        let rotation = try answer.json
        guard Self.serves(rotation, self.deployment, renewal.pin) else {
            throw CommandFailure(
                "the rotation \(id) is another one than that of the certificate",
                advice: "Run `pinledger hook drop \(self.directory.path)`, and deploy the certificate again.",
                status: .conflict)
        }
        guard let phase = rotation["phase"]?.stringValue.flatMap(Rotation.Phase.init) else {
            throw CommandFailure(
                "the server names the phase \(rotation.text("phase")), which this program does not know")
        }
        // From the switch on servers are to present the key, whether or not this command ended the phase, and however late it comes.
        if [.switch, .settle, .cleanUp, .done].contains(phase), self.directory.live != renewal.release {
            try await self.serveNext(renewal)
            await self.probe(client)
            return true
        }
        switch phase {
        case .done:
            Console.print("\(self.hosts): the rotation \(id) is done.")
            self.deployment.finish()
            try self.keep()
            return true
        case .aborted:
            throw CommandFailure(
                "the rotation \(id) was aborted, and its certificate is not served",
                advice: "Run `pinledger hook drop \(self.directory.path)` to do without that certificate.",
                status: .refused)
        case .deliver, .switch, .settle, .cleanUp:
            if rotation["ready"] == true {
                try await self.advance(path, from: phase, client)
                return true
            }
            if phase == .deliver, let reason = self.insistence {
                try await self.advance(path, from: phase, client, insisting: reason)
                return true
            }
            // What no node looks at by itself is looked at now.
            if phase == .switch { await self.probe(client) }
            let now = phase == .switch ? try await client.get(path) : rotation
            if now["ready"] == true { return true }
            Console.line("\(self.hosts): the rotation \(id) is in the phase \(phase.rawValue), and waits:")
            for wait in now["waits_for"]?.arrayValue ?? [] where wait.text("met") != "yes" {
                Console.line("  \(wait.text("what")): \(wait.text("detail"))")
            }
            return false
        }
    }

    /// Whether a rotation brings a key to all hosts.
    private static func serves(_ rotation: JSON, _ deployment: Deployment, _ pin: Pin) -> Bool {
        let hosts = Set(rotation["hosts"]?.arrayValue?.compactMap { $0.stringValue?.lowercased() } ?? [])
        return rotation["next"]?.stringValue == pin.description && rotation["kind"] == "planned"
            && hosts.isSuperset(of: deployment.hosts.map { $0.lowercased() })
    }

    /// Finds the rotation to a key, or begins one; false where another one has to end first.
    private func begin(_ renewal: Deployment.Renewal, _ client: APIClient) async throws -> Bool {
        var primaries: [Set<String>] = []
        for host in self.deployment.hosts { primaries.append(try await self.primaries(of: host, client)) }
        if primaries.allSatisfy({ $0.contains(renewal.pin.description) }) {
            try await self.serveNext(renewal)
            self.deployment.finish()
            try self.keep()
            return true
        }
        let open = try await client.get(RotationCommands.path(self.deployment.app))["rotations"]?.arrayValue ?? []
        if let known = open.first(where: { rotation in
            let isOver = rotation["phase"]?.stringValue.flatMap(Rotation.Phase.init)?.isOver ?? true
            return !isOver && Self.serves(rotation, self.deployment, renewal.pin)
        }), let id = known["rotation"]?.stringValue, Rotation.isID(id) {
            self.deployment.current?.rotation = id
            try self.keep()
            return true
        }
        for (host, pins) in zip(self.deployment.hosts, primaries) where pins.count > 1 {
            throw CommandFailure(
                "\(host) has \(pins.count) primary pins, and a rotation would retire all of them",
                advice:
                    "Servers with several keys (RSA and ECDSA) are rotated by hand, with the commands of pins. Or make one key the primary.",
                status: .refused)
        }
        let id = "renewal-\(renewal.release)-\(Hex.encode(Array(renewal.pin.bytes.prefix(4))))"
        self.deployment.current?.rotation = id
        try self.keep()
        return try await self.start(renewal, id, client)
    }

    private func start(_ renewal: Deployment.Renewal, _ id: String, _ client: APIClient) async throws -> Bool {
        var members: [String: JSON] = [
            "rotation": .string(id), "hosts": .array(self.deployment.hosts.map { .string($0) }),
            "next": ["material": .string(try self.directory.certificate(of: renewal.release).leaf)],
        ]
        if !self.deployment.goals.isEmpty { members["goals"] = .object(self.deployment.goals) }
        var options = ChangeOptions.none
        options.reason = Self.reason
        do {
            _ = try await client.change("POST", RotationCommands.path(self.deployment.app), members, options)
        } catch let failure as CommandFailure where failure.problem != nil && failure.status != .unreachable {
            // A newer certificate may take the place of one whose rotation did not begin.
            self.deployment.current?.rotation = nil
            try self.keep()
            guard failure.problem == "/problems/rotation_state" else { throw failure }
            Console.line("\(self.hosts): the renewal waits. \(failure.message)")
            return false
        }
        Console.print("\(self.hosts): the rotation \(id) publishes the next key, \(renewal.pin).")
        return true
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
    private var insistence: String? {
        guard let insistence = self.deployment.insistence, let end = self.served?.end,
            end.seconds - Node.clock().seconds < insistence
        else { return nil }
        return "the served certificate ends at \(end.rfc3339)"
    }

    private func path(of host: String) -> String {
        "/v1/apps/\(APIClient.escaped(self.deployment.app))/hosts/\(APIClient.escaped(host))"
    }

    /// The active primary pins of a host: the keys that its servers may present.
    private func primaries(of host: String, _ client: APIClient) async throws -> Set<String> {
        let pins = try await client.get(self.path(of: host))["baseline"]?["pins"]?.arrayValue ?? []
        return Set(
            pins.filter { $0["role"] == "primary" && $0["state"] == "active" }.compactMap { $0["pin"]?.stringValue })
    }

    /// Has the server look at what the hosts present. What it cannot see, its nodes may see later.
    private func probe(_ client: APIClient) async {
        for host in self.deployment.hosts where !host.hasPrefix("*.") {
            let known = (try? await client.get(self.path(of: host)))?["endpoints"]?.arrayValue?.compactMap(
                \.stringValue)
            for endpoint in known.flatMap({ $0.isEmpty ? nil : $0 }) ?? [host] {
                let body: JSON = ["endpoint": .string(endpoint)]
                _ = try? await client.send("POST", "/v1/probes", body: body.canonicalBytes)
            }
        }
    }

    // MARK: Serving

    /// Has servers present a renewal's certificate, and keeps the key that they have presented.
    private func serveNext(_ renewal: Deployment.Renewal) async throws {
        let certificate = try self.directory.certificate(of: renewal.release)
        do { try certificate.check(isFor: self.deployment.hosts, at: Node.clock()) } catch {
            throw CommandFailure(
                "what waited can no longer be served: \(error.message)",
                advice: "Renew it. `pinledger hook drop \(self.directory.path)` does without it.", status: .refused)
        }
        if let live = self.directory.live, live != renewal.release { self.deployment.previous = live }
        try await self.serve(renewal.release)
        Console.print(
            "\(self.hosts): serves the certificate that ends at \(LocalTime.text(certificate.end.rfc3339))."
        )
    }

    private func serve(_ release: String) async throws {
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
