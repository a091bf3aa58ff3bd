/// Lets only so many in at once: the server has a limit of connections and the process one of files, and tests run in
/// parallel without one.
actor Turnstile {
    static let shared = Turnstile(places: 8)

    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(places: Int) { self.free = places }

    /// Runs `body` when there is a place.
    nonisolated func pass(_ body: @concurrent @Sendable () async throws -> Void) async throws {
        await self.enter()
        let result: Result<Void, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
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
