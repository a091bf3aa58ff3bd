import PinWire
import Pinning

/// A certificate that clients are to trust: an element of `fingerprints`.
///
/// Clients find it by `name` to the letter: the SDKs look up the common name of the server's certificate, and apps that
/// name the domain themselves look that up, under which Wultra's server answers. So a certificate has an entry under
/// each of ``CertificateFacts/wultraNames(at:)``. Any of several entries of one name will do; backups use that. The
/// format cannot express pins without a known certificate.
package struct WultraEntry: Hashable, Sendable {
    /// A name by which clients identify the server's own certificate, whichever of the chain the fingerprint is of.
    package var name: String
    /// SHA-256 of the whole certificate in DER, 32 bytes.
    package var fingerprint: [UInt8]
    /// Until when clients trust it, in seconds since the epoch. No later answer shortens it.
    package var expires: Int64
    /// The certificate's position in the chain: 0 for the server's own, 1 for its issuer's. Only clients of 2.x know
    /// other depths than 0.
    package var depth: Int64

    package init(name: String, fingerprint: [UInt8], expires: Int64, depth: Int64 = 0) {
        self.name = name
        self.fingerprint = fingerprint
        self.expires = expires
        self.depth = depth
    }

    /// The text of `fingerprint`: base64, 44 characters.
    package var text: String { Base64.encode(self.fingerprint) }

    /// The bytes to sign for the entry in a static file: name, fingerprint and expiry in decimal, with `&` between
    /// them.
    package var signingInput: [UInt8] { Array("\(self.name)&\(self.text)&\(self.expires)".utf8) }

    var json: OrderedJSON { self.json(signature: nil) }

    /// - Parameter signature: An ECDSA-Sig-Value in DER; nil in an answer, which is signed as a whole.
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
    /// The entries of a view: one for each name of each certificate of each pin, in the view's order, none twice.
    ///
    /// Also those of hosts that are off or report-only: without its entry a client refuses a server, and only 2.x can
    /// learn otherwise. Authorities' certificates only where clients understand `depth`. Expired and withheld
    /// certificates are left out.
    static func entries(of view: ClientView, _ settings: ClientSettings, _ expiry: WultraExpiry) -> [WultraEntry] {
        var seen: Set<WultraEntry> = []
        return view.hosts.flatMap { host in
            let known = Self.certificates(of: host, settings)
            return known.flatMap { certificate in
                guard let expires = expiry.end(of: certificate) else { return [WultraEntry]() }
                return Self.places(of: certificate, host, among: known, settings).map { name, depth in
                    WultraEntry(name: name, fingerprint: certificate.sha256, expires: expires, depth: depth)
                }
            }
        }.filter { seen.insert($0).inserted }
    }

    private static func certificates(of host: ClientView.Host, _ settings: ClientSettings) -> [CertificateFacts] {
        host.pins.flatMap(\.certificates).filter { !settings.withholds($0, at: host.pattern) }
    }

    /// The names and depths under which clients look for a certificate.
    private static func places(
        of certificate: CertificateFacts, _ host: ClientView.Host, among known: [CertificateFacts],
        _ settings: ClientSettings
    ) -> [(name: String, depth: Int64)] {
        if certificate.isServers(at: host.pattern) {
            return certificate.wultraNames(at: host.pattern).map { ($0, 0) }
        }
        guard settings.understandsDomains else { return [] }
        let leaves = known.filter { $0.isServers(at: host.pattern) }
        let above = leaves.flatMap { leaf -> [(name: String, depth: Int64)] in
            guard let depth = certificate.depth(above: leaf, among: known) else { return [] }
            return leaf.wultraNames(at: host.pattern).map { ($0, depth) }
        }
        guard above.isEmpty else { return above }
        // It is not seen to be above any known certificate: a root mostly has one authority between.
        let names = leaves.isEmpty ? [host.pattern.text] : leaves.flatMap { $0.wultraNames(at: host.pattern) }
        let depth: Int64 = certificate.isSelfSigned ? 2 : 1
        return names.map { ($0, depth) }
    }
}

extension CertificateFacts {
    /// How many certificates this authority's is above `leaf`, as far as the names of issuers lead through `known`; nil
    /// where they lead elsewhere.
    fileprivate func depth(above leaf: CertificateFacts, among known: [CertificateFacts]) -> Int64? {
        var issuer = leaf.issuer
        // No real chain is longer.
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
