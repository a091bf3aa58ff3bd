/// The writes to a store, one at a time. Those who ask while one is under way share the next one, which stores what there is by then.
actor StoreWrites {
    private var last: Task<Void, Never>?
    /// The write that has not begun.
    private var next: Task<Void, Never>?

    /// Begins a write, or joins the next one.
    func begin(_ write: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        if let next { return next }
        let before = self.last
        // Owned by this actor until it has ended; it is one write.
        let task = Task {
            await before?.value
            self.next = nil
            await write()
        }
        (self.next, self.last) = (task, task)
        return task
    }
}
