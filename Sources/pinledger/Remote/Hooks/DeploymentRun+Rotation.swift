import Foundation
import PinWire
import Pinning

/// The rotation to a renewed certificate's key, step by step.
extension DeploymentRun {
    private var group: RenewalGroup { RenewalGroup(app: self.deployment.app, hosts: self.deployment.hosts) }

    /// Does the next thing for a renewal; false where it has to wait.
    func step(_ renewal: Deployment.Renewal, _ client: APIClient) async throws -> Bool {
        guard let id = renewal.rotation else { return try await self.begin(renewal, client) }
        let path = "\(RotationCommands.path(self.deployment.app))/\(APIClient.escaped(id))"
        let answer = try await client.send("GET", path)
        if answer.status == 404, try answer.json["type"] == "/problems/rotation_unknown" {
            return try await self.start(renewal, id, client)
        }
        try answer.check()
        let rotation = try answer.json
        guard self.group.isServed(by: rotation, renewal.pin) else {
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
            await self.group.probe(client)
            return true
        }
        switch phase {
        case .done:
            Console.print("\(self.hosts): the rotation \(id) is done.")
            self.deployment.finish()
            try self.keep()
            return true
        case .aborted:
            try await self.goBack(from: renewal, client)
            let isServed = self.directory.live == renewal.release
            throw CommandFailure(
                "the rotation \(id) was aborted, and its certificate is \(isServed ? "served all the same" : "not served")",
                advice: isServed
                    ? "Make its key the primary again, or deploy a certificate whose key clients have. `pinledger hook drop \(self.directory.path)` leaves it at that."
                    : "Run `pinledger hook drop \(self.directory.path)` to do without that certificate.",
                status: .refused)
        case .deliver, .switch, .settle, .cleanUp:
            // The phases of an emergency are for people: the next one revokes a key.
            let isOurs = rotation["kind"] == "planned"
            if phase == .deliver { try self.check(renewal) }
            if isOurs, rotation["ready"] == true {
                try await RenewalGroup.advance(path, from: phase, client)
                return true
            }
            if phase == .deliver, let reason = self.insistence {
                try await RenewalGroup.advance(path, from: phase, client, insisting: reason)
                return true
            }
            // What no node looks at by itself is looked at now.
            let isSeen = [.switch, .settle].contains(phase)
            if isSeen { await self.group.probe(client) }
            let now = isSeen ? try await client.get(path) : rotation
            if isOurs, now["ready"] == true { return true }
            Console.line("\(self.hosts): the rotation \(id) is in the phase \(phase.rawValue), and waits:")
            for wait in now["waits_for"]?.arrayValue ?? [] where wait.text("met") != "yes" {
                Console.line("  \(wait.text("what")): \(wait.said("detail"))")
            }
            return false
        }
    }

    /// Finds the rotation to a key, or begins one; false where another one has to end first.
    private func begin(_ renewal: Deployment.Renewal, _ client: APIClient) async throws -> Bool {
        let open = try await client.get(RotationCommands.path(self.deployment.app))["rotations"]?.arrayValue ?? []
        if let known = open.first(where: { rotation in
            let isOver = rotation["phase"]?.stringValue.flatMap(Rotation.Phase.init)?.isOver ?? true
            return !isOver && self.group.isServed(by: rotation, renewal.pin)
        }), let id = known["rotation"]?.stringValue, Rotation.isID(id) {
            self.deployment.current?.rotation = id
            try self.keep()
            return true
        }
        let standings = try await self.group.standings(of: renewal.pin, client)
        if standings.allSatisfy(\.isPrimary) {
            guard
                self.directory.live == nil || standings.allSatisfy({ $0.isKnown(for: self.deployment.deliverySeconds) })
            else {
                Console.line("\(self.hosts): the renewal waits until clients have its key, which is a primary already.")
                return false
            }
            if self.directory.live != renewal.release { try await self.serveNext(renewal) }
            self.deployment.finish()
            try self.keep()
            return true
        }
        try RenewalGroup.checkOneKey(standings)
        let id = "renewal-\(renewal.release)-\(Hex.encode(Array(renewal.pin.bytes.prefix(4))))"
        self.deployment.current?.rotation = id
        try self.keep()
        return try await self.start(renewal, id, client)
    }

    private func start(_ renewal: Deployment.Renewal, _ id: String, _ client: APIClient) async throws -> Bool {
        try self.check(renewal)
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
            if self.deployment.next != nil, failure.problem != "/problems/rotation_state" {
                Console.error(ErrorText.sentence(for: failure))
                self.deployment.finish()
                try self.keep()
                return true
            }
            try self.keep()
            guard failure.problem == "/problems/rotation_state" else { throw failure }
            Console.line("\(self.hosts): the renewal waits. \(failure.message)")
            return false
        }
        Console.print("\(self.hosts): the rotation \(id) publishes the next key, \(renewal.pin).")
        return true
    }

    /// Why the next certificate is served whatever its rotation waits for; nil where it is not.
    private var insistence: String? {
        guard let insistence = self.deployment.insistence, let end = self.served?.end,
            end.seconds - Node.clock().seconds < insistence
        else { return nil }
        return "the served certificate ends at \(LocalTime.text(end))"
    }

    /// Serves again what was served before a renewal whose rotation was aborted, where that is valid and its key is a primary.
    private func goBack(from renewal: Deployment.Renewal, _ client: APIClient) async throws {
        guard self.directory.live == renewal.release, let previous = self.deployment.previous,
            let certificate = try? self.directory.certificate(of: previous),
            (try? certificate.check(isFor: self.deployment.hosts, at: Node.clock())) != nil,
            try await self.group.standings(of: certificate.pin, client).allSatisfy(\.isPrimary)
        else { return }
        try await self.serve(previous)
        Console.print(
            "\(self.hosts): serves again the certificate from before, which ends at \(LocalTime.text(certificate.end.rfc3339))."
        )
    }
}
