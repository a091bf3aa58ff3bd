import PinWire
import Testing

@testable import EventStore

@Suite("The places of idempotency keys")
struct CommandPlacesTests {
    private static func key(_ text: String) -> CommandKey { CommandKey(actor: "token:tok_1", key: text) }

    /// One key each hour, for so many days.
    private static func places(days: Int, keeping keys: Set<CommandKey>, _ texts: Set<String>) -> CommandPlaces {
        var places = CommandPlaces(keeping: keys, texts, for: 86_400)
        for hour in 0..<(24 * days) {
            let position = Int64(hour)
            places[self.key("k\(hour)")] = .init(
                first: position, last: position, time: Timestamp(seconds: position * 3600))
        }
        return places
    }

    @Test func `keys are known for a day and forgotten after two`() {
        let places = Self.places(days: 30, keeping: [], [])
        let newest = 24 * 30 - 1
        for age in 0...24 {
            #expect(places[Self.key("k\(newest - age)")]?.first == Int64(newest - age), "\(age) hours")
        }
        #expect(places[Self.key("k\(newest - 50)")] == nil)
        #expect(places.all.count <= 50)
    }

    @Test func `keys that are asked about at the end are kept`() {
        let places = Self.places(days: 30, keeping: [Self.key("k3"), Self.key("k700")], ["k5"])
        #expect(places[Self.key("k3")]?.first == 3)
        #expect(places[Self.key("k5")]?.first == 5)
        #expect(places[Self.key("k4")] == nil)
        #expect(places.all[Self.key("k5")]?.last == 5)
    }

    @Test func `a key that is extended keeps its first position`() {
        var places = CommandPlaces(keeping: [], [], for: 86_400)
        places[Self.key("a")] = .init(first: 1, last: 1, time: Timestamp(seconds: 0))
        places[Self.key("b")] = .init(first: 2, last: 2, time: Timestamp(seconds: 90_000))
        var extended = places[Self.key("a")]
        extended?.last = 3
        places[Self.key("a")] = extended
        #expect(places.all[Self.key("a")]?.first == 1)
        #expect(places.all[Self.key("a")]?.last == 3)
    }
}
