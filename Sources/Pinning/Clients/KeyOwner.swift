package import PinWire

/// Whose a pinned key is, as far as anybody showed: for clients that compare the server's own key alone, or keep
/// authorities' in another list.
package enum KeyOwner: Hashable, Sendable {
    case server
    case authority
    /// Nobody showed more than the pin or the key.
    case unknown
}

extension ClientView.ClientPin {
    /// Whose the key is, seen from a host.
    package func owner(at pattern: HostPattern) -> KeyOwner {
        // A request for a certificate is made by whoever is to have it.
        if self.certificates.isEmpty { return self.knowledge?.hasRequest == true ? .server : .unknown }
        return self.serverCertificates(at: pattern).isEmpty ? .authority : .server
    }

    /// Whether it is known to be an authority's: there are certificates of it, and no server of the host can present
    /// one as its own.
    package func isAuthority(at pattern: HostPattern) -> Bool { self.owner(at: pattern) == .authority }
}
