import PinWire
import Testing
import Webhooks

@Suite struct `What follows from an attempt` {
    private let first = Timestamp(seconds: 1_770_000_000)

    private func verdict(
        _ result: Result<ReceiverAnswer, SendFailure>, attempt: Int = 1, after seconds: Int64 = 1, random: Double = 0.5
    ) -> DeliveryVerdict {
        DeliveryVerdict(
            result, attempt: attempt, first: self.first, now: self.first.adding(seconds: seconds), random: random)
    }

    @Test(arguments: [200, 201, 202, 204, 299])
    func `an attempt is delivered where the receiver says so`(status: Int) {
        #expect(self.verdict(.success(.init(status: status))) == .delivered(status: status))
    }

    @Test(arguments: [199, 300, 301, 302, 307, 308, 400, 404, 429, 500, 503])
    func `an attempt with any other status leads to another attempt`(status: Int) {
        guard case .failed(let delay, status, let error, isGone: false) = self.verdict(.success(.init(status: status)))
        else {
            Issue.record("\(status)")
            return
        }
        #expect(delay == 5 && error.hasPrefix("answered \(status)"))
        #expect(error.contains("redirects are not followed") == (300...399).contains(status))
    }

    @Test func `an attempt at a receiver that is gone pauses the webhook, however long it was tried`() {
        for seconds: Int64 in [1, 4 * 86_400] {
            let verdict = self.verdict(.success(.init(status: 410)), after: seconds)
            #expect(verdict == .failed(delay: 5, status: 410, error: "answered 410", isGone: true))
        }
    }

    @Test func `an attempt without an answer leads to another, and the node's own stop to none`() {
        let failures: [SendFailure] = [
            .refused("no"), .unresolved("no"), .noConnection("no"), .timedOut, .broken("no"), .unsigned("no"),
        ]
        for failure in failures {
            #expect(
                self.verdict(.failure(failure))
                    == .failed(delay: 5, status: nil, error: failure.description, isGone: false))
        }
        #expect(self.verdict(.failure(.stopped)) == .released)
    }

    @Test func `an attempt after three days is the last`() {
        let answer = Result<ReceiverAnswer, SendFailure>.success(.init(status: 500))
        #expect(
            self.verdict(answer, attempt: 12, after: 3 * 86_400 - 21_600)
                == .failed(delay: 21_600, status: 500, error: "answered 500", isGone: false))
        #expect(
            self.verdict(answer, attempt: 12, after: 3 * 86_400 - 21_599) == .dead(status: 500, error: "answered 500"))
    }

    @Test func `the next attempt waits longer where the receiver asks for it, within bounds`() {
        func delay(_ text: String) -> Double? {
            let result = self.verdict(.success(.init(status: 503, retryAfter: text)))
            guard case .failed(let delay, _, _, _) = result else { return nil }
            return delay
        }
        #expect(delay("3") == 5)
        #expect(delay("120") == 120)
        #expect(delay("999999999999999999999") == 21_600)
        #expect(delay("soon") == 5 && delay("-9") == 5 && delay("") == 5)
        // 2026-02-02T02:40:01Z is the time of the attempt.
        #expect(delay("Mon, 02 Feb 2026 02:41:01 GMT") == 60)
        #expect(delay("Mon, 02 Feb 2026 01:41:01 GMT") == 5)
        #expect(delay("Mon, 32 Feb 2026 02:41:01 GMT") == 5)
    }

    @Test func `an attempt keeps the readable part of an answer`() {
        let body = Array("no\u{1B}[31m \u{E9}".utf8) + [0xFF] + Array(String(repeating: "x", count: 600).utf8)
        let text = DeliveryVerdict.text(of: .init(status: 500, body: body))
        #expect(text.hasPrefix("answered 500: no?[31m ??") && text.unicodeScalars.count == 500)
        #expect(text.utf8.allSatisfy { (0x20...0x7E).contains($0) })
    }

    @Test func `the times of attempts are drawn around steps that grow`() {
        let steps: [Double] = [5, 30, 120, 600, 1800, 7200, 21_600, 21_600]
        for (index, step) in steps.enumerated() {
            #expect(Backoff.delay(after: index + 1, random: 0) == 1)
            #expect(Backoff.delay(after: index + 1, random: 0.5) == step)
            #expect(Backoff.delay(after: index + 1, random: 1) == 2 * step)
        }
        #expect(Backoff.delay(after: 1000, random: 0.5) == 21_600 && Backoff.delay(after: 0, random: 0.5) == 5)
    }
}
