/// Lets only so many in at once: the server has a limit of connections, and tests run in parallel without one.
actor Turnstile {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(places: Int) { self.free = places }

    func enter() async {
        if self.free > 0 {
            self.free -= 1
        } else {
            await withCheckedContinuation { self.waiting.append($0) }
        }
    }

    func leave() {
        if self.waiting.isEmpty { self.free += 1 } else { self.waiting.removeFirst().resume() }
    }
}
