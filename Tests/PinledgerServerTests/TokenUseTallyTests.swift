import Addresses
import Testing

@testable import PinledgerServer

@Suite struct `The tally of tokens' uses` {
    private func network(_ text: String) throws -> ClientNetwork { ClientNetwork(of: try #require(IPAddress(text))) }

    @Test func `the tally holds each token and network once`() throws {
        let tally = TokenUseTally()
        for _ in 0..<3 { for last in [1, 200] { tally.note("tok_1", from: try self.network("192.0.2.\(last)")) } }
        tally.note("tok_1", from: try self.network("2001:db8::1"))
        tally.note("tok_2", from: try self.network("192.0.2.1"))
        let uses = tally.take().map { "\($0.token) \($0.network)" }.sorted()
        #expect(uses == ["tok_1 192.0.2.0/24", "tok_1 2001:db8::/48", "tok_2 192.0.2.0/24"])
        #expect(tally.take().isEmpty)
    }

    @Test func `the tally holds no more than its limit`() throws {
        let (tally, home) = (TokenUseTally(), try self.network("192.0.2.1"))
        for number in 0..<(TokenUseTally.limit + 10) { tally.note("tok_\(number)", from: home) }
        let taken = tally.take()
        #expect(taken.count == TokenUseTally.limit)
        for number in 0..<200 { tally.note("tok_1", from: try self.network("10.0.\(number).1")) }
        #expect(tally.take().count == TokenUseTally.tokenLimit)
        tally.note("tok_new", from: home)
        tally.putBack(taken)
        #expect(tally.take().count == TokenUseTally.limit)
    }
}
