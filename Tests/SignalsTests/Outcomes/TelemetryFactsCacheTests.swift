import PinWire
import Pinning
import Testing

@testable import Signals

/// Whose reports a node has at hand.
struct TelemetryFactsCacheTests {
    private let cache = TelemetryFactsCache(limit: 10)
    private let start = ContinuousClock.now

    private func app(_ number: Int) -> AppID { appID("com.example.app\(number)") }

    private func facts(of number: Int, _ seconds: Int) -> TelemetryFacts? {
        self.cache.facts(of: self.app(number), at: self.start + .seconds(seconds))
    }

    /// Reads what is wanted, as a recorder does: of the apps below `reporting` there are reports.
    private func refresh(_ seconds: Int, reporting: Int = .max) {
        let now = self.start + .seconds(seconds)
        let apps = (0..<min(reporting, 100)).map(self.app)
        if self.cache.wantsReporting(at: now) {
            self.cache.keep(reporting: Set(apps), measuredAt: noon, at: now)
        }
        var node = Counting()
        node.report(1)
        node.take()
        for (app, _, _) in self.cache.wanted(at: now) {
            let hours = apps.contains(app) ? [noon.startOfHour: OutcomeHour(node.rows)] : [:]
            self.cache.keep(
                TelemetrySummary(app: app, measuredAt: noon, hours: hours), isChanged: true, readAt: noon, at: now)
        }
    }

    @Test func `an app that is asked for is known a moment later, for as long as it is asked for`() {
        #expect(self.facts(of: 1, 0) == nil)
        self.refresh(1)
        #expect(self.facts(of: 1, 2)?.cells.count == 1)
        #expect(self.cache.wanted(at: self.start + .seconds(2)).isEmpty)
        #expect(self.cache.wanted(at: self.start + .seconds(4)).count == 1)
        #expect(self.cache.wanted(at: self.start + .seconds(700)).isEmpty)
        #expect(!self.cache.wantsReporting(at: self.start + .seconds(4)))
    }

    @Test func `a look at all apps displaces no app that is asked for all the time`() {
        for second in stride(from: 0, to: 300, by: 5) {
            for number in 0..<6 {
                let found = self.facts(of: number, second)
                #expect(second < 5 || found?.cells.count == 1, "\(number) at \(second)")
            }
            if second.isMultiple(of: 60) { for number in 6..<100 { _ = self.facts(of: number, second) } }
            self.refresh(second + 1)
        }
    }

    @Test func `an app that is asked for often replaces one that was asked for once`() {
        for number in 0..<10 { _ = self.facts(of: number, 0) }
        self.refresh(1)
        #expect(self.facts(of: 50, 5) == nil)
        self.refresh(6)
        // Too early, and then not.
        #expect(self.facts(of: 50, 10) == nil && self.facts(of: 0, 10) != nil)
        #expect(self.facts(of: 50, 16) == nil)
        self.refresh(17)
        #expect(self.facts(of: 50, 18)?.cells.count == 1 && self.facts(of: 0, 18) != nil)
    }

    @Test func `apps without reports are known to have none, however many they are`() {
        for second in [0, 60, 120] {
            for number in 0..<100 {
                let found = self.facts(of: number, second)
                guard second > 0 else { continue }
                #expect(found?.cells.count == (number < 5 ? 1 : 0), "\(number) at \(second)")
            }
            for step in 1..<4 { self.refresh(second + step, reporting: 5) }
        }
        // One that begins to report takes the place of one that does not.
        for second in [121, 140, 142] {
            _ = self.facts(of: 70, second)
            self.refresh(second + 1, reporting: 71)
        }
        #expect(self.facts(of: 70, 144)?.cells.count == 1)
    }
}
