import NIOSSL
import PinWire

/// Checks that a receiver's certificate, whose chain is verified already, is for the name in the URL.
///
/// NIOSSL also accepts a certificate for the address that was connected to. The operator trusts the name: with a
/// certificate for the address, anyone who controls the name's DNS could answer for the receiver.
enum ReceiverIdentity {
    struct Other: Error, CustomStringConvertible {
        let host: String

        var description: String { "the certificate is not one of \(self.host)" }
    }

    static func check(_ certificate: NIOSSLCertificate, is host: String) throws(Other) {
        let names = certificate._subjectAlternativeNames().filter { $0.nameType == .dnsName }
        guard names.contains(where: { String(ascii: $0.contents).map { Self.covers($0, host) } ?? false }) else {
            throw Other(host: host)
        }
    }

    /// Whether a certificate's name covers a host in lower case: the name itself, or a wildcard for its first label.
    static func covers(_ name: String, _ host: String) -> Bool {
        let name = name.lowercased()
        guard name.hasPrefix("*.") else { return name == host }
        guard let dot = host.firstIndex(of: "."), dot != host.startIndex else { return false }
        // At least two labels: no certificate covers all of a top-level domain.
        return name.dropFirst(1) == host[dot...] && name.dropFirst(2).contains(".")
    }
}
