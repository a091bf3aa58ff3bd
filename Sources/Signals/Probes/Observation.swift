import Addresses
import KeyFiles
package import PinWire
package import Pinning
import Probing

/// The result of one probe of an endpoint, ready to be recorded.
package struct Observation: Hashable, Sendable {
    /// A chain that one address presented, in the path that clients build (``Probing/ObservedChain/path``).
    package struct ObservedChain: Hashable, Sendable {
        package var address: String
        /// SHA-256 of the certificates in DER, one after the other: 32 bytes.
        package var chainDigest: [UInt8]
        /// The server's own first. An unreadable certificate and those behind it are left out.
        package var certificates: [CertificateFacts]
        /// Whether the probe saw all chains of its address. Where the question for the other kind of key failed, it
        /// says nothing about the chain for that kind.
        package var isComplete: Bool
    }

    package var endpoint: Endpoint
    /// The place in the network from which it was seen.
    package var vantage: String
    package var at: Timestamp
    package var chains: [ObservedChain]
    /// The result at each address, for people and for the API.
    package var outcome: JSON
    /// Whether it is about the endpoint, rather than about this machine and its network.
    package var isEvidence: Bool
    /// The certificates of the chains in DER, by their SHA-256. Not recorded.
    package var material: [[UInt8]: [UInt8]] = [:]
    /// Why no address, or the first that did not, presented a chain, as a sentence; nil where all of them did.
    package var failure: String?
}

extension Observation {
    /// Reads a probe's report. Parses certificates, which takes milliseconds: not for an event loop.
    init(_ report: ProbeReport, of endpoint: Endpoint, from vantage: String, at time: Timestamp) {
        self.endpoint = endpoint
        self.vantage = vantage
        self.at = time
        self.isEvidence = report.isEvidence
        var observed: [ObservedChain] = []
        var addresses: [JSON] = []
        var material: [[UInt8]: [UInt8]] = [:]
        var failure = report.failure?.reason
        for entry in report.addresses {
            switch entry.outcome {
            case .failed(let reason):
                failure = failure ?? reason.reason
                addresses.append(["address": .string(entry.address.description), "failure": reason.json])
            case .served(let service):
                let isComplete = if case .unknown = service.otherKind { false } else { true }
                var chains: [JSON] = []
                for chain in service.chains {
                    let sent = Self.facts(chain.certificates)
                    let path = chain.path == chain.certificates ? sent : Self.facts(chain.path)
                    let made = ObservedChain(
                        address: entry.address.description, chainDigest: sha256(chain.path.flatMap(\.self)),
                        certificates: path, isComplete: isComplete
                    )
                    if !path.isEmpty { observed.append(made) }
                    for certificate in chain.path { material[sha256(certificate)] = certificate }
                    chains.append(chain.json(sent: sent, path: path))
                }
                var members: [String: JSON] = [
                    "address": .string(entry.address.description), "chains": .array(chains),
                ]
                if case .unknown(let failure) = service.otherKind { members["other_kind_failure"] = failure.json }
                addresses.append(.object(members))
            }
        }
        self.chains = observed
        self.material = material
        self.failure = failure
        self.outcome = .members([
            "endpoint": .string(endpoint.description),
            "vantage": .string(vantage),
            "at": .string(time.rfc3339),
            "addresses": .array(addresses),
            "omitted_addresses": report.omitted.isEmpty
                ? nil : .array(report.omitted.map { .string($0.description) }),
            "failure": report.failure?.json,
        ])
    }

    private static func facts(_ chain: [[UInt8]]) -> [CertificateFacts] {
        var facts: [CertificateFacts] = []
        for certificate in chain {
            guard let next = try? CertificateFacts(der: certificate) else { break }
            facts.append(next)
        }
        return facts
    }
}

extension ProbeFailure {
    fileprivate var json: JSON {
        [
            "stage": .string(self.stage.rawValue), "kind": .string(self.kind.rawValue),
            "reason": .string(self.reason),
        ]
    }
}

extension Probing.PresentedChain {
    fileprivate func json(sent: [CertificateFacts], path: [CertificateFacts]) -> JSON {
        var members: [String: JSON] = [
            "certificates": .array(sent.map(\.json)),
            "path": .array(
                path.map { certificate in
                    [
                        "pin": .string(certificate.key.pin.description), "subject": .string(certificate.subject),
                        "sent": .bool(sent.contains { $0.sha256 == certificate.sha256 }),
                    ]
                }),
            "certificate_count": .integer(Int64(self.certificates.count)),
            "tls_version": .string(self.version),
            "key_kind": .string(self.keyKind.rawValue),
        ]
        members["cipher"] = self.cipher.map { .string($0) }
        members["signature"] = self.signature.map { .string($0.rawValue) }
        members["incompletion"] = self.incompletion.map { .string($0) }
        switch self.verification {
        case .valid: members["verification"] = "valid"
        case .unknown: members["verification"] = "unknown"
        case .invalid(_, let reason):
            members["verification"] = "invalid"
            members["verification_failure"] = .string(reason)
        }
        return .object(members)
    }
}

extension Endpoint {
    /// The endpoint as the target of a probe.
    var target: ProbeTarget {
        ProbeTarget(
            name: self.host, port: self.port,
            startTLS: self.startTLS.flatMap { Probing.StartTLS(rawValue: $0.rawValue) }
        )
    }
}
