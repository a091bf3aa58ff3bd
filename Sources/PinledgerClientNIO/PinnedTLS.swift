public import NIOCore
import NIOSSL
public import PinWire
public import PinledgerClient
import SwiftASN1
import Synchronization
import X509

/// Makes TLS connections of SwiftNIO trust what a client's document says.
///
/// Each handshake is judged once its chain has been validated by swift-certificates' verifier: by the authorities, the host's name, the
/// time, and what each certificate may be used for. Pins only ever refuse what would have been accepted. Sessions are not resumed, so that every
/// connection shows its certificates and is judged by the policy of its own moment: a kill switch reaches the next connection.
public struct PinnedTLS: Sendable {
    /// The authorities to which chains have to lead.
    @nonexhaustive
    public enum Authorities: Sendable {
        /// Those of the system; on Linux alone.
        case system
        /// These, and no others: certificates in PEM.
        case only(pem: [String])
    }

    /// Why a handshake was refused.
    public struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
        public let host: String
        public let outcome: ConnectionEvent.Outcome
        /// The pins of the validated chain, the host's own first.
        public let chain: [Pin]

        private static func list(_ pins: [Pin]) -> String {
            pins.isEmpty ? "none" : pins.map(\.description).joined(separator: ", ")
        }

        public var description: String {
            switch self.outcome {
            case .invalidChain(let reason): "\(self.host) does not present a valid certificate: \(reason)"
            case .judged(let verdict):
                switch verdict.result {
                case .refused:
                    "no certificate of \(self.host) has one of the pins: it serves \(Self.list(self.chain)), and pinned are \(Self.list(verdict.decision?.pins.map(\.pin) ?? []))"
                case .refusedExpired: "the pins of \(self.host) have ended, and this app blocks it then"
                case .refusedWithoutDocument: "there is no document, and this app blocks \(self.host) without one"
                case .refusedHost: "“\(self.host)” is neither a host's name nor an address"
                case .unpinned, .matched, .mismatched: "\(self.host) was accepted"
                }
            }
        }
    }

    /// Authorities that cannot be had.
    public struct NoSystemAuthorities: Error, Hashable, Sendable, CustomStringConvertible {
        public var description: String {
            "swift-certificates finds the system's authorities on Linux alone: give PinnedTLS those that are trusted, as .only(pem:)"
        }
    }

    /// What became of one handshake, for the code that made it.
    final class Attempt: Sendable {
        private let event = Mutex<ConnectionEvent?>(nil)

        /// Nil where the handshake was accepted, or did not come to its chain.
        var refusal: Refusal? {
            self.event.withLock { $0 }.flatMap {
                $0.isAccepted ? nil : Refusal(host: $0.host, outcome: $0.outcome, chain: $0.chain)
            }
        }

        /// What was judged; nil before.
        var judged: ConnectionEvent? { self.event.withLock { $0 } }

        fileprivate func note(_ event: ConnectionEvent) { self.event.withLock { $0 = event } }
    }

    /// The most certificates of a presented chain that are looked at; a longer one is refused.
    public static let chainLimit = 12

    private let client: PinledgerClient
    private var context: NIOSSLContext
    private let roots: CertificateStore
    private let clock: @Sendable () -> Timestamp
    private let onEvent: @Sendable (ConnectionEvent) -> Void
    private let open = OpenConnections()

    /// - Parameters:
    ///   - applicationProtocols: What is offered by ALPN, such as `["h2", "http/1.1"]`.
    ///   - onEvent: Called once for each handshake, before its connection is used. It must not block.
    /// - Throws: ``NoSystemAuthorities``, an error of swift-certificates for authorities that are not PEM, or of swift-nio-ssl.
    public init(
        client: PinledgerClient, authorities: Authorities = .system, applicationProtocols: [String] = [],
        onEvent: @escaping @Sendable (ConnectionEvent) -> Void = { _ in },
        clock: @escaping @Sendable () -> Timestamp = SystemClock.now
    ) throws {
        self.context = try Self.context(offering: applicationProtocols)
        self.client = client
        self.roots =
            switch authorities {
            case .system: try Self.systemAuthorities
            case .only(let pem): CertificateStore(try pem.map { try Certificate(pemEncoded: $0) })
            }
        self.clock = clock
        self.onEvent = onEvent
    }

    private static var systemAuthorities: CertificateStore {
        get throws(NoSystemAuthorities) {
            #if os(Linux)
                return .systemTrustRoots
            #else
                // There it is empty, and every connection would be refused.
                throw NoSystemAuthorities()
            #endif
        }
    }

    /// The same for connections that offer other protocols by ALPN, such as `["http/1.1"]`.
    public func offering(_ applicationProtocols: [String]) throws -> PinnedTLS {
        var other = self
        other.context = try Self.context(offering: applicationProtocols)
        return other
    }

    /// Fetches a document where that is due before a connection: see ``PinledgerClient/PinledgerClient/prepare(for:atMost:)``.
    ///
    /// - Parameter timeout: How long the whole request may take.
    func prepare(for host: String, within timeout: Duration) async {
        await self.client.prepare(for: host, atMost: min(self.client.connectionWait, timeout))
    }

    private static func context(offering applicationProtocols: [String]) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.applicationProtocols = applicationProtocols
        configuration.minimumTLSVersion = .tlsv12
        return try NIOSSLContext(configuration: configuration)
    }

    /// Makes a channel's connection pinned: puts the TLS handler, and what ``closeRefused()`` knows the connection by, before all handlers
    /// that are there. To be called on the channel's event loop, before the channel is active.
    ///
    /// - Parameter host: The name, in A-labels, which pins are looked up by; or an address, which the certificate has to be for, and for which
    ///   nothing is ever pinned.
    /// - Throws: An error of swift-nio-ssl for a name that TLS cannot send.
    public func addHandlers(to pipeline: ChannelPipeline.SynchronousOperations, for host: String) throws {
        try self.addHandlers(to: pipeline, for: host, Attempt())
    }

    func addHandlers(to pipeline: ChannelPipeline.SynchronousOperations, for host: String, _ attempt: Attempt) throws {
        let tls = try self.handler(for: host, attempt)
        // Before what is there already: a handler before TLS would send without it.
        try pipeline.addHandlers(
            [tls, OpenConnectionHandler(self.open, attempt, isRefused: self.isRefusedNow)], position: .first)
    }

    /// Whether the policy that holds now refuses what an earlier one let through.
    @Sendable
    private func isRefusedNow(_ event: ConnectionEvent) -> Bool {
        let policy = self.client.policy
        return policy.generation != event.policy.generation
            && !policy.judge(event.chain, of: event.host, at: self.clock()).isAccepted
    }

    /// Closes open connections that are refused by now, until the task is cancelled: whenever another document holds, and once a minute, for
    /// what a document says of time, such as the end of a kill switch.
    public func run() async { await self.run(every: .seconds(60)) }

    /// - Parameter tick: How often connections are judged for what a document says of time.
    package func run(every tick: Duration) async {
        let updates = self.client.policyUpdates()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in updates { self.closeRefused() } }
            group.addTask {
                while !Task.isCancelled {
                    self.closeRefused()
                    try? await Task.sleep(for: tick)
                }
            }
        }
    }

    /// Judges the open connections again, by the policy that holds now, and closes those that it refuses: those that an earlier document
    /// let through.
    ///
    /// - Returns: How many were closed.
    @discardableResult
    public func closeRefused() -> Int {
        let (policy, now) = (self.client.policy, self.clock())
        return self.open.close { !policy.judge($0.chain, of: $0.host, at: now).isAccepted }
    }

    private func handler(for host: String, _ attempt: Attempt) throws -> NIOSSLClientHandler {
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        let isAddress = (try? SocketAddress(ipAddress: name, port: 443)) != nil
        return try NIOSSLClientHandler(context: self.context, serverHostname: isAddress ? nil : name) {
            (presented, promise) in
            // Ends by itself: a chain of limited length is verified with a limited number of look-ups, and the promise is completed with
            // what came of it.
            promise.completeWithTask {
                let event = await self.judge(presented, of: name, isAddress: isAddress)
                attempt.note(event)
                self.onEvent(event)
                return event.isAccepted ? .certificateVerified : .failed
            }
        }
    }

    private func judge(_ presented: [NIOSSLCertificate], of host: String, isAddress: Bool) async -> ConnectionEvent {
        guard PinPolicy.canBeHost(host) else {
            // No certificate is for it: the chain's failure would hide the app's mistake.
            return ConnectionEvent(
                host: host, outcome: .judged(ConnectionVerdict(.refusedHost, nil)), policy: self.client.policy,
                chain: [])
        }
        let validation = await self.validated(presented, for: host, isAddress)
        await self.client.ready()
        let policy = self.client.policy
        switch validation {
        case .invalid(let reason):
            return ConnectionEvent(host: host, outcome: .invalidChain(reason), policy: policy, chain: [])
        case .valid(let chain):
            let verdict = policy.judge(chain, of: host, at: self.clock())
            if verdict.callsForDocument { self.client.noteRefusal() }
            return ConnectionEvent(host: host, outcome: .judged(verdict), policy: policy, chain: chain)
        }
    }

    private enum Validation {
        case valid([Pin])
        case invalid(String)
    }

    /// The pins of the validated chain, the host's own certificate first.
    private func validated(
        _ presented: [NIOSSLCertificate], for host: String, _ isAddress: Bool
    ) async -> Validation {
        guard (1...Self.chainLimit).contains(presented.count) else {
            return .invalid("the server presents \(presented.count) certificates")
        }
        let certificates: [Certificate]
        do {
            certificates = try presented.map { try Certificate(derEncoded: try $0.toDERBytes()) }
        } catch { return .invalid("the server presents a malformed certificate") }
        var verifier = Verifier(rootCertificates: self.roots) {
            RFC5280Policy()
            ServerChainPolicy()
            ServerIdentityPolicy(serverHostname: isAddress ? nil : host, serverIP: isAddress ? host : nil)
        }
        let result = await verifier.validate(
            leaf: certificates[0],
            intermediates: CertificateStore(custom: PresentedIntermediates(certificates.dropFirst())))
        switch result {
        case .validCertificate(let chain):
            // A certificate whose key cannot be read has no pin.
            return .valid(chain.compactMap(\.pin))
        case .couldNotValidate(let failures):
            let reasons = failures.prefix(3).map { "\($0.policyFailureReason)" }
            return .invalid(
                reasons.isEmpty ? "no chain leads to a trusted authority" : reasons.joined(separator: "; "))
        }
    }
}
