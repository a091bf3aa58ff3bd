package import PinWire

/// A receiver's answer.
package struct ReceiverAnswer: Hashable, Sendable {
    package var status: Int
    /// The `Retry-After` field.
    package var retryAfter: String?
    /// The beginning of the body, as much as the caller wanted.
    package var body: [UInt8]

    package init(status: Int, retryAfter: String? = nil, body: [UInt8] = []) {
        self.status = status
        self.retryAfter = retryAfter
        self.body = body
    }
}

/// Why there is no answer.
package enum SendFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The address may not be called.
    case refused(String)
    case unresolved(String)
    case noConnection(String)
    case timedOut
    /// The connection broke, or the answer was not HTTP.
    case broken(String)
    /// The node stops.
    case stopped
    /// There is no secret to sign with.
    case unsigned(String)

    package var description: String {
        switch self {
        case .refused(let why): "not called: \(why)"
        case .unresolved(let why): "the name cannot be resolved: \(why)"
        case .noConnection(let why): "no connection: \(why)"
        case .timedOut: "no answer in time"
        case .broken(let why): "the exchange broke off: \(why)"
        case .stopped: "the node stopped before there was an answer"
        case .unsigned(let why): "not signed: \(why)"
        }
    }
}

/// The consequence of an attempt. A pure function of the attempt's result, so that it can be tested by itself.
package enum DeliveryVerdict: Hashable, Sendable {
    case delivered(status: Int)
    /// To be tried again; `isGone` where the receiver wants no more messages at all.
    case failed(delay: Double, status: Int?, error: String, isGone: Bool)
    /// Tried for the whole time.
    case dead(status: Int?, error: String)
    /// Not tried to its end.
    case released

    /// - Parameters:
    ///   - attempt: The attempt's number, from 1.
    ///   - first: The time of the first attempt.
    ///   - random: Uniform from 0 to 1.
    package init(
        _ result: Result<ReceiverAnswer, SendFailure>, attempt: Int, first: Timestamp, now: Timestamp, random: Double
    ) {
        let status: Int?
        let error: String
        var requested: Int64?
        switch result {
        case .success(let answer) where (200...299).contains(answer.status):
            self = .delivered(status: answer.status)
            return
        case .success(let answer):
            status = answer.status
            error = Self.text(of: answer)
            requested = answer.retryAfter.flatMap { RetryAfter.seconds($0, now: now) }
        case .failure(.stopped):
            self = .released
            return
        case .failure(let failure): (status, error) = (nil, Self.printable(failure.description))
        }
        let delay = Backoff.delay(after: attempt, random: random, requested: requested)
        if status != 410, Backoff.isOver(first: first, now: now, delay: delay) {
            self = .dead(status: status, error: error)
        } else {
            self = .failed(delay: delay, status: status, error: error, isGone: status == 410)
        }
    }

    /// An answer other than success, in words, with the beginning of its body.
    package static func text(of answer: ReceiverAnswer) -> String {
        let head =
            (300...399).contains(answer.status)
            ? "answered \(answer.status): redirects are not followed" : "answered \(answer.status)"
        let body = String(decoding: answer.body, as: UTF8.self)
        return Self.printable(body.isEmpty ? head : "\(head): \(body)")
    }

    /// At most 500 characters of printable ASCII.
    package static func printable(_ text: String) -> String {
        String(text.unicodeScalars.prefix(500).map { (0x20...0x7E).contains($0.value) ? Character($0) : "?" })
    }
}
