package import PinWire

extension ClientView {
    /// A published pin, and the facts about its key.
    package struct ClientPin: Hashable, Sendable {
        package var pin: Pin
        package var role: PinRole
        /// Nil where only the pin is known.
        package var knowledge: KeyKnowledge?
        /// Whether a probe saw it in use as the server's own key when it last looked.
        package var isServed: Bool

        /// Certificates of the key, the newest first.
        package var certificates: [CertificateFacts] { self.knowledge?.certificates ?? [] }

        /// Its certificates that servers of a host can present as their own, the newest first.
        package func serverCertificates(at pattern: HostPattern) -> [CertificateFacts] {
            self.certificates.filter { $0.isServers(at: pattern) }
        }
    }
}

extension CertificateFacts {
    /// Whether servers of a host can present it as their own.
    ///
    /// A certificate that says it may sign and has the host for its common name is a server's, as `openssl req -x509`
    /// makes them.
    package func isServers(at pattern: HostPattern) -> Bool {
        !self.isAuthority || self.covers(pattern) == .commonNameOnly
    }
}
