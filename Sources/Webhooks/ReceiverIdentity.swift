import NIOSSL
import PinWire

/// Whether a receiver's certificate, whose chain is verified already, is for the name in the URL.
///
/// NIOSSL is content with a certificate for the address that was connected to. Where the name is what the operator
/// trusts, that would let whoever answers for it in the DNS answer for the receiver too.
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
        // Two labels at the least: nobody is all of a top-level domain.
        return name.dropFirst(1) == host[dot...] && name.dropFirst(2).contains(".")
    }
}
