import PinWire
import Testing

@testable import Pinning

/// Which bytes of keys and certificates the state has a name for.
@Suite struct `The digests that a state knows` {
    private func state(_ commands: [AppCommand]) throws -> LedgerState {
        var state = LedgerState()
        state.apps.insert(try #require(try given(commands)))
        return state
    }

    @Test func `known digests are those of keys, of their certificates, and of pins without further facts`() throws {
        let certificate = expiring(1, to: 200)
        let state = try self.state([
            .addHost(
                api, includesSubdomains: false, mode: .enforce,
                pins: [
                    .init(pin: pin(1), role: .primary, evidence: .certificate(certificate)), new(2, .backup),
                    new(3, .emergency, isActive: false),
                ])
        ])
        let foreign: Set<[UInt8]> = [sha256([200]), pin(9).bytes]
        let known: Set<[UInt8]> = [pin(1).bytes, certificate.sha256, pin(2).bytes, pin(3).bytes]
        #expect(state.unnamed(known.union(foreign)) == foreign)
        #expect(LedgerState().unnamed(known) == known)
        #expect(state.unnamed([]) == [])
    }

    @Test func `known digests stay known while the key is, whatever becomes of its pin`() throws {
        let certificate = expiring(3, to: 200)
        let state = try self.state([
            .addHost(
                api, includesSubdomains: false, mode: .enforce, pins: [new(1, .primary), new(2, .backup)]),
            .addPin(api, .baseline, .init(pin: pin(3), role: .backup, evidence: .certificate(certificate))),
            .retirePin(api, .baseline, pin(3)),
        ])
        #expect(state.unnamed([certificate.sha256, pin(3).bytes]) == [])
    }

    @Test func `known digests of evidence are the key and the certificate that was shown`() {
        let certificate = expiring(1, to: 200)
        #expect(KeyEvidence.certificate(certificate).digests == [pin(1).bytes, certificate.sha256])
        #expect(KeyEvidence.publicKey(certificate.key).digests == [pin(1).bytes])
        #expect(KeyEvidence.request(certificate.key, subject: "", dnsNames: []).digests == [pin(1).bytes])
        #expect(KeyKnowledge(.certificate(certificate)).digests == [pin(1).bytes, certificate.sha256])
    }
}
