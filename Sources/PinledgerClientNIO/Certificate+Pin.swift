import PinWire
import PinledgerClient
import SwiftASN1
import X509

extension Certificate {
    /// The certificate's pin; nil where it has none.
    ///
    /// `publicKey.subjectPublicKeyInfoBytes` of swift-certificates is something else than a SubjectPublicKeyInfo: the key's bits without their
    /// algorithm.
    var pin: Pin? {
        var serializer = DER.Serializer()
        guard (try? serializer.serialize(self)) != nil else { return nil }
        return SubjectPublicKeyInfo(certificate: serializer.serializedBytes)?.pin
    }
}
