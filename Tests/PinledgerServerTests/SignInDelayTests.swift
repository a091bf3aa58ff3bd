import Addresses
import Testing

@testable import PinledgerServer

@Suite struct SignInDelayTests {
    private let delays = SignInDelays()
    private let start = ContinuousClock.now

    private func network(_ text: String) throws -> ClientNetwork {
        ClientNetwork(of: try #require(IPAddress(text)))
    }

    /// Fails as soon as it may, and returns the waits before each failure that counted.
    @Test func `failures wait twice as long each time, up to a minute`() throws {
        let mine = try self.network("192.0.2.1")
        var now = self.start
        var waits: [Int] = []
        for _ in 0..<14 {
            let wait = self.delays.failure(of: mine, at: now)
            waits.append(wait ?? 0)
            // One that comes too early is told how long to wait.
            if let wait {
                now += .seconds(wait)
                #expect(self.delays.failure(of: mine, at: now) == nil)
            }
        }
        #expect(Array(waits.prefix(6)) == [0, 0, 0, 0, 0, 0])
        #expect(Array(waits.dropFirst(6)) == [2, 4, 8, 16, 32, 60, 60, 60])
    }

    @Test func `networks wait for themselves alone, and not after one of them signed in`() throws {
        let (mine, other) = (try self.network("192.0.2.1"), try self.network("198.51.100.1"))
        for _ in 0..<6 { _ = self.delays.failure(of: mine, at: self.start) }
        #expect(self.delays.failure(of: mine, at: self.start) != nil)
        #expect(self.delays.failure(of: try self.network("192.0.2.200"), at: self.start) != nil)
        #expect(self.delays.failure(of: other, at: self.start) == nil)
        self.delays.forgive(mine)
        #expect(self.delays.failure(of: mine, at: self.start) == nil)
    }

    @Test func `failures are forgotten after a quarter of an hour`() throws {
        let mine = try self.network("2001:db8::1")
        for _ in 0..<6 { _ = self.delays.failure(of: mine, at: self.start) }
        #expect(self.delays.failure(of: mine, at: self.start + .seconds(902)) == nil)
        for _ in 0..<4 { #expect(self.delays.failure(of: mine, at: self.start + .seconds(902)) == nil) }
    }
}
