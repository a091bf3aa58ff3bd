import Synchronization
import Testing

@testable import Edge

/// Which of an upstream's addresses an edge asks.
@Suite struct UpstreamAddressesTests {
    /// Addresses with the answers that they give, and what was asked and told.
    private final class Places: Sendable {
        private let failures: Mutex<[String: UpstreamFailure]>
        private let noted = Mutex<(asked: [String], told: [String])>(([], []))

        init(_ failures: [String: UpstreamFailure]) { self.failures = Mutex(failures) }

        var asked: [String] { self.noted.withLock { $0.asked } }
        var told: [String] { self.noted.withLock { $0.told } }

        func fail(_ failures: [String: UpstreamFailure]) { self.failures.withLock { $0 = failures } }

        func addresses(_ all: [String]) -> UpstreamAddresses {
            UpstreamAddresses(all) { address, failure in
                self.noted.withLock { $0.told.append("\(address): \(failure)") }
            }
        }

        func answer(_ address: String) throws(UpstreamFailure) -> String {
            self.noted.withLock { $0.asked.append(address) }
            if let failure = self.failures.withLock({ $0[address] }) { throw failure }
            return address
        }

        func ask(_ addresses: UpstreamAddresses) async throws(UpstreamFailure) -> String {
            try await addresses.ask { address throws(UpstreamFailure) in try self.answer(address) }
        }
    }

    private static let away = UpstreamFailure.unreachable("away")

    @Test func `the next address is asked where one fails, and asked first from then on`() async throws {
        let places = Places(["a": Self.away])
        let addresses = places.addresses(["a/", "b", "c"])
        for _ in 0..<2 {
            #expect(try await places.ask(addresses) == "b")
        }
        #expect(places.asked == ["a", "b", "b"])
        #expect(places.told == ["b: it does not answer: away"])
        // Also once the first one is back; and after the last one comes the first one.
        places.fail(["b": .status(502, problem: ""), "c": .malformed("list")])
        #expect(try await places.ask(addresses) == "a")
        #expect(places.asked.suffix(3) == ["b", "c", "a"])
    }

    @Test func `each address is asked once where none answers`() async {
        let places = Places(["a": Self.away, "b": Self.away])
        let addresses = places.addresses(["a", "b"])
        await #expect(throws: Self.away) {
            try await places.ask(addresses)
        }
        #expect(places.asked == ["a", "b"])
    }

    @Test(
        arguments: [
            .status(404, problem: ""), .status(400, problem: ""), .status(429, problem: ""), .token("no file"),
        ] as [UpstreamFailure])
    func `a refusal that another address would give too leads to no other`(_ failure: UpstreamFailure) async {
        let places = Places(["a": failure])
        let addresses = places.addresses(["a", "b"])
        await #expect(throws: failure) {
            try await places.ask(addresses)
        }
        #expect(places.asked == ["a"] && places.told.isEmpty)
    }

    @Test(
        arguments: [
            away, .malformed("list"), .status(500, problem: ""), .status(503, problem: ""), .status(401, problem: ""),
            .status(403, problem: ""),
        ] as [UpstreamFailure])
    func `a failure that may be of one address leads to the next one`(_ failure: UpstreamFailure) async throws {
        let places = Places(["a": failure])
        let addresses = places.addresses(["a", "b"])
        #expect(try await places.ask(addresses) == "b")
    }

    @Test func `an upstream with one address tells of no change`() async {
        let places = Places(["a": Self.away])
        let addresses = places.addresses(["a"])
        await #expect(throws: Self.away) {
            try await addresses.askOne { address throws(UpstreamFailure) in try places.answer(address) }
        }
        #expect(places.told.isEmpty)
    }
}
