import Pinning
import Synchronization

/// The places for decisions that are made beside the line of commands: few at a time, one for each sender and one for each stream that
/// is to be changed. Who finds none free waits in a bounded line.
final class LargeDecisions: Sendable {
    /// A holder of a place, of which each may have one.
    enum Sharer: Hashable, Sendable {
        case sender(CommandRequest.Sender)
        case stream(StreamID)
    }

    /// A place that is given back once.
    final class Place: Sendable {
        private let owner: LargeDecisions
        private let sharers: Set<Sharer>
        private let isTaken = Atomic(true)

        fileprivate init(_ owner: LargeDecisions, _ sharers: Set<Sharer>) {
            self.owner = owner
            self.sharers = sharers
        }

        func release() {
            if self.isTaken.exchange(false, ordering: .relaxed) { self.owner.giveBack(self.sharers) }
        }

        deinit { self.release() }
    }

    private struct State {
        var line: ShareLine<CommandRequest.Sender, Sharer>
        var nextID = 0
        var continuations: [Int: CheckedContinuation<Bool, Never>] = [:]
    }

    private let state: Mutex<State>

    init(_ limits: Writer.Limits) {
        self.state = Mutex(State(line: ShareLine(limit: limits.largeDecisions, waiting: limits.largeWaiting)))
    }

    /// Waits for a place.
    ///
    /// - Parameters:
    ///   - isRehearsal: True where nothing is recorded: then several may look at one stream.
    ///   - patience: How long to wait.
    /// - Throws: ``WriteFailure/overloaded`` where too many wait, or one waits too long or was cancelled.
    func place(
        for request: CommandRequest, isRehearsal: Bool = false, atMost patience: Duration
    ) async throws(WriteFailure) -> Place {
        var sharers: Set<Sharer> = [.sender(request.sender)]
        if !isRehearsal { sharers.insert(.stream(request.command.stream)) }
        let id = self.state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let timer = Task {
            guard (try? await Task.sleep(for: patience)) != nil else { return }
            self.withdraw(id)
        }
        // The task lives no longer than this wait, which cancels it.
        defer { timer.cancel() }
        let isGranted = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = self.state.withLock { state -> Bool? in
                    // Asked within the lock: a cancellation after this finds the continuation.
                    guard !Task.isCancelled else { return false }
                    switch state.line.request(id, of: request.sender, sharers) {
                    case .grant: return true
                    case .refuse: return false
                    case .wait:
                        state.continuations[id] = continuation
                        return nil
                    }
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            self.withdraw(id)
        }
        guard isGranted else { throw .overloaded }
        return Place(self, sharers)
    }

    private func giveBack(_ sharers: Set<Sharer>) {
        let granted = self.state.withLock { state in
            state.line.release(sharers).compactMap { state.continuations.removeValue(forKey: $0) }
        }
        for continuation in granted { continuation.resume(returning: true) }
    }

    private func withdraw(_ id: Int) {
        let continuation = self.state.withLock { state in
            state.line.withdraw(id) ? state.continuations.removeValue(forKey: id) : nil
        }
        continuation?.resume(returning: false)
    }
}
