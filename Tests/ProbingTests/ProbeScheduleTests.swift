import Addresses
import PinWire
import Probing
import Testing

@Suite struct `A probe schedule` {
    private let schedule = ProbeSchedule()
    private let last = Timestamp(seconds: 1_800_000_000)

    private func seconds(_ failures: Int, isWatched: Bool = false, random: Double = 0.5) -> Int64 {
        let history = ProbeSchedule.History(last: self.last, failures: failures)
        let next = self.schedule.next(after: history, isWatched: isWatched, now: self.last, random: random)
        return (next.microseconds - self.last.microseconds) / 1_000_000
    }

    @Test(
        arguments: [
            (0, 900), (1, 1800), (2, 3600), (3, 7200), (4, 14_400), (5, 21_600), (6, 21_600), (1000, 21_600), (-1, 900),
        ] as [(Int, Int64)])
    func `a probe schedule doubles the interval with each failure, up to six hours`(failures: Int, seconds: Int64) {
        #expect(self.seconds(failures) == seconds)
    }

    @Test func `a probe schedule differs by a fifth either way`() {
        #expect(self.seconds(0, random: 0) == 720)
        #expect((1079...1080).contains(self.seconds(0, random: 0.999999)))
        #expect(self.seconds(20, random: 0) == 17_280)
        #expect(self.seconds(0, isWatched: true, random: 0) == 48)
    }

    @Test(arguments: [0, 1, 10])
    func `a probe schedule probes a watched host every minute, even if it fails`(failures: Int) {
        #expect(self.seconds(failures, isWatched: true) == 60)
    }

    /// `--probe-interval 10` is not slowed down by a rotation.
    @Test(arguments: [(10, 10), (60, 60), (900, 60)] as [(Int64, Int64)])
    func `a probe schedule probes a watched host never less often than another`(interval: Int64, seconds: Int64) {
        let schedule = ProbeSchedule(interval: interval)
        let history = ProbeSchedule.History(last: self.last, failures: 0)
        let next = schedule.next(after: history, isWatched: true, now: self.last, random: 0.5)
        #expect(next == self.last.adding(seconds: seconds))
    }

    @Test func `a probe schedule spreads first probes over an interval, and makes watched ones at once`() {
        let now = self.last
        for (random, seconds) in [(0, 0), (0.25, 225), (0.5, 450)] as [(Double, Int64)] {
            let next = self.schedule.next(after: .init(), isWatched: false, now: now, random: random)
            #expect(next == now.adding(seconds: seconds))
        }
        #expect(self.schedule.next(after: .init(), isWatched: true, now: now, random: 0.9) == now)
    }

    @Test func `a probe schedule counts results that say something about the host`() throws {
        let target = try ProbeTarget("probe.test")
        func report(_ kind: ProbeFailure.Kind) -> ProbeReport {
            ProbeReport(target: target, failure: ProbeFailure(.connection, kind, "because"))
        }
        let chain = PresentedChain(certificates: [[1]], keyKind: .rsa, version: "TLSv1.3")
        let address = try #require(IPAddress("192.0.2.1"))
        let served = ProbeReport(
            target: target,
            addresses: [
                AddressReport(address: address, outcome: .failed(ProbeFailure(.connection, .refused, ""))),
                AddressReport(address: address, outcome: .served(ServedChains(chains: [chain], otherKind: .absent))),
            ])
        var history = ProbeSchedule.History()
        var failures: [Int] = []
        for report in [report(.timedOut), report(.unreachable), report(.refused), report(.overloaded), served] {
            history = history.adding(report, at: self.last)
            failures.append(history.failures)
        }
        #expect(failures == [1, 1, 2, 2, 0] && history.last == self.last)
    }
}
