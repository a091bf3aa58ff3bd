import PinWire
import Pinning

/// Whose a pinned key is, as far as anybody showed: for readers that compare the server's own key alone, or keep
/// authorities' in another list.
enum KeyOwner {
    case server
    case authority
    /// Nobody showed more than the pin or the key.
    case unknown
}

extension ClientView.Host {
    /// Whose the key of one of the host's pins is.
    func owner(of pin: ClientView.ClientPin) -> KeyOwner {
        // A request for a certificate is made by whoever is to have it.
        if pin.certificates.isEmpty { return pin.knowledge?.hasRequest == true ? .server : .unknown }
        return self.serverCertificates(of: pin).isEmpty ? .authority : .server
    }

    /// Certificates of a pin's key that a server can present as its own, the newest first.
    func serverCertificates(of pin: ClientView.ClientPin) -> [CertificateFacts] {
        pin.certificates.filter { $0.isServers(at: self.pattern) }
    }

    /// The pins of which servers use one now: the primaries, or without any those of the next role. A client that
    /// cannot go by any of them refuses the servers, whatever others it has.
    var leadingPins: [ClientView.ClientPin] {
        let pins = self.orderedPins
        return pins.filter { $0.role == pins.first?.role }
    }
}
