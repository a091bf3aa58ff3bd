import PinWire
import Pinning

/// The hosts of an app that one certificate is for, and what the server says of a key for them.
struct RenewalGroup {
    let app: String
    let hosts: [String]

    /// What a host's policies say of a key.
    struct Standing {
        let host: String
        /// How many active primary pins the baseline has.
        let primaries: Int
        /// Whether the key is one of them.
        let isPrimary: Bool
        /// Since when each policy of the host has accepted the key; nil for one that does not.
        let since: [Timestamp?]

        /// Whether clients have got documents with the key: all policies have had it for so many seconds.
        func isKnown(for seconds: Int64) -> Bool {
            self.since.allSatisfy { $0.map { Node.clock().seconds - $0.seconds >= seconds } ?? false }
        }
    }

    /// Whether a rotation brings a key to all hosts.
    func isServed(by rotation: JSON, _ pin: Pin) -> Bool {
        let hosts = Set(rotation["hosts"]?.arrayValue?.compactMap { $0.stringValue?.lowercased() } ?? [])
        return rotation["next"]?.stringValue == pin.description
            && hosts.isSuperset(of: self.hosts.map { $0.lowercased() })
    }

    func standings(of pin: Pin, _ client: APIClient) async throws -> [Standing] {
        var standings: [Standing] = []
        for host in self.hosts {
            let answer = try await client.get(self.path(of: host))
            let policies = ["baseline", "candidate"].compactMap { answer[$0]?["pins"]?.arrayValue }
            let active = policies.map { $0.filter { $0["state"] == "active" } }
            let primaries = active.first?.filter { $0["role"] == "primary" } ?? []
            standings.append(
                Standing(
                    host: host, primaries: primaries.count,
                    isPrimary: primaries.contains { $0["pin"]?.stringValue == pin.description },
                    since: active.map { pins in
                        pins.first { $0["pin"]?.stringValue == pin.description }?["since"]?.stringValue
                            .flatMap { Timestamp(rfc3339: $0) }
                    }))
        }
        return standings
    }

    /// Refuses hosts with several primary keys: a rotation replaces them all.
    static func checkOneKey(_ standings: [Standing]) throws {
        for standing in standings where standing.primaries > 1 {
            throw CommandFailure(
                "\(standing.host) has \(standing.primaries) primary pins, and a rotation would retire all of them",
                advice:
                    "Servers with several keys (RSA and ECDSA) are rotated by hand, with the commands of pins. Or make one key the primary.",
                status: .refused)
        }
    }

    /// Ends a phase of a rotation. Where someone else was faster, the next look shows it.
    ///
    /// - Parameter reason: Why it is ended whatever it waits for; nil where it waits for nothing.
    static func advance(
        _ path: String, from phase: Rotation.Phase, _ client: APIClient, insisting reason: String? = nil
    ) async throws {
        var options = ChangeOptions.none
        options.reason = reason ?? DeploymentRun.reason
        options.force = reason != nil
        do {
            _ = try await client.change("POST", "\(path)/advance", ["from": .string(phase.rawValue)], options)
        } catch let failure as CommandFailure where failure.problem == "/problems/rotation_state" {}
    }

    /// Has the server look at what the hosts present. What it cannot see, its nodes may see later.
    func probe(_ client: APIClient) async {
        for host in self.hosts where !host.hasPrefix("*.") {
            let known = (try? await client.get(self.path(of: host)))?["endpoints"]?.arrayValue?.compactMap(
                \.stringValue)
            for endpoint in known.flatMap({ $0.isEmpty ? nil : $0 }) ?? [host] {
                let body: JSON = ["endpoint": .string(endpoint)]
                _ = try? await client.send("POST", "/v1/probes", body: body.canonicalBytes)
            }
        }
    }

    private func path(of host: String) -> String {
        "/v1/apps/\(APIClient.escaped(self.app))/hosts/\(APIClient.escaped(host))"
    }
}
