package import Addresses
import Concurrency
package import NIOCore
package import NIOPosix

/// Looks up the addresses of names, through the system's resolver or another one.
///
/// A system resolver blocks and cannot be stopped: each look-up holds one of a few threads while it lasts, and the
/// caller gives up when its time is over. Callers that wait for a thread form a bounded line; the time in it does not
/// count as the name's.
package final class NameResolver: Sendable {
    /// Finds every address of a name; may block. Empty if there is none.
    package typealias LookUp = @Sendable (String) throws(ResolutionFailure) -> [IPAddress]

    /// Further addresses are dropped.
    package static let maximumAddresses = 64

    private let threads: NIOThreadPool
    private let limiter: ConcurrencyLimiter<Never>
    private let loop: any EventLoop
    private let lookUp: LookUp

    /// - Parameters:
    ///   - threads: Started; its number of threads SHOULD be `concurrency`, or look-ups wait in it without a bound.
    ///   - loop: Measures the time.
    package init(
        threads: NIOThreadPool, concurrency: Int, maximumWaiting: Int, loop: any EventLoop,
        lookUp: @escaping LookUp
    ) {
        self.threads = threads
        self.limiter = ConcurrencyLimiter(limit: concurrency, waiting: maximumWaiting)
        self.loop = loop
        self.lookUp = lookUp
    }

    /// Every address of a name, each once, in the resolver's order.
    ///
    /// - Parameters:
    ///   - timeout: For the look-up.
    ///   - patience: For the wait before it.
    package func addresses(
        of name: String, timeout: Duration, patience: Duration
    ) async throws(ResolutionFailure) -> [IPAddress] {
        let places: [ConcurrencyLimiter<Never>.Place]
        do throws(ConcurrencyLimiter<Never>.NoPlace) {
            places = try await self.limiter.wait(within: patience)
        } catch {
            switch error {
            case .overloaded: throw .overloaded
            case .cancelled: throw .cancelled
            }
        }
        let first = FirstAnswer<Result<[IPAddress], ResolutionFailure>>()
        let timer = self.loop.scheduleTask(in: TimeAmount(timeout)) { first.give(.failure(.timedOut)) }
        defer { timer.cancel() }
        self.threads.submit { [lookUp] state in
            // Only now: the thread is busy until then, even without a waiting caller.
            defer { for place in places { place.release() } }
            guard case .active = state else { return first.give(.failure(.closed)) }
            do throws(ResolutionFailure) {
                first.give(.success(try lookUp(name)))
            } catch {
                first.give(.failure(error))
            }
        }
        let answer = await withTaskCancellationHandler {
            await first.take()
        } onCancel: {
            first.give(.failure(.cancelled))
        }
        var known: Set<IPAddress> = []
        let addresses = try answer.get().filter { known.insert($0).inserted }.prefix(Self.maximumAddresses)
        guard !addresses.isEmpty else { throw .noAddress }
        return Array(addresses)
    }
}
