import PinWire
import Testing

@Suite struct `A reader of a document` {
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var app = "com.example.app"
        /// In seconds after the time of issue.
        var now: Int64 = 10
        var atLeast: Int64 = 0
        var lifetime: Int64 = 86_400
        var refusal: (@Sendable (IssuedDocument.Refusal) -> Bool)?
    }

    static let cases: [Case] = [
        Case(testDescription: "a fresh document"),
        Case(testDescription: "the version that is wanted", atLeast: 42),
        Case(testDescription: "a later version is wanted", atLeast: 43) { $0 == .older(42, wanted: 43) },
        Case(testDescription: "the largest version is wanted", atLeast: .max) { $0 == .older(42, wanted: .max) },
        Case(testDescription: "another app's", app: "com.example.other") {
            if case .otherApp = $0 { true } else { false }
        },
        Case(testDescription: "the last moment", now: 86_399),
        Case(testDescription: "expired", now: 86_400) { if case .expired = $0 { true } else { false } },
        Case(testDescription: "issued ahead, within the skew of clocks", now: -300),
        Case(testDescription: "issued further ahead", now: -301) { if case .issuedAhead = $0 { true } else { false } },
        Case(testDescription: "never fresh", now: 0, lifetime: 0) { $0 == .neverFresh },
        Case(testDescription: "expired before it was issued", now: -5, lifetime: -10) { $0 == .neverFresh },
    ]

    @Test(arguments: cases)
    func `a reader of a document compares it with its own app, clock and memory`(each: Case) throws {
        var issued = try IssuedDocument(payload: try testFile("Golden/document-full.json"))
        issued.expiresAt = issued.issuedAt.adding(seconds: each.lifetime)
        let (app, now) = (try AppID(each.app), issued.issuedAt.adding(seconds: each.now))
        do throws(IssuedDocument.Refusal) {
            try issued.check(for: app, at: now, atLeast: each.atLeast)
            let isRefused = each.refusal != nil
            #expect(!isRefused)
        } catch {
            #expect(each.refusal?(error) == true, "\(error)")
        }
    }
}
