/// The pins that a host can have in App Transport Security.
///
/// If a host had identities of both kinds, servers' own and authorities', both would have to match. So it has one: the
/// kind of which servers have a key now. Keys without an uploaded certificate count as servers' own.
package struct PinnedIdentities: Sendable {
    /// In the order of ``ClientView/Host/orderedPins``, as are the others.
    package let kept: [ClientView.ClientPin]
    package let dropped: [ClientView.ClientPin]
    /// Whether the kept pins are authorities' keys.
    package let areAuthorities: Bool
    /// Whether the owner of no leading pin is known.
    package let isGuess: Bool

    package init(of host: ClientView.Host) {
        let owners = Set(host.leadingPins.map { $0.owner(at: host.pattern) })
        // Where one leading pin is known to be an authority's, it decides, whatever the others may be.
        let areAuthorities = owners.contains(.authority) && !owners.contains(.server)
        let pins = host.orderedPins
        self.kept = pins.filter { $0.isAuthority(at: host.pattern) == areAuthorities }
        self.dropped = pins.filter { $0.isAuthority(at: host.pattern) != areAuthorities }
        self.areAuthorities = areAuthorities
        self.isGuess = owners == [.unknown]
    }
}
