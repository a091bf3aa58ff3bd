import PinWire
import Pinning
import Testing

@testable import Signals

/// What a node makes of what probes saw.
@Suite struct ObservationSummaryTests {
    private let summary = ObservationSummary()

    @Test func `an observation summary takes for current what the newest probe of each address saw`() throws {
        self.summary.take(try observation(["a": [certificate(1)], "b": [certificate(1)]], at: probeTime), failures: 0)
        self.summary.take(try observation(["a": [certificate(2)]], at: probeTime + 60), failures: 0)
        #expect(try self.summary.current() == ["a CN=2", "b CN=1"])
        let chains = try #require(try self.summary.facts(of: endpoint())?.chains)
        #expect(chains.count == 3)
    }

    @Test func `an observation summary keeps the views of different places apart`() throws {
        self.summary.take(try observation(["a": [certificate(1)]], at: probeTime, from: "here"), failures: 0)
        self.summary.take(try observation(["a": [certificate(2)]], at: probeTime + 60, from: "there"), failures: 0)
        #expect(try self.summary.current() == ["a CN=1", "a CN=2"])
    }

    @Test func `an observation summary lets older results undo nothing`() throws {
        self.summary.take(try observation(["a": [certificate(2)]], at: probeTime + 60), failures: 2)
        self.summary.take(try observation(["a": [certificate(1)]], at: probeTime), failures: 9)
        self.summary.take(try observation(["a": [certificate(2)]], at: probeTime + 30), failures: 8)
        #expect(try self.summary.current() == ["a CN=2"])
        let facts = try #require(try self.summary.facts(of: endpoint()))
        #expect(facts.lastAttempt == probeTime + 60 && facts.lastSuccess == probeTime + 60)
        #expect(facts.chains.first { $0.isCurrent }?.lastSeen == probeTime + 60)
        #expect(try self.summary.history(of: endpoint(), from: "here")?.failures == 2)
    }

    @Test func `an observation summary remembers when a chain was first seen, and when a probe last had an answer`()
        throws
    {
        for time in [probeTime, probeTime + 60] {
            self.summary.take(try observation(["a": [certificate(1)]], at: time), failures: 0)
        }
        self.summary.take(try observation([:], at: probeTime + 120), failures: 1)
        let facts = try #require(try self.summary.facts(of: endpoint()))
        #expect(facts.chains.map(\.firstSeen) == [probeTime] && facts.chains.map(\.lastSeen) == [probeTime + 60])
        #expect(facts.lastSuccess == probeTime + 60 && facts.lastAttempt == probeTime + 120)
        let history = try #require(try self.summary.history(of: endpoint(), from: "here"))
        #expect(history.failures == 1 && history.last == probeTime + 120)
        #expect(try self.summary.outcomes(of: endpoint()).map { $0["failures"] } == [1])
        #expect(try self.summary.history(of: endpoint(), from: "there") == nil)
    }

    @Test func `an observation summary takes a chain for superseded only after a result about its kind of key`() throws
    {
        let both = [certificate(1, "ec"), certificate(2, "rsa")]
        self.summary.take(try observation(["a": both], at: probeTime), failures: 0)
        // The question for RSA failed: nothing is known of it.
        self.summary.take(
            try observation(["a": [certificate(1, "ec")]], at: probeTime + 60, isComplete: false), failures: 0)
        #expect(try self.summary.current() == ["a CN=1", "a CN=2"])
        self.summary.take(
            try observation(["a": [certificate(3, "ec")]], at: probeTime + 120, isComplete: false), failures: 0)
        #expect(try self.summary.current() == ["a CN=3", "a CN=2"])
        // Nothing failed, and there was no RSA any more.
        self.summary.take(try observation(["a": [certificate(3, "ec")]], at: probeTime + 180), failures: 0)
        #expect(try self.summary.current() == ["a CN=3"])
        self.summary.take(
            try observation(["a": [certificate(3, "ec")]], at: probeTime + 240, isComplete: false), failures: 0)
        #expect(try self.summary.current() == ["a CN=3"])
    }

    @Test func `an observation summary never forgets what one address alone presents, however many others there are`()
        throws
    {
        self.summary.take(try observation(["old": [certificate(1)]], at: probeTime), failures: 0)
        self.summary.take(try observation(["a": [certificate(1)]], at: probeTime, from: "there"), failures: 0)
        for round in 1...100 {
            let addresses = (0..<8).map { ("10.\(round).0.\($0)", [certificate(2)]) }
            let seen = try observation(Dictionary(uniqueKeysWithValues: addresses), at: probeTime + Int64(round))
            self.summary.take(seen, failures: 0)
        }
        let chains = try #require(try self.summary.facts(of: endpoint())?.chains)
        #expect(chains.count == ObservationSummary.chainLimit)
        #expect(chains.contains { $0.address == "old" && $0.isCurrent })
        #expect(chains.contains { $0.vantage == "there" && $0.isCurrent })
    }

    @Test func `an observation summary forgets chains that are superseded or older than a week first`() throws {
        self.summary.take(try observation(["gone": [certificate(1)]], at: probeTime), failures: 0)
        let later = probeTime + EndpointFacts.recentSeconds
        for round in 0..<200 {
            self.summary.take(try observation(["a": [certificate(round + 10)]], at: later + Int64(round)), failures: 0)
        }
        let chains = try #require(try self.summary.facts(of: endpoint())?.chains)
        #expect(chains.count == ObservationSummary.chainLimit)
        #expect(!chains.contains { $0.address == "gone" })
        #expect(try self.summary.current() == ["a CN=209"])
    }

    @Test func `an observation summary is bounded, and divides its room among the places`() throws {
        self.summary.take(try observation(["b": [certificate(1)]], at: probeTime, from: "there"), failures: 0)
        for number in 0..<1000 {
            let seen = try observation(["a\(number)": [certificate(number + 10)]], at: probeTime + Int64(number))
            self.summary.take(seen, failures: 0)
        }
        let chains = try #require(try self.summary.facts(of: endpoint())?.chains)
        #expect(chains.count == ObservationSummary.evidenceLimit)
        #expect(chains.contains { $0.vantage == "there" && $0.isCurrent })
        #expect(chains.contains { $0.address == "a999" })
    }
}
