import Edge
import Testing

@Suite("Reports that wait at an edge") struct ReportQueueTests {
    private static let home = "192.0.2.0/24"
    private static func report(_ number: Int, bytes: Int = 10) -> WaitingReport {
        WaitingReport(
            path: "/\(number)", fields: [], address: "192.0.2.1", body: [UInt8](repeating: 0, count: bytes))
    }

    private static func takes(_ queue: ReportQueue, _ report: WaitingReport, from network: String) -> Bool {
        (try? queue.add(report, from: network)) != nil
    }

    @Test func `reports leave in the order in which they came`() {
        let queue = ReportQueue()
        for number in 0..<5 { #expect(Self.takes(queue, Self.report(number), from: Self.home)) }
        let first = queue.take(3)
        #expect(first.map(\.report.path) == ["/0", "/1", "/2"])
        // What comes back waits behind the others, and for as long as it is to.
        queue.putBack(first[1], for: .zero)
        queue.putBack(first[2], for: .seconds(60))
        #expect(queue.take(10).map(\.report.path) == ["/3", "/4", "/1"])
        #expect(queue.count == 1)
    }

    @Test func `a report without room is counted and not kept`() {
        let few = ReportQueue(countLimit: 2, sharers: 1)
        #expect((0..<4).map { Self.takes(few, Self.report($0), from: Self.home) } == [true, true, false, false])
        #expect(few.outcomes[.turnedAway] == 2)
        let small = ReportQueue(byteLimit: 4_000, sharers: 1)
        #expect(Self.takes(small, Self.report(0, bytes: 2_000), from: Self.home))
        #expect(!Self.takes(small, Self.report(1, bytes: 2_000), from: Self.home))
        // The room of what was taken is free again, and that of what is put back is not.
        let taken = small.take(1)
        #expect(Self.takes(small, Self.report(2, bytes: 2_000), from: Self.home))
        for place in taken { small.putBack(place, for: .zero) }
        #expect(!Self.takes(small, Self.report(3, bytes: 0), from: Self.home))
        #expect(small.take(10).count == 2)
        #expect(Self.takes(small, Self.report(4, bytes: 2_000), from: Self.home))
    }

    @Test func `a report that has waited too long is given up, also after a failure`() async throws {
        let queue = ReportQueue(age: .milliseconds(50))
        #expect(Self.takes(queue, Self.report(0), from: Self.home))
        while let place = queue.take(1).first {
            queue.putBack(place, for: .zero)
            await Task.yield()
        }
        #expect(queue.outcomes[.expired] == 1 && queue.count == 0)
        let patient = ReportQueue()
        #expect(Self.takes(patient, Self.report(1), from: Self.home))
        for place in patient.take(1) { patient.putBack(place, for: .zero) }
        #expect(patient.take(10).map(\.report.path) == ["/1"] && patient.outcomes[.expired] == nil)
    }

    @Test func `one network leaves room for others, by number and by bytes`() {
        let queue = ReportQueue(countLimit: 8, sharers: 4)
        #expect((0..<4).map { Self.takes(queue, Self.report($0), from: "a") } == [true, true, false, false])
        for network in ["b", "c", "d"] {
            for number in 0..<2 { #expect(Self.takes(queue, Self.report(number), from: network)) }
        }
        #expect(throws: ReportQueue.Refusal.networkIsFull) { try queue.add(Self.report(9), from: "a") }
        #expect(throws: ReportQueue.Refusal.isFull) { try queue.add(Self.report(9), from: "e") }
        // What is passed on gives its network's room back.
        #expect(queue.take(1).count == 1 && Self.takes(queue, Self.report(9), from: "a"))
        let small = ReportQueue(byteLimit: 16_000, sharers: 4)
        #expect(Self.takes(small, Self.report(0, bytes: 3_000), from: "a"))
        #expect(
            !Self.takes(small, Self.report(1, bytes: 1_000), from: "a")
                && Self.takes(small, Self.report(2, bytes: 3_000), from: "b"))
    }

    @Test func `path and fields count as what they take`() {
        let field = WaitingReport.Field(name: "Content-Type", value: String(repeating: "x", count: 3_000))
        let queue = ReportQueue(byteLimit: 4_000, sharers: 1)
        let long = WaitingReport(
            path: "/\(String(repeating: "p", count: 1_000))", fields: [field], address: "", body: [])
        #expect(!Self.takes(queue, long, from: "a") && Self.takes(queue, Self.report(0), from: "a"))
    }

    @Test func `reports that the upstream has put off give way first`() {
        let queue = ReportQueue(countLimit: 4, sharers: 1)
        for number in 0..<4 { #expect(Self.takes(queue, Self.report(number), from: "a")) }
        for place in queue.take(2) { queue.putBack(place, for: .seconds(60)) }
        #expect(Self.takes(queue, Self.report(4), from: "b") && Self.takes(queue, Self.report(5), from: "b"))
        #expect(!Self.takes(queue, Self.report(6), from: "b"))
        #expect(queue.outcomes[.displaced] == 2 && queue.outcomes[.turnedAway] == 1)
        #expect(queue.take(10).map(\.report.path) == ["/2", "/3", "/4", "/5"])
    }
}
