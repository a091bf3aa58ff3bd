// Apple's systems: a chain that URLSession presents is validated by the system, and then judged.
#if canImport(Security)
    internal import Dispatch
    public import Foundation
    public import PinWire
    public import Security

    #if canImport(FoundationNetworking)
        public import FoundationNetworking
    #endif

    /// Makes a URLSession trust what a client's document says.
    ///
    ///     let delegate = PinnedSessionDelegate(client: client)
    ///     let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
    ///
    /// The system validates each chain first, for the host's name and at this time: pins only ever refuse what it would have accepted. Then
    /// the policy of that moment judges the chain that the system has validated. A task whose connection was refused ends as a cancelled one
    /// (`NSURLErrorCancelled`), whatever the reason: `onEvent` alone has it.
    ///
    /// The system keeps connections open, and resumes TLS sessions for some minutes without showing a certificate (Technical Q&A QA1727): the
    /// delegate is not asked then. When another document holds (``PinledgerClient/policyUpdates()``), ``cancelRefused(in:)`` judges again what it
    /// let through, and ``session(like:)`` makes a session without those connections. Tasks whose own delegate answers such challenges are not
    /// judged.
    ///
    /// Over HTTP/2 the system may use a connection for a second host that its certificate names and whose address is the same, without
    /// asking. Give hosts with pins a session of their own, or one for each set of hosts with the same pins.
    public final class PinnedSessionDelegate: NSObject, URLSessionTaskDelegate, Sendable {
        private let client: PinledgerClient
        private let clock: @Sendable () -> Timestamp
        private let onEvent: @Sendable (ConnectionEvent) -> Void
        private let accepted = AcceptedChains()
        /// Where chains are validated: the system may ask the network meanwhile, and a session's own queue would hold up its other tasks, or the
        /// user interface.
        private let validation = DispatchQueue(
            label: "pinledger.validation", qos: .userInitiated, attributes: .concurrent)

        /// - Parameter onEvent: Called once for each handshake, before its connection is used. It must not block.
        public init(
            client: PinledgerClient, onEvent: @escaping @Sendable (ConnectionEvent) -> Void = { _ in },
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
            let host = space.host
            guard let trust = space.serverTrust else { return completionHandler(.cancelAuthenticationChallenge, nil) }
            // nonisolated(unsafe), invariant: one at a time uses it. This method hands it to the task, and the task to the queue; neither looks at
            // it afterwards.
            nonisolated(unsafe) let handed = trust
            // Ends by itself: the look at the store has its time, and so has the system's validation.
            Task {
                await self.client.ready()
                self.validation.async {
                    let event = unsafe self.judge(handed, of: host)
                    self.onEvent(event)
                    guard event.isAccepted else { return completionHandler(.cancelAuthenticationChallenge, nil) }
                    completionHandler(.useCredential, unsafe URLCredential(trust: handed))
                }
            }
        }

        /// Validates a chain by the system, for the host, and judges it: for tasks with a delegate of their own.
        ///
        /// The trust's policies are replaced by the system's for TLS servers with this name: what else was set, such as a policy for revocation, is not asked.
        /// It blocks while the system validates, which may ask the network: call it neither on the main thread nor in a task. Await
        /// ``PinledgerClient/load()`` before the first call.
        public func judge(_ trust: SecTrust, of host: String) -> ConnectionEvent {
            // The name is part of the policy that is evaluated: a trust that came with another one is not believed.
            let isForHost = SecTrustSetPolicies(trust, SecPolicyCreateSSL(true, host as CFString)) == errSecSuccess
            var failure: CFError?
            let isTrusted = unsafe isForHost && SecTrustEvaluateWithError(trust, &failure)
            guard isTrusted, let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate] else {
                let words = failure.map { "\($0)" } ?? "the system does not trust it"
                return ConnectionEvent(
                    host: host, outcome: .invalidChain(words), policy: self.client.policy, chain: [])
            }
            // A certificate whose key cannot be read has no pin.
            let pins = chain.compactMap { certificate in
                SubjectPublicKeyInfo(certificate: [UInt8](SecCertificateCopyData(certificate) as Data))?.pin
            }
            var policy = self.client.policy
            var verdict = policy.judge(pins, of: host, at: self.clock())
            if verdict.isAccepted {
                self.accepted.insert(pins, of: host)
                // Another document may have come between: `cancelRefused` would not have found this chain.
                let present = self.client.policy
                if present.generation != policy.generation {
                    policy = present
                    verdict = policy.judge(pins, of: host, at: self.clock())
                }
            }
            if verdict.callsForDocument { self.client.noteRefusal() }
            return ConnectionEvent(host: host, outcome: .judged(verdict), policy: policy, chain: pins)
        }

        /// Judges again what was let through, by the policy that holds now, and cancels the tasks to hosts of which it refuses a chain: which
        /// of a host's connections a task uses is not known.
        ///
        /// A task that begins afterwards may still find an open connection: let new tasks begin in another session (``session(like:)``) from before
        /// this call on.
        ///
        /// - Parameter sessions: All sessions of this delegate from before that may have tasks, also those that are being finished.
        /// - Returns: The hosts whose tasks were cancelled.
        @discardableResult
        public func cancelRefused(in sessions: [URLSession]) async -> Set<String> {
            let (policy, now) = (self.client.policy, self.clock())
            let refused = self.accepted.takeRefused { host, chain in
                !policy.judge(chain, of: host, at: now).isAccepted
            }
            var hosts: Set<String> = []
            for session in sessions {
                for task in await session.allTasks {
                    guard let host = task.currentRequest?.url?.host.flatMap({ HostPattern.canonical($0) }),
                        refused.contains(host)
                    else { continue }
                    hosts.insert(host)
                    task.cancel()
                }
            }
            return hosts
        }

        /// Whether something that was let through is refused by now: a new document may say so, and the time, such as the end of a kill switch. To be asked
        /// once a minute. Where there are more than 1000 hosts, the others are judged again only when another document holds.
        public var hasAcceptedRefused: Bool {
            let (policy, now) = (self.client.policy, self.clock())
            return self.accepted.containsRefused { !policy.judge($1, of: $0, at: now).isAccepted }
        }

        /// A session with connections of its own, to take the place of another one when another document holds: with its configuration, its
        /// delegate and its delegate's queue. Not for background sessions, whose identifier is theirs alone.
        ///
        /// Call `finishTasksAndInvalidate()` on the old one when nothing creates tasks in it any more: a task in an invalidated session ends the
        /// app. Whether the system also forgets TLS sessions that it could resume is not documented.
        public func session(like session: URLSession) -> URLSession {
            let next = URLSession(
                configuration: session.configuration, delegate: session.delegate ?? self,
                delegateQueue: session.delegateQueue)
            next.sessionDescription = session.sessionDescription
            return next
        }
    }
#endif
