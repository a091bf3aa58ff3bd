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
    /// let through, and ``session(like:)`` makes a session without those connections. Tasks whose own delegate answers such challenges are not
    /// judged.
    ///
    /// Over HTTP/2 the system may use a connection for a second host that its certificate names and whose address is the same, without
    /// asking. Give hosts with pins a session of their own, or one for each set of hosts with the same pins.
    public final class PinnedSessionDelegate: NSObject, URLSessionTaskDelegate, Sendable {
        private let client: PinledgerClient
        private let clock: @Sendable () -> Timestamp
        private let onEvent: @Sendable (ConnectionEvent) -> Void
        /// The chains that were let through, by the host's name in its one spelling: connections with them may be open.
        private let accepted = Mutex<[String: Set<[Pin]>]>([:])
        /// The most hosts that are remembered, and the most chains of each.
        private static let limits = (hosts: 1000, chains: 16)

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
            guard let trust = space.serverTrust else { return completionHandler(.cancelAuthenticationChallenge, nil) }
            let event = self.judge(trust, of: space.host)
            self.onEvent(event)
            guard event.isAccepted else { return completionHandler(.cancelAuthenticationChallenge, nil) }
            completionHandler(.useCredential, URLCredential(trust: trust))
        }

        /// Validates a chain by the system, for the host, and judges it: for tasks with a delegate of their own.
        ///
        /// It blocks while the system validates, which may ask the network: call it where URLSession calls delegates, not in a task.
        public func judge(_ trust: SecTrust, of host: String) -> ConnectionEvent {
            // The name is part of the policy that is evaluated: a trust that came with another one is not believed.
            let isForHost = SecTrustSetPolicies(trust, SecPolicyCreateSSL(true, host as CFString)) == errSecSuccess
            var failure: CFError?
            let isTrusted = unsafe isForHost && SecTrustEvaluateWithError(trust, &failure)
            let policy = self.client.policy
            guard isTrusted, let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate] else {
                let words = failure.map { "\($0)" } ?? "the system does not trust it"
                return ConnectionEvent(host: host, outcome: .invalidChain(words), policy: policy, chain: [])
            }
            // A certificate whose key cannot be read has no pin.
            let pins = chain.compactMap { certificate in
                SubjectPublicKeyInfo(certificate: [UInt8](SecCertificateCopyData(certificate) as Data))?.pin
            }
            let verdict = policy.judge(pins, of: host, at: self.clock())
            if verdict.isAccepted { self.remember(pins, of: host) }
            if verdict.result == .refused { self.client.noteRefusal() }
            return ConnectionEvent(host: host, outcome: .judged(verdict), policy: policy, chain: pins)
        }

        private func remember(_ chain: [Pin], of host: String) {
            guard let name = HostPattern.canonical(host) else { return }
            self.accepted.withLock { accepted in
                guard accepted.count < Self.limits.hosts || accepted[name] != nil else { return }
                var chains = accepted[name] ?? []
                if chains.count >= Self.limits.chains { chains.removeAll() }
                chains.insert(chain)
                accepted[name] = chains
            }
        }

        /// Judges again what was let through, by the policy that holds now, and cancels the tasks to hosts of which it refuses a chain: which
        /// of a host's connections a task uses is not known.
        ///
        /// - Returns: The hosts. New tasks to them may still find an open connection: make another session (``session(like:)``).
        @discardableResult
        public func cancelRefused(in session: URLSession) async -> Set<String> {
            let (policy, now) = (self.client.policy, self.clock())
            let accepted = self.accepted.withLock { $0 }
            let refused = Set(
                accepted.filter { host, chains in
                    chains.contains { !policy.judge($0, of: host, at: now).isAccepted }
                }.keys)
            for task in await session.allTasks {
                guard let host = task.currentRequest?.url?.host.flatMap({ HostPattern.canonical($0) }),
                    refused.contains(host)
                else { continue }
                task.cancel()
            }
            self.accepted.withLock { current in for host in refused { current[host] = nil } }
            return refused
        }

        /// A session with connections of its own, to take the place of another one when another document holds. Not for background sessions,
        /// whose identifier is theirs alone.
        ///
        /// Call `finishTasksAndInvalidate()` on the old one when nothing creates tasks in it any more: a task in an invalidated session ends the
        /// app. Whether the system also forgets TLS sessions that it could resume is not documented.
        public func session(like session: URLSession) -> URLSession {
            URLSession(configuration: session.configuration, delegate: self, delegateQueue: nil)
        }
    }
#endif
