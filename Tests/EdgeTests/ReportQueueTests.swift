import Edge
import Testing

@Suite("Reports that wait at an edge") struct ReportQueueTests {
    private static func report(_ number: Int, bytes: Int = 10) -> WaitingReport {
        WaitingReport(
            path: "/\(number)", fields: [], address: "192.0.2.1", body: [UInt8](repeating: 0, count: bytes))
    }

    @Test func `reports leave in the order in which they came`() {
        let queue = ReportQueue()
        for number in 0..<5 { #expect(queue.add(Self.report(number))) }
        let first = queue.take(3)
        #expect(first.map(\.report.path) == ["/0", "/1", "/2"])
        // What comes back waits behind the others, and for as long as it is to.
        queue.putBack(first[1], for: .zero)
        queue.putBack(first[2], for: .seconds(60))
        #expect(queue.take(10).map(\.report.path) == ["/3", "/4", "/1"])
        #expect(queue.count == 1)
    }

    @Test func `a report without room is counted and not kept`() {
        let few = ReportQueue(countLimit: 2)
        #expect((0..<4).map { few.add(Self.report($0)) } == [true, true, false, false])
        #expect(few.outcomes[.turnedAway] == 2)
        let small = ReportQueue(byteLimit: 3_000)
        #expect(small.add(Self.report(0, bytes: 2_000)))
        #expect(!small.add(Self.report(1, bytes: 2_000)))
        // The room of what was taken is free again, and that of what is put back is not.
        let taken = small.take(1)
        #expect(small.add(Self.report(2, bytes: 2_000)))
        for place in taken { small.putBack(place, for: .zero) }
        #expect(!small.add(Self.report(3, bytes: 0)))
        #expect(small.take(10).count == 2)
        #expect(small.add(Self.report(4, bytes: 2_000)))
    }

    @Test func `a report that has waited too long is given up, also after a failure`() async throws {
        let queue = ReportQueue(age: .milliseconds(50))
        #expect(queue.add(Self.report(0)))
        while let place = queue.take(1).first {
            queue.putBack(place, for: .zero)
            await Task.yield()
        }
        #expect(queue.outcomes[.expired] == 1 && queue.count == 0)
        let patient = ReportQueue()
        #expect(patient.add(Self.report(1)))
        for place in patient.take(1) { patient.putBack(place, for: .zero) }
        #expect(patient.take(10).map(\.report.path) == ["/1"] && patient.outcomes[.expired] == nil)
    }
}
