import EventStore
import Testing
import TransparencyLog

/// What a node takes for another one's word about the ledger's end.
@Suite struct VouchedEndTests {
    private static let end = VouchedEnd(position: 7, epoch: 2, root: MerkleTree.leafHash([1]))
    private static let challenge = [UInt8](repeating: 9, count: VouchedEnd.challengeLength)

    /// A signature is a hash here, which everyone could make: what a real one is worth, the tests of whole servers show.
    private static func sign(_ message: [UInt8], _ key: UInt8) -> [UInt8] {
        MerkleTree.leafHash([key] + message).bytes + MerkleTree.leafHash(message + [key]).bytes
    }

    private static func publicKey(_ key: UInt8) -> [UInt8] { [UInt8](repeating: key, count: 32) }

    private static func verifier(_ key: UInt8) -> BatchVerifier {
        BatchVerifier(publicKey: self.publicKey(key)) { $0 == self.sign($1, key) }
    }

    private static let keys = BatchKeys(
        BatchKey(
            id: [UInt8](repeating: 1, count: 8), signer: BatchSigner(publicKey: publicKey(1)) { sign($0, 1) },
            { MerkleTree.leafHash($0).bytes }))

    @Test func `an answer is read by those who know its key`() throws {
        let answer = try #require(Self.end.answer(to: Self.challenge, by: Self.keys))
        #expect(answer.count == 120)
        let verifiers = [Self.verifier(2), Self.verifier(1)]
        #expect(VouchedEnd(answer: answer, to: Self.challenge, verifiedBy: verifiers) == Self.end)
    }

    @Test func `an answer to another challenge, of another key, or altered in any byte, is none`() throws {
        let answer = try #require(Self.end.answer(to: Self.challenge, by: Self.keys))
        var other = Self.challenge
        other[31] ^= 1
        #expect(VouchedEnd(answer: answer, to: other, verifiedBy: [Self.verifier(1)]) == nil)
        #expect(VouchedEnd(answer: answer, to: Self.challenge, verifiedBy: [Self.verifier(2)]) == nil)
        #expect(VouchedEnd(answer: answer, to: Self.challenge, verifiedBy: []) == nil)
        for index in answer.indices {
            var altered = answer
            altered[index] ^= 1
            #expect(
                VouchedEnd(answer: altered, to: Self.challenge, verifiedBy: [Self.verifier(1)]) == nil, "byte \(index)")
        }
        for length in [0, 1, 47, 48, 119] {
            let short = Array(answer.prefix(length))
            #expect(
                VouchedEnd(answer: short, to: Self.challenge, verifiedBy: [Self.verifier(1)]) == nil, "\(length) bytes")
        }
    }

    @Test(arguments: [(-1, 0), (0, 0), (1, -1), (.max, 0)] as [(Int64, Int64)])
    func `numbers that no ledger has are none, signed or not`(_ position: Int64, _ epoch: Int64) throws {
        let end = VouchedEnd(position: position, epoch: epoch, root: MerkleTree.leafHash([1]))
        let answer = try #require(end.answer(to: Self.challenge, by: Self.keys))
        #expect(VouchedEnd(answer: answer, to: Self.challenge, verifiedBy: [Self.verifier(1)]) == nil)
    }

    @Test func `a node without what signs vouches for nothing`() {
        let keys = BatchKeys(BatchKey(id: [UInt8](repeating: 1, count: 8)) { MerkleTree.leafHash($0).bytes })
        #expect(Self.end.answer(to: Self.challenge, by: keys) == nil)
    }
}
