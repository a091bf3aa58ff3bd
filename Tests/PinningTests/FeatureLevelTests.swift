import PinWire
import Pinning
import Testing

/// The feature level: what the programs that share a ledger have to know.
struct FeatureLevelTests {
    private func knowing(_ level: Int64) -> DecisionContext {
        DecisionContext(now: noon, reason: nil, isForced: false, knownLevel: level) { _ in false }
    }

    @Test func `the level is raised step by step or at once, and never lowered`() throws {
        var state = LedgerState()
        #expect(state.fleet.featureLevel == FeatureLevel.first)
        for (level, events) in [(Int64(2), 1), (2, 0), (5, 1), (5, 0)] {
            let decision = try state.decide(.fleet(.raiseFeatureLevel(level)), in: self.knowing(5))
            #expect(decision.events.count == events)
            for event in decision.events { _ = state.apply(event, of: .fleet, at: noon) }
            #expect(state.fleet.featureLevel == level)
        }
        #expect(throws: Refusal.featureLevelPassed(4, present: 5)) {
            try state.decide(.fleet(.raiseFeatureLevel(4)), in: self.knowing(5))
        }
        #expect(throws: Refusal.featureLevelUnknown(6, known: 5)) {
            try state.decide(.fleet(.raiseFeatureLevel(6)), in: self.knowing(5))
        }
        // An event that no `decide` has made does not lower it either.
        _ = state.apply(.fleet(.featureLevelRaised(1)), of: .fleet, at: noon)
        #expect(state.fleet.featureLevel == 5)
    }

    @Test func `a raise makes a new version of every document, in whose form something may begin`() throws {
        var state = LedgerState()
        for event in try state.decide(.app(shop, [.create(displayName: "A")]), in: context()).events {
            _ = state.apply(event, of: .app(shop), at: noon)
        }
        let before = try #require(state.documentVersion(of: shop))
        _ = state.apply(.fleet(.featureLevelRaised(2)), of: .fleet, at: noon)
        #expect(state.documentVersion(of: shop) == before + 1)
    }

    @Test func `entries of a later program are told from malformed ones`() throws {
        let entry = try #require(examples["LogQuorumSet"])
        func altered(_ change: (inout [String: JSON]) -> Void) -> [UInt8] {
            guard case .object(var members) = entry.json else { return [] }
            change(&members)
            return JSON.object(members).canonicalBytes
        }
        let cases: [([UInt8], LaterProgram?)] = [
            (altered { $0["type"] = "PinFrozen" }, .type("PinFrozen")),
            (altered { $0["schema"] = 2 }, .schema(2, type: "LogQuorumSet")),
            (
                altered { $0["type"] = .string("\u{1B}[2J" + String(repeating: "x", count: 200)) },
                .type("?[2J" + String(repeating: "x", count: 96))
            ),
            (entry.bytes, nil), (altered { $0["data"] = ["quorum": "many"] }, nil),
            (altered { $0["data"] = ["quorum": 1, "more": 1] }, nil), (altered { $0["type"] = nil }, nil),
            (altered { $0["schema"] = nil }, nil), ([], nil), (Array("[]".utf8), nil),
        ]
        for (bytes, expected) in cases { #expect(LaterProgram(unread: bytes) == expected) }
    }
}
