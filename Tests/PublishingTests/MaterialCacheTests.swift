import PinWire
import Testing

@testable import Publishing

@Suite struct `A cache of keys and certificates` {
    private let now = ContinuousClock.now

    private func digest(_ number: Int) -> [UInt8] { sha256(Array("\(number)".utf8)) }

    private func take(_ cache: inout MaterialCache, _ numbers: Range<Int>, size: Int) {
        cache.take(numbers.map { (key: self.digest($0), value: [UInt8](repeating: UInt8($0), count: size)) })
    }

    @Test func `a cache of keys and certificates gives what it stored, and names what it does not have`() {
        var cache = MaterialCache(limit: 10_000)
        self.take(&cache, 1..<3, size: 10)
        let (found, unknown) = cache.find((1..<4).map(self.digest), at: self.now)
        #expect(
            found == [self.digest(1): Array(repeating: 1, count: 10), self.digest(2): Array(repeating: 2, count: 10)])
        #expect(unknown == [self.digest(3)])
    }

    @Test func `a cache of keys and certificates asks again for missing ones only after a while, or once they exist`() {
        var cache = MaterialCache(limit: 10_000)
        let digests = [self.digest(1), self.digest(2)]
        cache.takeMissing(digests, at: self.now)
        #expect(cache.find(digests, at: self.now).unknown.isEmpty && cache.find(digests, at: self.now).found.isEmpty)
        #expect(cache.find(digests, at: self.now + MaterialCache.missingTime).unknown == digests)
        self.take(&cache, 1..<2, size: 1)
        #expect(cache.find(digests, at: self.now).found == [self.digest(1): [1]])
    }

    @Test func `a cache of keys and certificates remembers for a while that the database did not answer`() {
        var cache = MaterialCache(limit: 10_000)
        #expect(!cache.isSilent(at: self.now))
        cache.takeSilence(at: self.now)
        #expect(cache.isSilent(at: self.now) && cache.isSilent(at: self.now + .seconds(1)))
        #expect(!cache.isSilent(at: self.now + MaterialCache.missingTime))
    }

    @Test func `a cache of keys and certificates drops the oldest when full, and keeps nothing larger than itself`() {
        let limit = 3 * (100 + MaterialCache.overhead)
        var cache = MaterialCache(limit: limit)
        self.take(&cache, 0..<3, size: 100)
        // What is there already takes no more.
        self.take(&cache, 0..<3, size: 100)
        #expect(cache.find((0..<3).map(self.digest), at: self.now).found.count == 3)
        self.take(&cache, 7..<8, size: limit)
        #expect(cache.find((0..<3).map(self.digest), at: self.now).found.count == 3)
        self.take(&cache, 3..<4, size: 100)
        #expect(Set(cache.find((0..<9).map(self.digest), at: self.now).found.keys) == Set((1..<4).map(self.digest)))
    }

    @Test func `a cache of keys and certificates remembers a bounded number of missing digests`() {
        var cache = MaterialCache(limit: 1000)
        let many = (0..<MaterialCache.missingLimit).map(self.digest)
        cache.takeMissing(many, at: self.now)
        #expect(cache.find(many, at: self.now).unknown.isEmpty)
        cache.takeMissing([self.digest(-1)], at: self.now)
        #expect(cache.find([self.digest(-1)], at: self.now).unknown.isEmpty)
        #expect(cache.find(many, at: self.now).unknown.count == many.count)
    }
}
