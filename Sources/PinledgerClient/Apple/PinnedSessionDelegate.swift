// Apple's systems: a chain that URLSession presents is validated by the system, and then judged.
#if canImport(Security)
    public import Foundation
    public import PinWire
    public import Security
    internal import Synchronization

    #if canImport(FoundationNetworking)
        public import FoundationNetworking
    #endif

    /// Makes a URLSession trust what a client's document says.
    ///
    ///     let delegate = PinnedSessionDelegate(client: client)
    ///     let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
    ///
    /// The system validates each chain first, for the host's name and at this time: pins only ever refuse what it would have accepted. Then
    /// the policy of that moment judges the chain that the system has validated.
    ///
    /// The system keeps connections open, and resumes TLS sessions for some minutes without showing a certificate (Technical Q&A QA1727): the
    /// delegate is not asked then. When another document holds (``PinledgerClient/policies``), ``cancelRefused(in:)`` judges again what it
    /// has seen, and ``replacedSession(_:)`` leaves all connections behind. Tasks whose own delegate answers such challenges are not judged.
    public final class PinnedSessionDelegate: NSObject, URLSessionTaskDelegate, Sendable {
        /// One judged chain, for reports and support screens.
        public struct Event: Sendable {
            public enum Outcome: Hashable, Sendable {
                /// The system does not trust the chain, with its words: pins were not looked at.
                case invalidChain(String)
                case judged(ConnectionVerdict)
            }

            public var host: String
            public var outcome: Outcome
            /// The policy that judged.
            public var policy: PinPolicy
            /// The pins of the validated chain, the host's own first; none where the chain is invalid.
            public var chain: [Pin]

            /// Whether the connection goes on.
            public var isAccepted: Bool {
                switch self.outcome {
                case .invalidChain: false
                case .judged(let verdict): verdict.isAccepted
                }
            }
        }

        private let client: PinledgerClient
        private let clock: @Sendable () -> Timestamp
        private let onEvent: @Sendable (Event) -> Void
        /// The last chain that each host has presented.
        private let seen = Mutex<[String: [Pin]]>([:])
        /// The most hosts that are remembered.
        private static let seenLimit = 1000

        /// - Parameter onEvent: Called once for each handshake, before its connection is used. It must not block.
        public init(
            client: PinledgerClient, onEvent: @escaping @Sendable (Event) -> Void = { _ in },
            clock: @escaping @Sendable () -> Timestamp = SystemClock.now
        ) {
            self.client = client
            self.onEvent = onEvent
            self.clock = clock
        }

        /// The session's own challenges: those of connections.
        public func urlSession(
            _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            let space = challenge.protectionSpace
            guard space.authenticationMethod == NSURLAuthenticationMethodServerTrust else {
                return completionHandler(.performDefaultHandling, nil)
            }
            guard let trust = space.serverTrust else { return completionHandler(.cancelAuthenticationChallenge, nil) }
            let event = self.judge(trust, of: space.host)
            self.onEvent(event)
            guard event.isAccepted else { return completionHandler(.cancelAuthenticationChallenge, nil) }
            completionHandler(.useCredential, URLCredential(trust: trust))
        }

        /// Validates a chain by the system, for the host, and judges it: for tasks with a delegate of their own.
        public func judge(_ trust: SecTrust, of host: String) -> Event {
            // The name is part of the policy that is evaluated: a trust that came with another one is not believed.
            SecTrustSetPolicies(trust, SecPolicyCreateSSL(true, host as CFString))
            var failure: CFError?
            let isTrusted = unsafe SecTrustEvaluateWithError(trust, &failure)
            let policy = self.client.policy
            guard isTrusted, let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate] else {
                let words = failure.map { "\($0)" } ?? "the system does not trust it"
                return Event(host: host, outcome: .invalidChain(words), policy: policy, chain: [])
            }
            // A certificate whose key cannot be read has no pin.
            let pins = chain.compactMap { certificate in
                SubjectPublicKeyInfo(certificate: [UInt8](SecCertificateCopyData(certificate) as Data))?.pin
            }
            self.seen.withLock { seen in
                if seen.count < Self.seenLimit || seen[host] != nil { seen[host] = pins }
            }
            let verdict = policy.judge(pins, of: host, at: self.clock())
            if verdict.result == .refused { self.client.noteRefusal() }
            return Event(host: host, outcome: .judged(verdict), policy: policy, chain: pins)
        }

        /// Judges the hosts' last chains again, by the policy that holds now, and cancels the tasks of those that it refuses.
        ///
        /// - Returns: The hosts that are refused. New tasks to them may still find an open connection: replace the session.
        @discardableResult
        public func cancelRefused(in session: URLSession) async -> Set<String> {
            let (policy, now) = (self.client.policy, self.clock())
            let refused = self.seen.withLock { seen in
                Set(seen.filter { !policy.judge($0.value, of: $0.key, at: now).isAccepted }.keys)
            }
            for task in await session.allTasks where task.currentRequest?.url?.host.map(refused.contains) == true {
                task.cancel()
            }
            return refused
        }

        /// A new session in place of an old one, whose connections are left behind: for the moment when another document holds. The old one
        /// ends once its tasks are finished. Whether the system then also forgets TLS sessions that it could resume is not documented.
        public func replacedSession(_ session: URLSession) -> URLSession {
            let new = URLSession(
                configuration: session.configuration, delegate: self, delegateQueue: session.delegateQueue)
            session.finishTasksAndInvalidate()
            return new
        }
    }

    extension PinledgerReporter {
        /// Takes up a judged handshake: give it to ``PinnedSessionDelegate`` as `onEvent`.
        public nonisolated func record(_ event: PinnedSessionDelegate.Event) {
            switch event.outcome {
            case .invalidChain: self.recordInvalidChain(of: event.host, by: event.policy)
            case .judged(let verdict): self.record(verdict, of: event.host, by: event.policy, chain: event.chain)
            }
        }
    }
#endif
