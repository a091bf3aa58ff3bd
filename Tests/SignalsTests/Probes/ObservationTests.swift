import Addresses
import PinWire
import Probing
import Testing

@testable import Signals

/// What is kept of a probe's report.
@Suite struct `An observation` {
    private func observation(_ outcome: AddressReport.Outcome) throws -> Observation {
        let endpoint = try endpoint()
        let address = try #require(IPAddress("192.0.2.1"))
        let report = ProbeReport(
            target: endpoint.target, addresses: [AddressReport(address: address, outcome: outcome)])
        return Observation(report, of: endpoint, from: "here", at: probeTime)
    }

    @Test func `an observation is of the path that clients build, and says what was sent`() throws {
        let made = try MadeCertificates.shared.get()
        let chain = PresentedChain(
            certificates: [made.ec, made.ec], path: [made.ec, made.rsa], keyKind: .ecdsa, version: "TLSv1.3",
            verification: .valid)
        let observation = try self.observation(.served(ServedChains(chains: [chain], otherKind: .absent)))
        let observed = try #require(observation.chains.first)
        #expect(observed.certificates.map(\.key.algorithm) == ["ec", "rsa"] && observed.isComplete)
        #expect(observed.chainDigest == sha256(made.ec + made.rsa))
        let told = observation.outcome["addresses"]?.arrayValue?.first?["chains"]?.arrayValue?.first
        let sent = told?["certificates"]?.arrayValue?.map { $0["key"]?["algorithm"] }
        #expect(sent == ["ec", "ec"])
        #expect(told?["path"]?.arrayValue?.map { $0["sent"] } == [true, false])
    }

    @Test func `an observation is incomplete where the question for the other kind of key failed`() throws {
        let made = try MadeCertificates.shared.get()
        let chain = PresentedChain(certificates: [made.ec], keyKind: .ecdsa, version: "TLSv1.3")
        for (other, isComplete) in [
            (ServedChains.OtherKind.absent, true), (.notAsked, true),
            (.unknown(ProbeFailure(.handshake, .timedOut, "it was slow")), false),
        ] {
            let observation = try self.observation(.served(ServedChains(chains: [chain], otherKind: other)))
            #expect(observation.chains.map(\.isComplete) == [isComplete])
        }
    }

    @Test func `an observation keeps nothing of an unreadable chain`() throws {
        let chain = PresentedChain(certificates: [[1, 2, 3]], keyKind: .other, version: "TLSv1.3")
        #expect(try self.observation(.served(ServedChains(chains: [chain], otherKind: .absent))).chains.isEmpty)
    }
}
