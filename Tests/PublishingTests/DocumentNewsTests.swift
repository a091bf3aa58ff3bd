import Fixtures
import PinWire
import Pinning
import Testing

@testable import Publishing

struct DocumentNewsTests {
    private let table = DocumentTable(clock: { .wall })

    private func apps(_ news: inout DocumentNews) -> [String] {
        guard case .apps(let apps) = news.take() else { return [] }
        return apps.map(\.text).sorted()
    }

    @Test func `notifications that come in between make one look`() {
        var news = DocumentNews()
        #expect(news.take() == .nothing)
        for payload in ["com.example.a@7@1", "com.example.b@1@1 com.example.a@8@1"] { news.note(payload, self.table) }
        #expect(self.apps(&news) == ["com.example.a", "com.example.b"])
        #expect(news.take() == .nothing)
    }

    @Test(arguments: ["", "x", "com.example.a@7", "com.example.a@7@1 ?"])
    func `a notification that cannot be read has the list of changes be read`(_ payload: String) {
        var news = DocumentNews()
        news.note(payload, self.table)
        #expect(news.take() == .everything)
    }

    @Test func `many apps are found by the list of changes`() {
        var news = DocumentNews()
        let payload = (0...DocumentNews.appLimit).map { "com.example.a\($0)@7@1" }.joined(separator: " ")
        news.note(payload, self.table)
        #expect(news.take() == .everything)
    }

    @Test func `beyond some notifications a second their texts are not read`() {
        var news = DocumentNews()
        let now = ContinuousClock.now
        for number in 0..<DocumentNews.perSecond { news.note("com.example.a\(number % 5)@7@1", self.table, at: now) }
        #expect(self.apps(&news).count == 5)
        news.note("com.example.b@7@1", self.table, at: now + .milliseconds(999))
        #expect(news.take() == .everything)
        news.note("com.example.b@7@1", self.table, at: now + .seconds(1))
        #expect(self.apps(&news) == ["com.example.b"])
    }
}
