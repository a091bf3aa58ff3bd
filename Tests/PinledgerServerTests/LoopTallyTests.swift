import Hummingbird
import PinWire
import Pinning
import Publishing
import Signals
import Testing

@testable import PinledgerServer

/// What one event loop counts, by what requests say.
@Suite struct LoopTallyTests {
    private static let digest = "uw5PSUQ3lNkB6Jaf8RvREuNCCKDc3w4e7bSAzJs8cpM"
    private static let install = "uw5PSUQ3lNkB6Jaf8RvREg"

    private static func answer(_ version: Int64, in recorder: AdoptionRecorder) throws -> PreparedAnswer {
        let app = try AppID("com.example.tally")
        return PreparedAnswer(
            contentType: "application/jose", cacheControl: "public",
            body: PreparedBody(Array("document \(version)".utf8), tagPrefix: DocumentTag.prefix(version: version)),
            document: .init(appIndex: recorder.intake.index(of: app), version: version)
        )
    }

    /// Counts a request as the handlers do.
    private static func count(
        _ tally: LoopTally, _ answer: PreparedAnswer, _ condition: String?, _ report: String? = nil
    ) {
        guard let variant = answer.ready(ifNoneMatch: condition, CodingPreference(nil)) else { return }
        tally.count(answer, variant.response.status, condition, report)
    }

    /// What a request says (`{tag}` is the current one), and how it is counted: version, platform, app version, with an
    /// id.
    static let requests: [(String?, String?, Int64, String?, String, Bool)] = [
        (nil, nil, 0, nil, "", false),
        ("{tag}", nil, 7, nil, "", false),
        ("W/{tag}", nil, 7, nil, "", false),
        ("\"x\", {tag}", nil, 7, nil, "", false),
        ("\"5.\(digest)\"", nil, 5, nil, "", false),
        ("\"5.\(digest)-br\"", nil, 5, nil, "", false),
        // Signed again; and made up or lost, which is kept apart.
        ("\"7.\(digest)\"", nil, 7, nil, "", false),
        ("\"99.\(digest)\"", nil, -101, nil, "", false),
        ("\"\(digest)\"", nil, -1, nil, "", false),
        ("*", nil, -1, nil, "", false),
        ("nonsense", nil, -1, nil, "", false),
        ("", nil, -1, nil, "", false),
        (nil, "version=4", 4, nil, "", false),
        (nil, "version=0", 0, nil, "", false),
        ("{tag}", "version=4", 4, nil, "", false),
        ("{tag}", "version=99", -101, nil, "", false),
        (nil, "version=99, install=\"\(install)\"", -101, nil, "", true),
        ("{tag}", "platform=ios, app_version=\"2.4.1-beta\"", 7, "ios", "2.4.1", false),
        ("{tag}", "platform=vax", 7, "other", "", false),
        (nil, "install=\"\(install)\"", 0, nil, "", true),
        ("{tag}", "version=3, install=\"\(install)\", platform=android", 3, "android", "", true),
        ("{tag}", "this is, no dictionary", 7, nil, "", false),
        ("{tag}", "", 7, nil, "", false),
    ]

    @Test(arguments: requests) func `a request is counted by what it says`(
        condition: String?, report: String?, version: Int64, platform: String?, release: String, hasInstall: Bool
    ) async throws {
        let recorder = ExampleServer.recorder()
        let answer = try Self.answer(7, in: recorder)
        let tally = LoopTally(intake: recorder.intake)
        let current = condition?.replacing("{tag}", with: answer.body.identity.tag)
        for _ in 0..<3 { Self.count(tally, answer, current, report) }
        tally.handOver()
        let rows = await recorder.unrecordedRows
        let row = try #require(rows.first)
        #expect(rows.count == 1)
        #expect(row.key.held.number == version)
        #expect(row.key.platform?.rawValue == platform)
        #expect(row.key.release.text == release)
        #expect(row.count == AdoptionCount(requests: 3, identified: hasInstall ? 3 : 0))
    }

    @Test func `a version that changes between two rounds is counted on both sides`() async throws {
        let recorder = ExampleServer.recorder()
        let tally = LoopTally(intake: recorder.intake)
        let (old, new) = (try Self.answer(7, in: recorder), try Self.answer(8, in: recorder))
        for _ in 0..<5 { Self.count(tally, old, old.body.identity.tag) }
        Self.count(tally, new, old.body.identity.tag)
        for _ in 0..<2 { Self.count(tally, new, new.body.identity.tag) }
        Self.count(tally, new, nil)
        // Another loop is a moment behind.
        Self.count(tally, old, old.body.identity.tag)
        for _ in 0..<4 { tally.makeRound() }
        let counts = Dictionary(
            uniqueKeysWithValues: await recorder.unrecordedRows.map { ($0.key.held.number, $0.count.requests) })
        #expect(counts == [7: 7, 8: 2, 0: 1])
        tally.handOver()
        #expect(await recorder.unrecordedRows.reduce(0) { $0 + $1.count.requests } == 10)
    }

    @Test func `more kinds than there is room for are handed over early, and none is lost`() async throws {
        let recorder = ExampleServer.recorder()
        let tally = LoopTally(intake: recorder.intake)
        let answer = try Self.answer(7, in: recorder)
        for number in 0..<5000 { Self.count(tally, answer, nil, "app_version=\"1.\(number)\"") }
        tally.handOver()
        let rows = await recorder.unrecordedRows
        #expect(rows.reduce(0) { $0 + $1.count.requests } == 5000)
        #expect(rows.count == 1025)
        #expect(rows.contains { $0.key.release == .other })
    }

    @Test func `a text that is not a document is not counted`() async throws {
        let recorder = ExampleServer.recorder()
        let tally = LoopTally(intake: recorder.intake)
        Self.count(tally, try ExampleServer.routes.keySet(), nil, "version=1")
        tally.handOver()
        #expect(await recorder.unrecordedRows.isEmpty)
    }

    @Test func `reports count beside requests, and only for existing apps`() async throws {
        let app = try AppID("com.example.tally")
        let recorder = ExampleServer.recorder { $0 == app ? 7 : nil }
        let report = try #require(ClientReport(field: "version=6, platform=web, install=\"\(Self.install)\""))
        recorder.note([report], of: app, isSigned: true)
        recorder.note([ClientReport()], of: app, isSigned: false)
        recorder.note([report], of: try AppID("com.example.nobody"), isSigned: true)
        let rows = await recorder.unrecordedRows.sorted { $0.key.held > $1.key.held }
        #expect(rows.map(\.key.held) == [.document(6), .unknown])
        #expect(rows.map(\.count) == [AdoptionCount(reports: 1, identified: 1), AdoptionCount(reports: 1)])
    }
}
