/// Lets only so many in at once: the server has a limit of connections and the process one of files, and tests run in
/// parallel without one.
actor Turnstile {
    static let shared = Turnstile(places: 8)

    /// True within ``pass(_:)``: whoever has a place needs no second one, for which all that have one could wait for ever.
    @TaskLocal private static var isInside = false

    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(places: Int) { self.free = places }

    /// Runs `body` when there is a place, and at once within a body that has one: a suite may take turns whose tests have
    /// databases.
    nonisolated func pass(_ body: @concurrent @Sendable () async throws -> Void) async throws {
        guard !Self.isInside else { return try await body() }
        await self.enter()
        let result: Result<Void, any Error>
        do {
            result = .success(try await Self.$isInside.withValue(true) { try await body() })
        } catch {
            result = .failure(error)
        }
        await self.leave()
        try result.get()
    }

    private func enter() async {
        if self.free > 0 {
            self.free -= 1
        } else {
            await withCheckedContinuation { self.waiting.append($0) }
        }
    }

    private func leave() {
        if self.waiting.isEmpty { self.free += 1 } else { self.waiting.removeFirst().resume() }
    }
}
