import Foundation
import PinWire
import Pinning
import Probing

@testable import Signals

let probeTime = Timestamp(seconds: 1_800_000_000)

extension Timestamp {
    static func + (time: Timestamp, seconds: Int64) -> Timestamp { time.adding(seconds: seconds) }
}

func endpoint(_ text: String = "h0.example.com") throws -> Endpoint { try Endpoint(text) }

/// The facts of a certificate that nobody made: the same for the same number.
func certificate(_ number: Int, _ algorithm: String = "ec") -> CertificateFacts {
    let digest = sha256(Array("\(algorithm) \(number)".utf8))
    guard let pin = Pin(bytes: digest) else { preconditionFailure("a digest has 32 bytes") }
    return CertificateFacts(
        key: KeyFacts(
            pin: pin, algorithm: algorithm, bits: 256, spkiSHA512: digest + digest, rawKeySHA256: digest),
        sha256: digest, sha1: Array(digest.prefix(20)), subject: "CN=\(number)", issuer: "CN=issuer", commonName: nil,
        dnsNames: [], ipAddresses: [], serial: "\(number)", notBefore: probeTime + -86_400,
        notAfter: probeTime + 86_400,
        isCA: false, isSelfSigned: false
    )
}

/// A probe that found at each address the chains of those certificates.
func observation(
    _ chains: [String: [CertificateFacts]], at time: Timestamp, from vantage: String = "here", isComplete: Bool = true
) throws -> Observation {
    let observed = chains.sorted { $0.key < $1.key }.flatMap { address, leaves in
        leaves.map {
            Observation.ObservedChain(
                address: address, chainDigest: $0.sha256, certificates: [$0], isComplete: isComplete)
        }
    }
    return Observation(
        endpoint: try endpoint(), vantage: vantage, at: time, chains: observed,
        outcome: ["at": .string(time.rfc3339), "vantage": .string(vantage)], isEvidence: true
    )
}

extension ObservationSummary {
    /// The subjects of what is current, with the address each is seen at.
    func current() throws -> Set<String> {
        let chains = self.facts(of: try endpoint())?.chains ?? []
        return Set(chains.filter(\.isCurrent).map { "\($0.address) \($0.certificates[0].subject)" })
    }
}

/// Certificates in DER that the openssl program made, by itself each: one for a key on a curve, one for RSA.
struct MadeCertificates {
    /// Made once for all tests.
    static let shared = Result { try MadeCertificates() }

    let ec: [UInt8]
    let rsa: [UInt8]

    private init() throws {
        self.ec = try Self.make("ec -pkeyopt ec_paramgen_curve:P-256")
        self.rsa = try Self.make("rsa:2048")
    }

    private static func make(_ key: String) throws -> [UInt8] {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/bash")
        process.arguments = [
            "-euc", "openssl req -x509 -newkey \(key) -nodes -keyout /dev/null -subj /CN=made -outform der 2>/dev/null",
        ]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return Array(bytes)
    }
}
