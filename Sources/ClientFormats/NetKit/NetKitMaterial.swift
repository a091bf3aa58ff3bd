import PinWire
import Pinning

/// Public keys and certificates in DER, by their SHA-256, for NetKit, which compares them whole.
struct NetKitMaterial: Sendable {
    /// SubjectPublicKeyInfos by the pin's bytes, certificates by ``CertificateFacts/sha256``.
    var material: [[UInt8]: [UInt8]]

    /// The key of a pin as NetKit takes it out of a certificate; nil where it is unknown, or the stored bytes are not
    /// it.
    func rawKey(of pin: ClientView.ClientPin) -> [UInt8]? {
        guard let der = self.der(pin.pin.bytes), let key = SubjectPublicKeyInfo.rawKey(of: der) else { return nil }
        if let facts = pin.knowledge?.key, facts.rawKeySHA256 != sha256(key) { return nil }
        return key
    }

    /// The certificates of a pin that are not expired, the newest first.
    func certificates(of pin: ClientView.ClientPin, at now: Timestamp) -> [[UInt8]] {
        pin.certificates.filter { $0.notAfter > now }.compactMap { self.der($0.sha256) }
    }

    /// The bytes with this digest, which is checked.
    private func der(_ digest: [UInt8]) -> [UInt8]? {
        guard let der = self.material[digest], sha256(der) == digest else { return nil }
        return der
    }
}
