package import PinWire

/// Whose a pinned key is, as far as uploads show: for clients that compare only the server's own key, or keep
/// authorities' in another list.
package enum KeyOwner: Hashable, Sendable {
    case server
    case authority
    /// Only the pin or the key was uploaded.
    case unknown
}

extension ClientView.ClientPin {
    /// Whose the key is, from the point of view of a host.
    package func owner(at pattern: HostPattern) -> KeyOwner {
        // A request for a certificate comes from its future owner.
        if self.certificates.isEmpty { return self.knowledge?.hasRequest == true ? .server : .unknown }
        return self.serverCertificates(at: pattern).isEmpty ? .authority : .server
    }

    /// Whether it is known to be an authority's: there are certificates of it, and no server of the host can present
    /// one as its own.
    package func isAuthority(at pattern: HostPattern) -> Bool { self.owner(at: pattern) == .authority }
}
