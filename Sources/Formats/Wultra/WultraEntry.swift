import PinWire
import Pinning

/// A certificate that clients are to trust, as they are told of it: an element of `fingerprints`.
///
/// Clients find it by the common name of the server's certificate, which must be `name` to the letter: names of hosts,
/// alternative names and wildcards count for nothing. Of several entries of one name any will do; that is how backups
/// are given. Pins of which no certificate is known cannot be said, and neither can certificates without a common name.
package struct WultraEntry: Hashable, Sendable {
    /// The common name of the server's own certificate, whichever of the chain the fingerprint is of.
    package var name: String
    /// SHA-256 of the whole certificate in DER, 32 bytes.
    package var fingerprint: [UInt8]
    /// Until when clients trust it, in seconds since the epoch. Nothing they are told later shortens it.
    package var expires: Int64
    /// Where in the chain the certificate is: 0 for the server's own, 1 for its issuer's. Other depths than 0 are known
    /// to clients of 2.x only.
    package var depth: Int64

    package init(name: String, fingerprint: [UInt8], expires: Int64, depth: Int64 = 0) {
        self.name = name
        self.fingerprint = fingerprint
        self.expires = expires
        self.depth = depth
    }

    /// `fingerprint` as it is written: base64, 44 characters.
    package var text: String { Base64.encode(self.fingerprint) }

    /// What is signed for the entry in a static file: name, fingerprint and expiry in decimal, with `&` between them.
    package var signingInput: [UInt8] { Array("\(self.name)&\(self.text)&\(self.expires)".utf8) }

    var json: OrderedJSON { self.json(signature: nil) }

    /// - Parameter signature: an ECDSA-Sig-Value in DER; nil in an answer, which is signed as a whole.
    func json(signature: [UInt8]?) -> OrderedJSON {
        .members([
            "name": .string(self.name),
            "fingerprint": .string(self.text),
            "expires": .integer(self.expires),
            "depth": self.depth == 0 ? nil : .integer(self.depth),
            "signature": signature.map { .string(Base64.encode($0)) },
        ])
    }
}

extension WultraEntry {
    /// The entries of a view: one for each certificate of each pin, in the view's order, none twice.
    ///
    /// Also those of hosts whose pinning is off or only reports: without its entry a client refuses a server, and none
    /// before 2.x can be told otherwise. Authorities' certificates only where clients understand `depth`. What has
    /// expired is left out.
    static func entries(of view: ClientView, _ settings: ClientSettings, _ expiry: WultraExpiry) -> [WultraEntry] {
        var seen: Set<WultraEntry> = []
        return view.hosts.flatMap { host in
            Self.certificates(of: host).flatMap { certificate in
                guard let expires = expiry.end(of: certificate) else { return [WultraEntry]() }
                return Self.places(of: certificate, host, settings).map { name, depth in
                    WultraEntry(name: name, fingerprint: certificate.sha256, expires: expires, depth: depth)
                }
            }
        }.filter { seen.insert($0).inserted }
    }

    private static func certificates(of host: ClientView.Host) -> [CertificateFacts] {
        host.pins.flatMap(\.certificates)
    }

    /// Under which names and at which depths a certificate is to be found.
    private static func places(
        of certificate: CertificateFacts, _ host: ClientView.Host, _ settings: ClientSettings
    ) -> [(name: String, depth: Int64)] {
        if certificate.isServers(at: host.pattern) {
            guard let name = certificate.wultraName(at: host.pattern) else { return [] }
            return [(name, 0)]
        }
        guard settings.understandsDomains else { return [] }
        let known = Self.certificates(of: host)
        let leaves = known.compactMap { leaf in leaf.wultraName(at: host.pattern).map { (name: $0, leaf: leaf) } }
        let above = leaves.compactMap { name, leaf in
            certificate.depth(above: leaf, among: known).map { (name: name, depth: $0) }
        }
        guard above.isEmpty else { return above }
        // Of none of the known certificates is it seen to be above: a root mostly has one authority between.
        let names = leaves.isEmpty ? [host.pattern.text] : leaves.map(\.name)
        let depth: Int64 = certificate.isSelfSigned ? 2 : 1
        return names.map { ($0, depth) }
    }
}

extension CertificateFacts {
    /// The name by which clients look a server's certificate up; nil where they cannot, and for an authority's.
    func wultraName(at pattern: HostPattern) -> String? {
        guard self.isServers(at: pattern), let name = self.commonName, !name.isEmpty else { return nil }
        return name
    }

    /// How many certificates this authority's is above `leaf`, as far as the names of issuers lead through `known`; nil
    /// where they lead elsewhere.
    fileprivate func depth(above leaf: CertificateFacts, among known: [CertificateFacts]) -> Int64? {
        var issuer = leaf.issuer
        // Longer chains are nobody's.
        for depth in 1...8 {
            if self.subject == issuer { return Int64(depth) }
            guard let next = known.first(where: { $0.isAuthority && !$0.isSelfSigned && $0.subject == issuer }) else {
                return nil
            }
            issuer = next.issuer
        }
        return nil
    }
}
