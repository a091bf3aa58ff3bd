/// The pins that a host can have in App Transport Security.
///
/// Where a host had identities of both kinds, servers' own and authorities', both would have to match. So there is one:
/// the kind that servers have a key of now. Keys of which nobody showed a certificate are taken for servers' own.
package struct PinnedIdentities: Sendable {
    /// In the order of ``ClientView/Host/orderedPins``, as are the others.
    package let kept: [ClientView.ClientPin]
    package let dropped: [ClientView.ClientPin]
    /// Whether those that are kept are authorities' keys.
    package let areAuthorities: Bool
    /// Whether of no leading pin anybody showed whose it is.
    package let isGuess: Bool

    package init(of host: ClientView.Host) {
        let owners = Set(host.leadingPins.map { $0.owner(at: host.pattern) })
        // Where one leading pin is known to be an authority's, no other that may be one decides.
        let areAuthorities = owners.contains(.authority) && !owners.contains(.server)
        let pins = host.orderedPins
        self.kept = pins.filter { $0.isAuthority(at: host.pattern) == areAuthorities }
        self.dropped = pins.filter { $0.isAuthority(at: host.pattern) != areAuthorities }
        self.areAuthorities = areAuthorities
        self.isGuess = owners == [.unknown]
    }
}
