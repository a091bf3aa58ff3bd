import Concurrency
import LogLines
package import Logging

/// Passes clients' reports on to the upstream: several at a time, over connections that stay open, and again where the upstream takes none.
package struct ReportForwarder: Sendable {
    private let queue: ReportQueue
    private let upstream: Upstream
    private let logger: Logger

    /// Reports under way at a time.
    private static let batch = 16
    /// How long a report may wait for the next look.
    private static let idlePause = Duration.milliseconds(100)
    /// The first and the longest pause after a failure.
    private static let (firstPause, longestPause) = (Duration.milliseconds(500), Duration.seconds(30))

    package init(queue: ReportQueue, upstream: Upstream, logger: Logger) {
        self.queue = queue
        self.upstream = upstream
        self.logger = logger
    }

    /// Forwards until cancelled, and then what still waits, as far as that goes at once.
    package func run() async {
        var pause = Self.firstPause
        while !Task.isCancelled {
            let places = self.queue.take(Self.batch)
            guard !places.isEmpty else {
                try? await Task.sleep(for: Self.idlePause)
                continue
            }
            guard let failure = await self.forward(places) else {
                pause = Self.firstPause
                continue
            }
            guard !Task.isCancelled else { break }
            self.logger.log(.reportsNotForwarded, ["error": "\(failure)"])
            try? await Task.sleep(for: pause)
            pause = min(pause * 2, Self.longestPause)
        }
        await finish(within: .seconds(5)) {
            while !Task.isCancelled {
                let places = self.queue.take(Self.batch)
                guard !places.isEmpty, await self.forward(places) == nil else { return }
            }
        }
    }

    /// Forwards some reports at once. What may be sent again waits again, behind the others.
    ///
    /// - Returns: Why the upstream took none of them.
    private func forward(_ places: [ReportQueue.Place]) async -> UpstreamFailure? {
        await withTaskGroup(of: UpstreamFailure?.self) { group in
            for place in places {
                group.addTask {
                    do throws(UpstreamFailure) {
                        switch try await self.upstream.send(place.report) {
                        case .taken: self.queue.count(.forwarded)
                        case .refused: self.queue.count(.refused)
                        case .later(let seconds): self.queue.putBack(place, for: .seconds(min(max(seconds, 1), 300)))
                        }
                        return nil
                    } catch {
                        self.queue.putBack(place, for: .zero)
                        return error
                    }
                }
            }
            var (failure, count): (UpstreamFailure?, Int) = (nil, 0)
            for await failed in group {
                if let failed { (failure, count) = (failed, count + 1) }
            }
            return count == places.count ? failure : nil
        }
    }
}
