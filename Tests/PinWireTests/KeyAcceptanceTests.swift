import Testing

@testable import PinWire

@Suite struct `A key's acceptance` {
    private func acceptance(_ algorithm: String, _ curve: String?) throws -> KeyAcceptance {
        KeyFacts(
            pin: try #require(Pin(bytes: Array(repeating: 1, count: 32))), algorithm: algorithm, bits: 256,
            curve: curve,
            spkiSHA512: [], rawKeySHA256: []
        ).acceptance
    }

    @Test(arguments: [("rsa", nil), ("ec", "P-256"), ("ec", "P-384")] as [(String, String?)])
    func `every client takes keys of the common kinds`(algorithm: String, curve: String?) throws {
        #expect(try self.acceptance(algorithm, curve) == .everywhere)
    }

    @Test(
        arguments: [
            ("ec", "P-521", "Android"), ("ed25519", nil, "an Ed25519 key"), ("ed448", nil, "an Ed448 key"),
            ("rsa-pss", nil, "PSS"), ("sm2", "SM2", "sm2"), ("ml-dsa-65", nil, "ml-dsa-65"),
        ] as [(String, String?, String)])
    func `some clients refuse keys of rare kinds`(algorithm: String, curve: String?, words: String) throws {
        guard case .inPlaces(let reason) = try self.acceptance(algorithm, curve) else {
            Issue.record("\(algorithm) is taken everywhere, or nowhere")
            return
        }
        #expect(reason.contains(words))
    }

    @Test(
        arguments: [
            ("ec", "P-192"), ("ec", "P-224"), ("ec", "secp256k1"), ("ec", "brainpoolP384r1"), ("ec", nil),
            ("dsa", nil), ("x25519", nil), ("x448", nil), ("dh", nil),
        ] as [(String, String?)])
    func `no client takes keys of other curves, or that cannot sign`(algorithm: String, curve: String?) throws {
        guard case .nowhere = try self.acceptance(algorithm, curve) else {
            Issue.record("\(algorithm) \(curve ?? "") is taken somewhere")
            return
        }
    }
}
