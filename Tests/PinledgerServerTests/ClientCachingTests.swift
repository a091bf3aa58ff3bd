import PinWire
import Testing

@testable import PinledgerServer

/// How long caches may serve a document while the origin fails.
@Suite struct ClientCachingTests {
    /// Seconds until the document ends, what caches are told, and for how many seconds.
    struct Case: Sendable {
        var rest: Int64
        var told: String
        var holds: Int64?
    }

    @Test(arguments: [
        Case(rest: 86_400, told: "public, max-age=60, stale-if-error=3600", holds: 82_740),
        Case(rest: 3661, told: "public, max-age=60, stale-if-error=3600", holds: 1),
        Case(rest: 3660, told: "public, max-age=60, stale-if-error=3150", holds: 450),
        Case(rest: 100, told: "public, max-age=60, stale-if-error=35", holds: 5),
        Case(rest: 62, told: "public, max-age=60, stale-if-error=1", holds: 1),
        Case(rest: 61, told: "public, max-age=60", holds: nil),
        Case(rest: 0, told: "public, max-age=60", holds: nil),
        Case(rest: -1_000_000, told: "public, max-age=60", holds: nil),
    ])
    func `a document is served no longer than it is valid because the origin fails`(_ each: Case) {
        let now = Timestamp(microseconds: 1_800_000_000_000_000)
        let told = ClientCaching().document(endingAt: now.adding(seconds: each.rest), at: now)
        #expect(told.cacheControl == each.told)
        #expect(told.until == each.holds.map { now.adding(seconds: $0) })
    }

    @Test(arguments: [0, 1, 7, 3600, 604_800], [0, 1, 60, 86_400])
    func `caches are told what is right as long as they are told it`(_ staleIfError: Int, _ maxAge: Int) {
        let caching = ClientCaching(maxAge: maxAge, staleIfError: staleIfError)
        let end = Timestamp(microseconds: 1_800_000_000_000_000)
        var now = end.adding(seconds: -700_000)
        var turns = 0
        while true {
            let told = caching.document(endingAt: end, at: now)
            guard let until = told.until else {
                #expect(told.cacheControl == "public, max-age=\(maxAge)")
                break
            }
            let seconds = told.cacheControl.split(separator: "=").last.flatMap { Int64($0) } ?? 0
            #expect(until > now && seconds > 0 && seconds <= staleIfError)
            #expect(until.adding(seconds: seconds + Int64(maxAge)) <= end)
            now = until
            turns += 1
        }
        #expect(turns < 120, "few answers are made because time passes")
    }

    @Test func `a setting of no time gives no permission`() {
        let caching = ClientCaching(maxAge: 5, staleIfError: 0)
        let now = Timestamp(microseconds: 1_800_000_000_000_000)
        #expect(caching.document(endingAt: now.adding(seconds: 1000), at: now).cacheControl == "public, max-age=5")
        #expect(caching.keySet == "public, max-age=300")
        #expect(ClientCaching().keySet == "public, max-age=300, stale-if-error=3600")
    }
}
