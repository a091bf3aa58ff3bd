/// Why a probe, or the probe of one address, has no chain.
package struct ProbeFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// How far the probe had come.
    package enum Stage: String, Hashable, Sendable, CaseIterable {
        case resolution, connection
        case startTLS = "starttls"
        case handshake
    }

    /// The kind of a failure. The raw values are stable: records and the API hold them.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// There is no such name, or it has no address.
        case nameNotResolved = "name_not_resolved"
        /// The resolver could not find out, or took too long. It says nothing about the host.
        case resolverFailed = "resolver_failed"
        /// The operator's ``AddressPolicy`` refuses the address.
        case blocked
        /// This machine has no route there, such as to IPv6 from a network without it. It says nothing about the host.
        case unreachable
        /// Nothing listens on the port.
        case refused
        case reset
        /// The host ended the connection in good order, but too early.
        case closed
        case timedOut = "timed_out"
        /// The answer is not TLS.
        case notTLS = "not_tls"
        /// The host sent more bytes, or more certificates, than any client needs.
        case tooLarge = "too_large"
        /// The host declined, in TLS.
        case handshakeAlert = "handshake_alert"
        /// The host violated TLS, or could not prove that it has the certificate's key.
        case handshakeFailed = "handshake_failed"
        /// The protocol before TLS took another course.
        case startTLSRefused = "starttls_refused"
        /// Too many probes wait already, or this one waited too long for its turn. It says nothing about the host.
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

    /// Whether it is about the host, rather than about this machine, its network or its policy.
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
