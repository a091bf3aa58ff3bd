import PinWire
import PinledgerClient
import Testing

@Suite("The chains that a session delegate let through")
struct AcceptedChainsTests {
    private let chains = AcceptedChains()
    private let good = [Fixed.pin(1)]
    private let bad = [Fixed.pin(2)]

    private func takeRefused() -> AcceptedChains.Refused { self.chains.takeRefused { _, chain in chain == self.bad } }

    @Test("Refused chains are taken out once, and those that are not stay to be judged again")
    func taken() {
        self.chains.insert(self.bad, of: "API.example.com.")
        self.chains.insert(self.good, of: "api.example.com")
        self.chains.insert(self.good, of: "b.example.com")
        let first = self.takeRefused()
        #expect(
            first.named == ["api.example.com"] && first.contains("api.example.com") && !first.contains("b.example.com"))
        #expect(self.takeRefused().named.isEmpty)
        #expect(!self.chains.containsRefused { _, chain in chain == self.bad })
        #expect(self.chains.containsRefused { host, _ in host == "b.example.com" })
        let later = self.chains.takeRefused { host, _ in host == "api.example.com" }
        #expect(later.named == ["api.example.com"])
    }

    @Test("A host with more chains than are remembered counts as refused where it refuses unknown ones")
    func crowded() {
        for number in 0..<UInt8(AcceptedChains.chainLimit) {
            self.chains.insert([Fixed.pin(number + 10)], of: "a.example.com")
        }
        #expect(self.takeRefused().named.isEmpty)
        self.chains.insert(self.good, of: "a.example.com")
        #expect(self.takeRefused().named.isEmpty)
        let refused = self.chains.takeRefused { _, chain in chain.isEmpty }
        #expect(refused.named == ["a.example.com"])
        #expect(self.chains.takeRefused { _, chain in chain.isEmpty }.named.isEmpty)
    }

    @Test("Beyond the hosts that are remembered every other host counts so")
    func full() {
        for number in 0..<AcceptedChains.hostLimit { self.chains.insert(self.good, of: "h\(number).example.com") }
        func takeUnknown() -> AcceptedChains.Refused { self.chains.takeRefused { _, chain in chain.isEmpty } }
        #expect(!takeUnknown().contains("other.example.com"))
        self.chains.insert(self.bad, of: "other.example.com")
        #expect(!self.takeRefused().contains("other.example.com"))
        let refused = takeUnknown()
        #expect(refused.contains("other.example.com") && !refused.contains("h7.example.com"))
    }
}
