import Keys
import Testing

@Suite struct `Secure bytes and randomness` {
    @Test func `secure bytes hold what was put in`() {
        let bytes = Array("secret".utf8)
        let secret = SecureBytes(copying: bytes)
        #expect(secret.count == 6)
        #expect(secret.withUnsafeBytes { [UInt8]($0) } == bytes)
        #expect(secret.isEqual(to: SecureBytes(copying: bytes)))
        #expect(!secret.isEqual(to: SecureBytes(copying: Array("secreT".utf8))))
        #expect(!secret.isEqual(to: SecureBytes(copying: [])))
        #expect(SecureBytes(copying: []).isEqual(to: SecureBytes(copying: [])))
    }

    @Test func `a fill that fails passes its error on`() {
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try SecureBytes(count: 32) { _ throws(Stop) in throw Stop() }
        }
    }

    @Test func `secure bytes never show themselves`() {
        let secret = SecureBytes(copying: Array("hunter2".utf8))
        var dumped = ""
        dump(secret, to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), dumped] {
            #expect(!text.contains("hunter2"))
            #expect(!text.contains("104"))
        }
    }

    @Test func `writing to a secret's memory ends the process`() async {
        await #expect(processExitsWith: .failure) {
            SecureBytes(copying: [1, 2, 3]).withUnsafeBytes { bytes in
                UnsafeMutableRawPointer(mutating: bytes.baseAddress)?.storeBytes(of: 9, as: UInt8.self)
            }
        }
    }

    @Test func `wiping a secret leaves zeros`() {
        var bytes = Array("secret".utf8)
        SecureBytes.wipe(&bytes)
        #expect(bytes == [0, 0, 0, 0, 0, 0])
        var none: [UInt8] = []
        SecureBytes.wipe(&none)
        #expect(none.isEmpty)
    }

    @Test func `random bytes have the length asked for and do not repeat`() {
        #expect(Random.bytes(0).isEmpty)
        #expect(Random.bytes(32).count == 32)
        #expect(Set((0..<1000).map { _ in Random.bytes(16) }).count == 1000)
    }

    @Test func `random characters are all used, none much more than another`() {
        var counts: [Character: Int] = [:]
        for character in Random.base62(62_000) {
            counts[character, default: 0] += 1
        }
        #expect(counts.count == 62)
        // 1,000 expected; seven standard deviations of 31.
        #expect(counts.values.allSatisfy { (780...1220).contains($0) })
    }

    @Test func `bytes are equal only when all are`() {
        #expect(ConstantTime.areEqual([], []))
        #expect(ConstantTime.areEqual([1, 2], [1, 2]))
        #expect(!ConstantTime.areEqual([1, 2], [1, 3]))
        #expect(!ConstantTime.areEqual([1, 2], [1, 2, 0]))
    }
}
