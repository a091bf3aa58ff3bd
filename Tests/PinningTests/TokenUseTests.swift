import Addresses
import PinWire
import Testing

@testable import Pinning

@Suite struct `The use of a token` {
    /// A token, or none, and from which networks it was used: the number of each, and when it was first, in hours before noon.
    struct Case: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var uses: [(number: Int, hours: Int64)]
        var networks: [String]

        init(_ description: String, _ uses: [(Int, Int64)], new networks: [String]) {
            self.testDescription = description
            self.uses = uses.map { (number: $0.0, hours: $0.1) }
            self.networks = networks
        }
    }

    private static func use(_ number: Int, hours: Int64) -> TokenUse {
        let first = noon.adding(seconds: -hours * 3600)
        return TokenUse(token: "tok_1", network: network("10.0.\(number).0/24"), firstAt: first, lastAt: first)
    }

    static let table = [
        Case("a token that is used from one network is nothing new", [(1, 100)], new: []),
        Case("a token that is used from another one after a day is new", [(1, 100), (2, 5)], new: ["10.0.2.0/24"]),
        Case("a token that is used from two on the first day is nothing new", [(1, 20), (2, 5)], new: []),
        Case("a network is not new any more after a week", [(1, 500), (2, 168)], new: []),
        Case("a network is new for just a week", [(1, 500), (2, 167)], new: ["10.0.2.0/24"]),
        Case(
            "a token that is used from several is told with the latest first", [(1, 500), (2, 90), (3, 4)],
            new: ["10.0.3.0/24", "10.0.2.0/24"]),
        Case(
            "a token that is used from nine before makes the tenth new", (1...9).map { ($0, 200) } + [(10, 1)],
            new: ["10.0.10.0/24"]),
        Case(
            "a token that is used from ten before makes the next one nothing new",
            (1...10).map { ($0, 200) } + [(11, 1)], new: []),
    ]

    @Test(arguments: Self.table)
    func `a network is new for a token that was used from few others`(_ table: Case) {
        let uses = table.uses.map { Self.use($0.number, hours: $0.hours) }
        #expect(TokenUse.fromNewNetworks(uses, at: noon).map(\.network.description) == table.networks)
    }

    /// The items for a token that was used from a network, and then from another one.
    private func items(_ token: NewToken, _ more: AccessEvent..., showing isShown: Bool = true) -> [AttentionItem] {
        var state = LedgerState()
        state.access.evolve(.tokenIssued(token), at: noon)
        for event in more { state.access.evolve(event, at: noon) }
        let uses = [Self.use(1, hours: 100), Self.use(2, hours: 5)].map {
            TokenUse(token: token.id, network: $0.network, firstAt: $0.firstAt, lastAt: $0.lastAt)
        }
        return state.attention(to: uses, at: noon, showing: { _ in isShown })
    }

    @Test func `a token that is used from a new network needs attention`() throws {
        let item = try #require(self.items(newToken("tok_1")).first)
        #expect(item.severity == .soon && item.kind == .tokenNewNetwork && item.app == nil && item.token == "tok_1")
        #expect(item.date == noon.adding(seconds: -5 * 3600))
        #expect(
            item.detail
                == "The token tok_1 (CI) is used from a network from which it was not used before: 10.0.2.0/24.")
        #expect(item.remedy == "Ask its holder. If it was someone else, revoke it: `pinledger token revoke tok_1`.")
    }

    @Test func `a calendar feed that is used from a new network concerns its app`() throws {
        let item = try #require(self.items(feed("cal_1", sha256([7]))).first)
        #expect(item.app == shop && item.remedy.contains("`pinledger calendar feed revoke \(shop) cal_1`"))
    }

    @Test func `a token that is over, bound to networks, or not shown needs no attention`() {
        #expect(self.items(newToken("tok_1"), .tokenRevoked(id: "tok_1")).isEmpty)
        #expect(self.items(newToken("tok_1", until: noon)).isEmpty)
        #expect(self.items(newToken("tok_1", from: [network("10.0.0.0/8")])).isEmpty)
        #expect(self.items(newToken("tok_1"), showing: false).isEmpty)
    }
}
