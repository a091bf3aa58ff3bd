import SwiftASN1
import X509

extension Certificate {
    /// The DER of the certificate's SubjectPublicKeyInfo (RFC 5280 section 4.1), byte for byte as it stands in the certificate: what pins are
    /// made of (RFC 7469 section 2.4). Nil for a certificate that has none.
    ///
    /// `publicKey.subjectPublicKeyInfoBytes` of swift-certificates is something else: the key's bits without their algorithm.
    var subjectPublicKeyInfo: ArraySlice<UInt8>? {
        guard let node = try? DER.parse(Array(self.tbsCertificateBytes)), case .constructed(let members) = node.content
        else { return nil }
        // version [0] (not there in certificates of version 1), serialNumber, signature, issuer, validity, subject, subjectPublicKeyInfo
        let rest = members.drop { $0.identifier.tagClass == .contextSpecific }
        return Array(rest).dropFirst(5).first.map { $0.encodedBytes }
    }
}
