/// Why a probe, or the probe of one address, has no chain to show.
package struct ProbeFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// How far it had come.
    package enum Stage: String, Hashable, Sendable, CaseIterable {
        case resolution, connection
        case startTLS = "starttls"
        case handshake
    }

    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// There is no such name, or it has no address.
        case nameNotResolved = "name_not_resolved"
        /// The resolver could not find out, or took too long. Says nothing about the host.
        case resolverFailed = "resolver_failed"
        /// The operator's ``AddressPolicy`` refuses the address.
        case blocked
        /// From this machine no way leads there, such as to IPv6 from a network without it. Says nothing about the host.
        case unreachable
        /// Nothing listens on the port.
        case refused
        case reset
        /// The host ended the connection in good order, but too early.
        case closed
        case timedOut = "timed_out"
        /// What answers does not speak TLS.
        case notTLS = "not_tls"
        /// More bytes, or more certificates, than anybody needs.
        case tooLarge = "too_large"
        /// The host declined, in TLS.
        case handshakeAlert = "handshake_alert"
        /// The host did what TLS forbids, or could not prove that it has the certificate's key.
        case handshakeFailed = "handshake_failed"
        /// The protocol before TLS went another way.
        case startTLSRefused = "starttls_refused"
        /// Too many probes wait already, or this one waited too long for its turn. Says nothing about the host.
        case overloaded
        case cancelled
    }

    package var stage: Stage
    package var kind: Kind
    /// One sentence for people.
    package var reason: String

    package init(_ stage: Stage, _ kind: Kind, _ reason: String) {
        self.stage = stage
        self.kind = kind
        self.reason = reason
    }

    /// Whether it says anything about the host, rather than about this machine, its network or its policy.
    package var isEvidence: Bool {
        switch self.kind {
        case .resolverFailed, .blocked, .unreachable, .overloaded, .cancelled: false
        case .nameNotResolved, .refused, .reset, .closed, .timedOut, .notTLS, .tooLarge, .handshakeAlert,
            .handshakeFailed, .startTLSRefused:
            true
        }
    }

    package var description: String { self.reason }
}
