import Synchronization
import Testing

@testable import Concurrency

@Suite(.timeLimit(.minutes(60))) struct `A cache that makes a value once` {
    private typealias Cache = SingleFlightCache<String, String>

    private struct Trouble: Error {}

    private final class Tally: Sendable {
        private let count = Mutex(0)

        /// The number after `change` is added.
        @discardableResult
        func add(_ change: Int) -> Int {
            self.count.withLock { count in
                count += change
                return count
            }
        }
    }

    /// Returns when so many wait.
    private func wait(for count: Int, at cache: Cache) async {
        while cache.waiterCount("one") < count { await Task.yield() }
    }

    private func value(
        _ cache: Cache, _ key: String = "one", isCurrent: @Sendable (String, Bool) -> Bool = { _, _ in true },
        size: Int? = nil, make: () async throws -> String
    ) async throws -> String {
        try await cache.value(for: key, isCurrent: isCurrent) { () async throws -> (value: String, size: Int?) in
            (try await make(), size)
        }
    }

    @Test func `requests for the same value wait until the first of them is done, and get its result`() async throws {
        let (cache, made) = (Cache(), Tally())
        let told = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    try await self.value(cache) {
                        await self.wait(for: 99, at: cache)
                        // Another value has a first request of its own.
                        let other = try await self.value(cache, "other") { "other" }
                        #expect(other == "other")
                        return "made \(made.add(1))"
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(told == Array(repeating: "made 1", count: 100))
        // Nothing was kept: a later request is the first again.
        #expect(try await self.value(cache) { "made \(made.add(1))" } == "made 2")
    }

    @Test func `requests for the same value compete again where the first fails, and one of them is next`() async throws
    {
        let (cache, atWork, tries) = (Cache(), Tally(), Tally())
        let told = await withTaskGroup(of: String?.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    try? await self.value(cache) {
                        #expect(atWork.add(1) == 1, "two make it at the same time")
                        defer { atWork.add(-1) }
                        let number = tries.add(1)
                        await self.wait(for: 50 - number, at: cache)
                        guard number > 1 else { throw Trouble() }
                        return "made"
                    }
                }
            }
            return await group.reduce(into: [String?]()) { $0.append($1) }
        }
        #expect(told.filter { $0 == "made" }.count == 49 && told.filter { $0 == nil }.count == 1)
        #expect(tries.add(0) == 2)
    }

    @Test(arguments: [nil, 1]) func `requests for the same value get nothing from a cancelled one, kept or not`(
        size: Int?
    ) async throws {
        let (cache, tries) = (Cache(), Tally())
        let first = Task {
            try await self.value(cache, size: size) {
                tries.add(1)
                while !Task.isCancelled { await Task.yield() }
                return "cut short"
            }
        }
        while tries.add(0) == 0 { await Task.yield() }
        let second = Task { try await self.value(cache, size: size) { "whole" } }
        await self.wait(for: 1, at: cache)
        first.cancel()
        #expect(try await first.value == "cut short")
        #expect(try await second.value == "whole")
    }

    @Test func `requests for the same value make it themselves where each result is out of date`() async throws {
        let (cache, made) = (Cache(), Tally())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    _ = try await self.value(cache, isCurrent: { _, _ in false }) {
                        await Task.yield()
                        return "made \(made.add(1))"
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(made.add(0) == 20)
    }

    @Test func `a kept value serves every request for as long as it is current`() async {
        let cache = SingleFlightCache<String, Int>(entries: 1)
        func value(_ key: String, from least: Int, making new: Int, size: Int?) async -> Int {
            await cache.value(for: key) { value, isKept in
                isKept && value >= least
            } make: {
                (new, size)
            }
        }
        #expect(await value("a", from: 0, making: 1, size: nil) == 1 && cache["a"] == nil)
        #expect(await value("a", from: 0, making: 2, size: 0) == 2 && cache["a"] == 2)
        #expect(await value("a", from: 2, making: 3, size: 0) == 2)
        #expect(await value("a", from: 3, making: 3, size: 0) == 3 && cache["a"] == 3)
        cache.update("a") { $0 += 1 }
        #expect(await value("a", from: 4, making: 5, size: 0) == 4)
        #expect(await value("b", from: 0, making: 6, size: 0) == 6 && cache["a"] == nil)
    }
}
