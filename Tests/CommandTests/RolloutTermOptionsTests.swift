import ArgumentParser
import PinWire
import Testing

@testable import pinledger

/// The terms that a command states of a rollout that is there.
@Suite struct `A rollout's stated terms` {
    private static let percentage: JSON = ["method": "percentage", "basis_points": 0]
    private static let geography: JSON = ["method": "geography", "countries": ["AT"]]

    @Test func `countries that an operator states are never dropped`() throws {
        let stated = try RolloutTermOptions.parse(["--country", "DE"])
        #expect(stated.merged(with: Self.percentage, at: "app:a")["countries"] == ["DE"])
        #expect(stated.merged(with: Self.geography, at: "app:a")["countries"] == ["DE"])
        #expect(stated.merged(with: nil, at: "app:a")["countries"] == ["DE"])
    }

    @Test func `countries of the rollout before end with its method`() throws {
        let other = try RolloutTermOptions.parse(["--method", "percentage"])
        #expect(other.merged(with: Self.geography, at: "app:a")["countries"] == nil)
        #expect(try RolloutTermOptions.parse([]).merged(with: Self.geography, at: "app:a")["countries"] == ["AT"])
    }
}
