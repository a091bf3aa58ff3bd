package import PinWire

/// A certificate that a client reports as presented: in PEM, or in base64 of DER, and nothing else.
///
/// Any client may send it: no key store is opened, no passphrase tried, no signature checked. The outline of the
/// certificate is walked once (RFC 5280 section 4.1), in time linear in its bytes.
package struct PresentedCertificate: Hashable, Sendable {
    /// The digest of the certificate's SubjectPublicKeyInfo.
    package let pin: Pin

    /// The most characters that are read: more than any certificate has that a TLS server could send.
    package static let maximumSize = 64 * 1024

    /// Nil for a text that is not such a certificate, or is larger than ``maximumSize``.
    package init?(text: String) {
        guard text.utf8.count <= Self.maximumSize else { return nil }
        let bytes = Array(text.utf8)
        guard let der = Self.der(bytes[...]), let info = Self.publicKeyInfo(of: der[...]),
            let pin = Pin(bytes: sha256(info))
        else { return nil }
        self.pin = pin
    }

    private static func der(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard PEMScanner.beginsBlock(in: text) else { return PinText.base64DER(ASCII.trim(text)) }
        var scanner = PEMScanner(text)
        guard let block = try? scanner.next(), ["CERTIFICATE", "X509 CERTIFICATE"].contains(block.label) else {
            return nil
        }
        return block.bytes
    }

    /// The whole SubjectPublicKeyInfo of a certificate, whose digest is the pin.
    private static func publicKeyInfo(of der: ArraySlice<UInt8>) -> [UInt8]? {
        guard DERReader.isWhole(der), DERShape(der) == .signed else { return nil }
        var outer = DERReader(der)
        guard let certificate = outer.next(),
            let body = certificate.children(atMost: 1).first, body.isComplete
        else { return nil }
        // version (with its own tag, and optional), serialNumber, signature, issuer, validity, subject, the key.
        var fields = body.children(atMost: 7)
        if fields.first?.tag == DERValue.context0 { fields.removeFirst() }
        let expected = [DERValue.integer] + Array(repeating: DERValue.sequence, count: 5)
        guard fields.prefix(6).map(\.tag) == expected, let info = fields.dropFirst(5).first, info.isComplete else {
            return nil
        }
        let parts = info.children(atMost: 3)
        guard parts.map(\.tag) == [DERValue.sequence, DERValue.bitString], parts.allSatisfy(\.isComplete) else {
            return nil
        }
        return DERWriter.sequence(Array(info.contents))
    }
}
