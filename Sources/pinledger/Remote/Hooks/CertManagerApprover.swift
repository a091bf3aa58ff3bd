import PinWire
import Pinning

/// Looks once at all requests of cert-manager, and moves each as far as its rotation allows.
///
/// It keeps nothing: the rotation is found by its key, and the approval is in Kubernetes. If the process dies, the next look goes on
/// from there.
struct CertManagerApprover {
    let app: String
    let hosts: [String]
    let namespace: String?
    let goals: [String: JSON]
    let approvesOthers: Bool
    let client: APIClient
    let kubernetes: APIClient

    /// What becomes of a request for a key.
    private enum Verdict {
        case approve(String)
        case wait([String])
    }

    /// How many requests are asked for at once, and how often.
    private static let pageSize = 500
    private static let pageLimit = 1000

    /// - Throws: The last failure, after all requests were looked at.
    func pass() async throws {
        var failure: (any Error)?
        var next: String?
        var pages = 0
        repeat {
            let page = try await self.page(next)
            for object in page["items"]?.arrayValue ?? [] {
                do { try await self.look(at: try RequestedCertificate(object)) } catch {
                    // One request's trouble does not keep the others waiting.
                    if let earlier = failure { Console.error(ErrorText.sentence(for: earlier)) }
                    failure = error
                }
            }
            next = page["metadata"]?["continue"]?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
            pages += 1
        } while next != nil && pages < Self.pageLimit
        if let failure { throw failure }
    }

    private func page(_ next: String?) async throws -> JSON {
        var path = "\(RequestedCertificate.list(in: self.namespace))?limit=\(Self.pageSize)"
        if let next { path += "&continue=\(APIClient.escaped(next))" }
        let answer = try await self.kubernetes.send("GET", path)
        guard answer.status == 200 else { throw Self.failure(answer, "list cert-manager's requests") }
        return try answer.json
    }

    private static func failure(_ answer: APIClient.Answer, _ deed: String) -> CommandFailure {
        CommandFailure(
            "the Kubernetes API refused to \(deed): \((try? answer.json)?["message"]?.stringValue ?? "status \(answer.status)")",
            advice: answer.status == 403 || answer.status == 401
                ? "Give the service account the permissions of `pinledger handbook renewals`." : nil,
            status: .unreachable)
    }

    private func look(at request: RequestedCertificate) async throws {
        guard request.decision != .over else { return }
        let hosts = request.hosts(of: self.hosts)
        guard !hosts.isEmpty else {
            guard self.approvesOthers, request.decision == .open else { return }
            return try await self.approve(request, "It is for no pinned host.")
        }
        let group = RenewalGroup(app: self.app, hosts: hosts)
        let verdict = try await self.verdict(on: request, group)
        guard request.decision == .open else { return }
        switch verdict {
        case .approve(let reason): try await self.approve(request, reason)
        case .wait(let lines):
            Console.line("\(request.namespace)/\(request.name) (\(hosts.joined(separator: ", "))) waits:")
            for line in lines { Console.line("  \(line)") }
        }
    }

    private func approve(_ request: RequestedCertificate, _ reason: String) async throws {
        let body = request.approved(reason, at: Node.clock())
        let answer = try await self.kubernetes.send("PUT", request.path, body: body.canonicalBytes)
        // It was changed meanwhile: the next look sees what it is now.
        guard answer.status != 409 else { return }
        guard answer.status == 200 else { throw Self.failure(answer, "approve \(request.namespace)/\(request.name)") }
        Console.print("\(request.namespace)/\(request.name): approved. \(reason)")
    }

    // MARK: The rotation

