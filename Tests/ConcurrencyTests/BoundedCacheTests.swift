import Concurrency
import SeededRandom
import Testing

@Suite struct `A bounded cache` {
    private func keys(_ cache: BoundedCache<Int, String>) -> [Int] { (0..<100).filter { cache[$0] != nil } }

    @Test func `a bounded cache lets go of what was taken in first`() {
        var few = BoundedCache<Int, String>(entries: 3)
        for key in [1, 2, 3, 1, 4] { few.keep("\(key)", for: key) }
        #expect(self.keys(few) == [1, 3, 4], "what was taken in again is young")
        var small = BoundedCache<Int, String>(bytes: 100)
        for key in 1...5 { small.keep("\(key)", for: key, size: 30) }
        #expect(self.keys(small) == [3, 4, 5])
        small.keep("replaced", for: 4, size: 10)
        small.keep("6", for: 6, size: 30)
        #expect(self.keys(small) == [3, 4, 5, 6] && small[4] == "replaced")
        small.keep("large", for: 7, size: 1000)
        #expect(self.keys(small) == [7], "the newest is kept, however large")
        small.keep("8", for: 8, size: 30)
        #expect(self.keys(small) == [8])
    }

    @Test func `a bounded cache makes room for what grows, which itself stays`() {
        var cache = BoundedCache<Int, String>(bytes: 100)
        for key in 1...3 { cache.keep("\(key)", for: key, size: 30) }
        cache.grow(1, by: 30)
        #expect(self.keys(cache) == [1, 3])
        cache.grow(1, by: -50)
        for key in 4...5 { cache.keep("\(key)", for: key, size: 30) }
        #expect(self.keys(cache) == [1, 3, 4, 5])
        cache.grow(9, by: 1000)
        cache.update(3) { $0 = "changed" }
        #expect(self.keys(cache) == [1, 3, 4, 5] && cache[3] == "changed")
    }

    @Test func `a bounded cache keeps to its bounds whatever happens, and forgets nothing without need`() {
        let seed = TestSeed.chosen(or: 4)
        var generator = SeededGenerator(seed: seed)
        var cache = BoundedCache<Int, String>(entries: 20, bytes: 500)
        var sizes: [Int: Int] = [:]
        for _ in 0..<TestDepth.rounds(20_000) {
            let key = Int.random(in: 0..<60, using: &generator)
            let size = Int.random(in: 0...60, using: &generator)
            let before = self.keys(cache).filter { $0 != key }
            let room = before.count < 20 && before.reduce(size) { $0 + (sizes[$1] ?? 0) } <= 500
            cache.keep("", for: key, size: size)
            sizes[key] = size
            let kept = self.keys(cache)
            let bytes = kept.reduce(0) { $0 + (sizes[$1] ?? 0) }
            #expect(kept.contains(key) && kept.count <= 20 && bytes <= 500, "seed \(seed)")
            if room { #expect(kept.count == before.count + 1, "seed \(seed)") }
        }
    }
}
