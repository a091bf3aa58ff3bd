import Edge
import Testing

@Suite("Reports that wait at an edge") struct ReportQueueTests {
    private static let home = "192.0.2.0/24"
    private static func report(_ number: Int, bytes: Int = 10) -> WaitingReport {
        WaitingReport(
            path: "/\(number)", fields: [], address: "192.0.2.1", body: [UInt8](repeating: 0, count: bytes))
    }

    @Test func `reports leave in the order in which they came`() {
        let queue = ReportQueue()
        for number in 0..<5 { #expect(queue.add(Self.report(number), from: Self.home)) }
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
        #expect((0..<4).map { few.add(Self.report($0), from: Self.home) } == [true, true, false, false])
        #expect(few.outcomes[.turnedAway] == 2)
        let small = ReportQueue(byteLimit: 4_000, sharers: 1)
        #expect(small.add(Self.report(0, bytes: 2_000), from: Self.home))
        #expect(!small.add(Self.report(1, bytes: 2_000), from: Self.home))
        // The room of what was taken is free again, and that of what is put back is not.
        let taken = small.take(1)
        #expect(small.add(Self.report(2, bytes: 2_000), from: Self.home))
        for place in taken { small.putBack(place, for: .zero) }
        #expect(!small.add(Self.report(3, bytes: 0), from: Self.home))
        #expect(small.take(10).count == 2)
        #expect(small.add(Self.report(4, bytes: 2_000), from: Self.home))
    }

    @Test func `a report that has waited too long is given up, also after a failure`() async throws {
        let queue = ReportQueue(age: .milliseconds(50))
        #expect(queue.add(Self.report(0), from: Self.home))
        while let place = queue.take(1).first {
            queue.putBack(place, for: .zero)
            await Task.yield()
        }
        #expect(queue.outcomes[.expired] == 1 && queue.count == 0)
        let patient = ReportQueue()
        #expect(patient.add(Self.report(1), from: Self.home))
        for place in patient.take(1) { patient.putBack(place, for: .zero) }
        #expect(patient.take(10).map(\.report.path) == ["/1"] && patient.outcomes[.expired] == nil)
    }

    @Test func `one network leaves room for others, by number and by bytes`() {
        let queue = ReportQueue(countLimit: 8, sharers: 4)
        #expect((0..<4).map { queue.add(Self.report($0), from: "a") } == [true, true, false, false])
        for network in ["b", "c", "d"] {
            for number in 0..<2 { #expect(queue.add(Self.report(number), from: network)) }
        }
        #expect(!queue.add(Self.report(9), from: "e"))
        // What is passed on gives its network's room back.
        #expect(queue.take(1).count == 1 && queue.add(Self.report(9), from: "a"))
        let small = ReportQueue(byteLimit: 16_000, sharers: 4)
        #expect(small.add(Self.report(0, bytes: 3_000), from: "a"))
        #expect(
            !small.add(Self.report(1, bytes: 1_000), from: "a") && small.add(Self.report(2, bytes: 3_000), from: "b"))
    }

    @Test func `path and fields count as what they take`() {
        let field = WaitingReport.Field(name: "Content-Type", value: String(repeating: "x", count: 3_000))
        let queue = ReportQueue(byteLimit: 4_000, sharers: 1)
        let long = WaitingReport(
            path: "/\(String(repeating: "p", count: 1_000))", fields: [field], address: "", body: [])
        #expect(!queue.add(long, from: "a") && queue.add(Self.report(0), from: "a"))
    }

    @Test func `reports that the upstream has put off give way first`() {
        let queue = ReportQueue(countLimit: 4, sharers: 1)
        for number in 0..<4 { #expect(queue.add(Self.report(number), from: "a")) }
        for place in queue.take(2) { queue.putBack(place, for: .seconds(60)) }
        #expect(queue.add(Self.report(4), from: "b") && queue.add(Self.report(5), from: "b"))
        #expect(!queue.add(Self.report(6), from: "b"))
        #expect(queue.outcomes[.displaced] == 2 && queue.outcomes[.turnedAway] == 1)
        #expect(queue.take(10).map(\.report.path) == ["/2", "/3", "/4", "/5"])
    }
}
