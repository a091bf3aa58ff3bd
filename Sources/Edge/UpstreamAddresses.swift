import Synchronization

/// The addresses at which an edge's upstream is asked: one at a time, and the next one where that gives no answer that can be used.
///
/// The edge stays with the address that answers, also where an earlier one is back: what it serves never goes back, whichever it asks.
final class UpstreamAddresses: Sendable {
    /// Scheme, host and port, and perhaps a path, without a slash at the end; at least one.
    private let all: [String]
    private let place = Atomic(0)
    private let onChange: @Sendable (_ address: String, _ failure: UpstreamFailure) -> Void

    /// - Parameter onChange: Called with the address that is asked from now on, and with why the one before is not.
    init(_ all: [String], onChange: @escaping @Sendable (_ address: String, _ failure: UpstreamFailure) -> Void) {
        self.all = all.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
        self.onChange = onChange
    }

    /// The address that is asked, with its place in the list.
    private var current: (place: Int, address: String) {
        let place = self.place.load(ordering: .acquiring)
        return (place, self.all[place])
    }

    /// Goes on to the next address, unless another part of the edge has done so.
    private func leave(_ place: Int, because failure: UpstreamFailure) {
        let next = (place + 1) % self.all.count
        let (isFirst, _) = self.place.compareExchange(expected: place, desired: next, ordering: .acquiringAndReleasing)
        if isFirst, next != place { self.onChange(self.all[next], failure) }
    }

    /// Asks one address after the other, each once, until one gives an answer or refuses for a reason that others share.
    func ask<Answer>(
        _ ask: (_ address: String) async throws(UpstreamFailure) -> Answer
    ) async throws(UpstreamFailure) -> Answer {
        for _ in self.all.dropLast() {
            do throws(UpstreamFailure) { return try await self.askOne(ask) } catch {
                guard error.mayBeOfOneAddress, !Task.isCancelled else { throw error }
            }
        }
        return try await self.askOne(ask)
    }

    /// Asks the present address alone.
    func askOne<Answer>(
        _ ask: (_ address: String) async throws(UpstreamFailure) -> Answer
    ) async throws(UpstreamFailure) -> Answer {
        let (place, address) = self.current
        do throws(UpstreamFailure) { return try await ask(address) } catch {
            if error.mayBeOfOneAddress, !Task.isCancelled { self.leave(place, because: error) }
            throw error
        }
    }
}

extension UpstreamFailure {
    /// True where another address of the same upstream may answer.
    fileprivate var mayBeOfOneAddress: Bool {
        switch self {
        case .unreachable, .malformed: true
        // A place that is being set up knows no token yet.
        case .status(let status, _): status >= 500 || status == 401 || status == 403
        case .token: false
        }
    }
}
