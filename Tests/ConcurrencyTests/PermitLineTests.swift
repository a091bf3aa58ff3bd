import SeededRandom
import Testing

@testable import Concurrency

@Suite struct `A line for permits` {
    @Test func `a line for permits grants, queues, and then refuses`() {
        var line = PermitLine(maximumPermits: 3, maximumWaiting: 2)
        #expect(line.request(1, count: 2) == .grant)
        #expect(line.request(2, count: 2) == .wait)
        #expect(line.request(3, count: 1) == .wait)
        #expect(line.request(4, count: 1) == .refuse)
    }

    @Test func `a line for permits keeps its order`() {
        var line = PermitLine(maximumPermits: 3, maximumWaiting: 9)
        _ = line.request(1, count: 3)
        _ = line.request(2, count: 3)
        _ = line.request(3, count: 1)
        #expect(line.release(1) == [] && line.release(1) == [])
        #expect(line.release(1) == [2])
        #expect(line.release(3) == [3] && line.free == 2)
    }

    @Test func `a line for permits moves up when a waiter leaves`() {
        var line = PermitLine(maximumPermits: 3, maximumWaiting: 9)
        _ = line.request(1, count: 2)
        _ = line.request(2, count: 3)
        _ = line.request(3, count: 1)
        let left = line.withdraw(2)
        #expect(left.wasWaiting && left.granted == [3])
        #expect(!line.withdraw(2).wasWaiting && !line.withdraw(1).wasWaiting && line.free == 0)
    }

    @Test func `a line for permits neither loses nor makes permits, whatever happens`() {
        let seed = TestSeed.chosen(or: 8)
        var generator = SeededGenerator(seed: seed)
        var line = PermitLine(maximumPermits: 8, maximumWaiting: 5)
        var counts: [UInt64: Int] = [:]
        var held: Set<UInt64> = []
        for id in 1...UInt64(TestDepth.rounds(20_000)) {
            switch UInt8.random(in: 0..<3, using: &generator) {
            case 0:
                counts[id] = Int.random(in: 1...8, using: &generator)
                if line.request(id, count: counts[id] ?? 0) == .grant { held.insert(id) }
            case 1:
                guard let done = held.sorted().randomElement(using: &generator) else { continue }
                held.remove(done)
                held.formUnion(line.release(counts[done] ?? 0))
            default:
                if let gone = line.waiting.randomElement(using: &generator) {
                    held.formUnion(line.withdraw(gone.id).granted)
                }
            }
            #expect(line.free + held.reduce(0) { $0 + (counts[$1] ?? 0) } == 8, "seed \(seed)")
            #expect(line.waiting.count <= 5, "seed \(seed)")
            // The first waiter only waits because permits are missing.
            #expect(line.waiting.first.map { $0.count > line.free } ?? true, "seed \(seed)")
        }
    }
}
