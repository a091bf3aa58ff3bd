import Addresses
import PinWire
import Pinning
import Testing

@testable import PinledgerServer

@Suite struct `A counter of requests` {
    private static let start = Timestamp(seconds: 1_780_000_000)

    private func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

    private func record(
        by actor: String? = nil, from address: String = "192.0.2.1", _ operation: String? = "addPin",
        at time: Timestamp = start, _ requestID: String = "r"
    ) throws -> AuditRecord {
        AuditRecord(
            actor: actor.map { Actor(kind: .token, id: $0, name: $0) }, address: try self.address(address), proxy: nil,
            operation: operation, app: nil, outcome: .denied, status: 403, problem: "permission_denied", time: time,
            requestID: requestID)
    }

    @Test func `requests alike are one record with the first and the last of them`() throws {
        let counter = AuditCounter()
        for number in 0..<1_000 {
            counter.note(
                try self.record(by: "tok_1", at: Self.start.adding(seconds: Int64(number)), "r\(number)"))
        }
        counter.note(try self.record(by: "tok_2"))
        let taken = counter.take(at: Self.start)
        #expect(taken.records.count == 2 && taken.omitted == 0)
        let first = try #require(taken.records.first { $0.actor?.id == "tok_1" })
        #expect(first.count == 1_000 && first.firstRequestID == "r0" && first.lastRequestID == "r999")
        #expect(first.lastTime == Self.start.adding(seconds: 999))
        #expect(counter.take(at: Self.start).records.isEmpty)
    }

    @Test func `a program that asks again and again makes few records`() throws {
        let counter = AuditCounter()
        var taken: [AuditRecord] = []
        // A day of reading the history every ten seconds, and of a change that is refused each time.
        for second in stride(from: Int64(0), to: 86_400, by: 10) {
            let time = Self.start.adding(seconds: second)
            var read = try self.record(by: "tok_1", "listHistory", at: time)
            read.outcome = .read
            counter.note(read)
            counter.note(try self.record(by: "tok_1", "addPin", at: time))
            taken += counter.take(at: time).records
        }
        let (reads, refused) = (taken.filter { $0.outcome == .read }, taken.filter { $0.outcome != .read })
        #expect(reads.count == 24 && refused.count == 144, "\(reads.count), \(refused.count)")
        #expect(reads.first?.count == 1 && reads.dropFirst().allSatisfy { $0.count == 360 })
    }

    @Test func `strangers are recorded at once, and then less and less often while they go on`() throws {
        let counter = AuditCounter()
        var events = 0
        var requests: Int64 = 0
        // A scan from everywhere for a day, looked at every five seconds.
        let strangers = try (0..<40).map { try self.record(from: "10.\($0).0.1", nil) }
        for second in stride(from: Int64(0), to: 86_400, by: 5) {
            for stranger in strangers { counter.note(stranger) }
            let taken = counter.take(at: Self.start.adding(seconds: second))
            if !taken.records.isEmpty { events += 1 }
            #expect(taken.records.count <= AuditCounter.strangerLimit)
            requests += taken.records.reduce(0) { $0 + $1.count } + taken.omitted
        }
        #expect((20...40).contains(events), "\(events)")
        requests += counter.take(at: Self.start.adding(seconds: 200_000)).records.reduce(0) { $0 + $1.count }
        #expect(requests > 40 * 17_000)
        // After a quiet time, the next one is recorded soon again.
        let later = Self.start.adding(seconds: 500_000)
        counter.note(try self.record(nil))
        #expect(counter.take(at: later).records.count == 1)
        counter.note(try self.record(nil))
        #expect(counter.take(at: later.adding(seconds: AuditCounter.shortestWait - 1)).records.isEmpty)
        #expect(counter.take(at: later.adding(seconds: AuditCounter.shortestWait)).records.count == 1)
    }

    @Test func `no caller takes the places of others, and strangers none of those who are known`() throws {
        let counter = AuditCounter()
        for number in 0..<10_000 { counter.note(try self.record(from: "10.\(number % 250).\(number / 250).1", nil)) }
        for number in 0..<10_000 { counter.note(try self.record(by: "tok_1", "operation\(number)")) }
        counter.note(try self.record(by: "tok_2"))
        let taken = counter.take(at: Self.start)
        let ofFirst = taken.records.filter { $0.actor?.id == "tok_1" }
        #expect(ofFirst.count == AuditCounter.callerLimit + 1)
        #expect(ofFirst.reduce(0) { $0 + $1.count } == 10_000)
        #expect(taken.records.contains { $0.actor?.id == "tok_2" })
        #expect(taken.records.count { $0.actor == nil } == AuditCounter.strangerLimit)
        let strangers = taken.records.filter { $0.actor == nil }.reduce(0) { $0 + $1.count }
        #expect(strangers + taken.omitted == 10_000)
    }

    @Test func `requests that could not be recorded are counted on`() throws {
        let counter = AuditCounter()
        counter.note(try self.record(by: "tok_1", "a", at: Self.start, "r1"))
        let taken = counter.take(at: Self.start)
        counter.putBack(taken.records, omitted: 3)
        counter.note(try self.record(by: "tok_1", "a", at: Self.start.adding(seconds: 1), "r2"))
        let again = counter.take(at: Self.start)
        #expect(again.records.map(\.count) == [2] && again.omitted == 3)
        #expect(again.records.first?.firstRequestID == "r1" && again.records.first?.lastRequestID == "r2")
    }
}
