import Synchronization

/// Bounds how much goes on at the same time: so many places in all, fewer for each of those who share them, and a
/// bounded line of tasks that wait for one.
///
/// `Sharer` is what a place counts for besides the total, such as an app, a connection or a network; `Never` where
/// nothing is shared out.
package final class ConcurrencyLimiter<Sharer: Hashable & Sendable>: Sendable {
    /// A place that is given back once.
    package final class Place: Sendable {
        private let limiter: ConcurrencyLimiter
        private let sharers: [Sharer]
        private let isTaken = Atomic(true)

        fileprivate init(_ limiter: ConcurrencyLimiter, _ sharers: [Sharer]) {
            self.limiter = limiter
            self.sharers = sharers
        }

        package func release() {
            if self.isTaken.exchange(false, ordering: .relaxed) { self.limiter.giveBack(self.sharers) }
        }

        // What is given up before it was begun still gives its place back.
        deinit { self.release() }
    }

    /// Why a task that was ready to wait got no place.
    package enum NoPlace: String, Error, Sendable, CustomStringConvertible {
        /// Or the wait was too long.
        case overloaded = "too many wait already"
        case cancelled = "it was cancelled"

        package var description: String { self.rawValue }
    }

    private struct State {
        var line: PermitLine
        /// Places by sharer; none has zero.
        var shares: [Sharer: Int] = [:]
        var nextID: PermitLine.RequestID = 0
        var continuations: [PermitLine.RequestID: CheckedContinuation<NoPlace?, Never>] = [:]
    }

    private let state: Mutex<State>
    private let share: @Sendable (Sharer) -> Int

    /// - Parameters:
    ///   - limit: Places in all.
    ///   - waiting: Tasks that may wait.
    ///   - share: Places that one sharer may have of them.
    package init(limit: Int, waiting: Int = 0, share: @escaping @Sendable (Sharer) -> Int = { _ in .max }) {
        self.state = Mutex(State(line: PermitLine(maximumPermits: limit, maximumWaiting: waiting)))
        self.share = share
    }

    /// How many places are taken.
    package var count: Int { self.state.withLock { $0.line.maximumPermits - $0.line.free } }

    /// A place without waiting; nil where all are taken, or all that one of its sharers may have.
    package func take(for sharers: [Sharer] = []) -> Place? {
        let isTaken = self.state.withLock { state in
            guard sharers.allSatisfy({ state.shares[$0, default: 0] < self.share($0) }), state.line.take(1) else {
                return false
            }
            for sharer in sharers { state.shares[sharer, default: 0] += 1 }
            return true
        }
        return isTaken ? Place(self, sharers) : nil
    }

    /// Waits for so many places at once, first come, first served. They are given back one by one.
    ///
    /// - Parameters:
    ///   - count: From 1 to the limit.
    ///   - patience: How long to wait; nil for as long as it takes.
    package func wait(for count: Int = 1, within patience: Duration?) async throws(NoPlace) -> [Place] {
        if let reason = await self.enter(count, patience) { throw reason }
        return (0..<count).map { _ in Place(self, []) }
    }

    private func enter(_ count: Int, _ patience: Duration?) async -> NoPlace? {
        let (id, isTaken) = self.state.withLock { state in
            state.nextID += 1
            return (state.nextID, !Task.isCancelled && state.line.take(count))
        }
        guard !isTaken else { return nil }
        return await withTaskCancellationHandler {
            // Lives no longer than this wait, which cancels it.
            let timer = patience.map { patience in
                Task {
                    guard (try? await Task.sleep(for: patience)) != nil else { return }
                    self.withdraw(id, .overloaded)
                }
            }
            defer { timer?.cancel() }
            return await withCheckedContinuation { continuation in
                let answer: NoPlace?? = self.state.withLock { state in
                    // Asked within the lock: a cancellation after this finds the continuation.
                    guard !Task.isCancelled else { return .some(.cancelled) }
                    switch state.line.request(id, count: count) {
                    case .grant: return .some(nil)
                    case .refuse: return .some(.overloaded)
                    case .wait:
                        state.continuations[id] = continuation
                        return nil
                    }
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            self.withdraw(id, .cancelled)
        }
    }

    private func giveBack(_ sharers: [Sharer]) {
        let granted = self.state.withLock { state in
            for sharer in sharers {
                let left = state.shares[sharer, default: 0] - 1
                state.shares[sharer] = left > 0 ? left : nil
            }
            return state.line.release(1).compactMap { state.continuations.removeValue(forKey: $0) }
        }
        for continuation in granted { continuation.resume(returning: nil) }
    }

    private func withdraw(_ id: PermitLine.RequestID, _ reason: NoPlace) {
        let (withdrawn, granted) = self.state.withLock { state in
            let (wasWaiting, granted) = state.line.withdraw(id)
            return (
                wasWaiting ? state.continuations.removeValue(forKey: id) : nil,
                granted.compactMap { state.continuations.removeValue(forKey: $0) }
            )
        }
        withdrawn?.resume(returning: reason)
        for continuation in granted { continuation.resume(returning: nil) }
    }
}
