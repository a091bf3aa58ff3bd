import ArgumentParser
import Foundation
import PinWire
import Pinning

struct ProbeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "probe",
        abstract: "Show the certificate chain that a host serves, as the server sees it.",
        discussion: """
            pinledger probe api.example.com
            pinledger probe mail.example.com:587 --starttls smtp

            The server connects to every address of the name, for RSA and for ECDSA keys. If an app has the host, the \
            result is recorded as an observation. It never makes a key trusted.
            """
    )
    @Argument(help: ArgumentHelp("The host to probe, port 443 by default.", valueName: "host[:port]")) var host: String
    @Option(help: "Protocol that is spoken before TLS.") var starttls: Endpoint.StartTLS?
    @OptionGroup var remote: RemoteOptions

    func run() async throws {
        let text = self.host + (self.starttls.map { "+\($0.rawValue)" } ?? "")
        let endpoint: Endpoint
        do { endpoint = try Endpoint.requested(text) } catch {
            throw CommandFailure("\(text) \(error)", status: .usage)
        }
        try await self.remote.withClient { client in
            let body: JSON = ["endpoint": .string(endpoint.description)]
            let answer = try await client.send("POST", "/v1/probes", body: body.canonicalBytes)
            try answer.check()
            let json = try answer.json
            if !self.remote.output.isTable { Console.print(json, self.remote.output) } else { Self.print(json) }
            let served = (json["addresses"]?.arrayValue ?? []).contains { $0["chains"] != nil }
            if !served { throw CommandFailure("no address of \(endpoint) presented a chain", status: .notVerified) }
        }
    }

    private static func print(_ json: JSON) {
        Console.print("\(json.text("endpoint")) seen from \(json.text("vantage")) at \(json.time("at"))")
        if let failure = json["failure"] { Console.print("  \(failure.text("reason"))") }
        let keys = Dictionary(
            (json["keys"]?.arrayValue ?? []).map { ($0.text("pin"), $0) }, uniquingKeysWith: { first, _ in first })
        for address in json["addresses"]?.arrayValue ?? [] {
            if let failure = address["failure"] {
                Console.print("  \(address.text("address")): \(failure.text("reason"))")
            }
            for chain in address["chains"]?.arrayValue ?? [] {
                let trust = chain["verification_failure"]?.stringValue ?? chain.text("verification")
                Console.print(
                    "  \(address.text("address")): \(chain.text("tls_version")), \(chain.text("key_kind")), chain \(trust)"
                )
                let path = chain["path"]?.arrayValue ?? []
                for certificate in chain["certificates"]?.arrayValue ?? [] {
                    let pin = certificate["key"]?.text("pin") ?? "-"
                    let isLinked = path.contains { $0.text("pin") == pin }
                    let standing = isLinked ? Self.standing(keys[pin]) : "not part of the path that clients verify"
                    Console.print("    \(pin)  \(certificate.text("subject"))")
                    Console.print("      until \(certificate.time("not_after")); \(standing)")
                }
                for certificate in path where certificate["sent"] == false {
                    let pin = certificate.text("pin")
                    Console.print("    \(pin)  \(certificate.text("subject"))")
                    Console.print("      not sent, but clients have it; \(Self.standing(keys[pin]))")
                }
            }
        }
    }

    /// Whether the key had been seen before, and who has pinned it.
    private static func standing(_ key: JSON?) -> String {
        guard let key else { return "-" }
        let pinned = (key["pinned_by"]?.arrayValue ?? []).map { place in
            "\(place.text("state")) \(place.text("role")) of \(place.text("host")) in \(place.text("app"))"
        }
        return (key["seen_before"] == true ? "seen before" : "not seen before") + "; "
            + (pinned.isEmpty ? "pinned nowhere" : pinned.joined(separator: ", "))
    }
}