    /// Begins the rotation to a request's key, or does the next thing for it.
    private func verdict(on request: RequestedCertificate, _ group: RenewalGroup) async throws -> Verdict {
        let path = RotationCommands.path(self.app)
        let known = (try await self.client.get(path)["rotations"]?.arrayValue ?? []).filter {
            group.isServed(by: $0, request.pin)
        }
        func phase(of rotation: JSON) -> Rotation.Phase? { rotation["phase"]?.stringValue.flatMap(Rotation.Phase.init) }
        if let open = known.first(where: { phase(of: $0)?.isOver == false }) {
            return try await self.verdict(on: open.text("rotation"), of: request, group)
        }
        let standings = try await group.standings(of: request.pin, self.client)
        if standings.allSatisfy(\.isPrimary) {
            let wait = self.goals["sufficient_wait_seconds"]?.integerValue ?? Rotation.Goals().sufficientWait
            guard known.contains(where: { phase(of: $0) == .done }) || standings.allSatisfy({ $0.isKnown(for: wait) })
            else { return .wait(["Clients must have its key, which is a primary already."]) }
            return .approve("Its key is pinned.")
        }
        guard request.decision == .open else { return .wait([]) }
        if let aborted = known.last(where: { phase(of: $0) == .aborted }) {
            return .wait([
                "The rotation \(aborted.text("rotation")) to its key was aborted. Deny the request, or make its key the primary."
            ])
        }
        try RenewalGroup.checkOneKey(standings)
        return try await self.begin(request, group)
    }

    private func begin(_ request: RequestedCertificate, _ group: RenewalGroup) async throws -> Verdict {
        let id = "renewal-\(Hex.encode(Array(request.pin.bytes.prefix(8))))"
        var members: [String: JSON] = [
            "rotation": .string(id), "hosts": .array(group.hosts.map { .string($0) }),
            "next": ["material": .string(request.request)],
        ]
        if !self.goals.isEmpty { members["goals"] = .object(self.goals) }
        var options = ChangeOptions.none
        options.reason = "requested by cert-manager, \(request.namespace)/\(request.name)"
        do {
            _ = try await self.client.change("POST", RotationCommands.path(self.app), members, options)
        } catch let failure as CommandFailure where failure.problem == "/problems/rotation_state" {
            return .wait([failure.message])
        }
        Console.print(
            "\(group.hosts.joined(separator: ", ")): the rotation \(id) publishes the next key, \(request.pin).")
        return .wait(["The rotation \(id) is in the phase deliver."])
    }

    private func verdict(
        on id: String, of request: RequestedCertificate, _ group: RenewalGroup
    ) async throws -> Verdict {
        let path = "\(RotationCommands.path(self.app))/\(APIClient.escaped(id))"
        var rotation = try await self.client.get(path)
        guard let phase = rotation["phase"]?.stringValue.flatMap(Rotation.Phase.init) else {
            throw CommandFailure(
                "the server names the phase \(rotation.text("phase")), which this program does not know")
        }
        // The phases of an emergency are for people: the next one revokes a key.
        let isOurs = rotation["kind"] == "planned"
        switch phase {
        case .deliver:
            guard isOurs, rotation["ready"] == true else { return .wait(Self.waits(rotation, id, phase)) }
            try await RenewalGroup.advance(path, from: phase, self.client)
            return .approve("Clients have its key (rotation \(id)).")
        case .switch, .settle, .cleanUp:
            if [.switch, .settle].contains(phase), request.decision == .approved {
                await group.probe(self.client)
                rotation = try await self.client.get(path)
            }
            if isOurs, rotation["ready"] == true, request.decision == .approved {
                try await RenewalGroup.advance(path, from: phase, self.client)
                Console.print("The rotation \(id) has left the phase \(phase.rawValue).")
            }
            return .approve("Clients have its key (rotation \(id)).")
        case .done: return .approve("Its key is pinned.")
        case .aborted: return .wait(["The rotation \(id) was aborted."])
        }
    }

    private static func waits(_ rotation: JSON, _ id: String, _ phase: Rotation.Phase) -> [String] {
        ["The rotation \(id) is in the phase \(phase.rawValue)."]
            + (rotation["waits_for"]?.arrayValue ?? []).filter { $0.text("met") != "yes" }
            .map { "\($0.text("what")): \($0.said("detail"))" }
    }
}
