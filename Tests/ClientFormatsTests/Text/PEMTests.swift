import ClientFormats
import PinWire
import Testing

@Suite struct `A block of PEM` {
    @Test(arguments: [(0, []), (48, [64]), (49, [64, 4]), (96, [64, 64])])
    func `a PEM block has lines of 64 characters`(count: Int, lengths: [Int]) {
        let lines = PEM.text(Array(repeating: 7, count: count), .certificate).split(
            separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.first == "-----BEGIN CERTIFICATE-----" && lines.suffix(2) == ["-----END CERTIFICATE-----", ""])
        #expect(lines.dropFirst().dropLast(2).map(\.utf8.count) == lengths)
    }

    @Test func `a PEM block names its content`() {
        #expect(PEM.text([1, 2, 3], .publicKey) == "-----BEGIN PUBLIC KEY-----\nAQID\n-----END PUBLIC KEY-----\n")
    }
}
