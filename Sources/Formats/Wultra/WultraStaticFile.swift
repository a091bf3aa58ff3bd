import PinWire
package import Pinning

/// The file from which clients read their pins where they ask no server (`useChallenge(false)` on Android, iOS up to
/// 1.8): JSON with `fingerprints`, each entry with a signature of its own, as Wultra's ssl-pinning-tool writes it.
///
/// What such a signature does not cover is not said, since whoever can change the file could say it too: no `depth` and
/// so no authorities' certificates, no `domainsConfig`.
package struct WultraStaticFile: Sendable {
    /// By name; of one name those first that expire last; then by fingerprint.
    package let entries: [WultraEntry]

    package init(_ view: ClientView, _ settings: ClientSettings) {
        let expiry = WultraExpiry(days: settings.entryDays, at: view.now)
        self.entries = WultraEntry.entries(of: view, settings, expiry).filter { $0.depth == 0 }.sorted { left, right in
            if left.name != right.name { return left.name.utf8.lexicographicallyPrecedes(right.name.utf8) }
            if left.expires != right.expires { return left.expires > right.expires }
            return left.fingerprint.lexicographicallyPrecedes(right.fingerprint)
        }
    }

    /// The file as UTF-8.
    ///
    /// - Parameter signatures: for each of ``entries`` in their order, an ECDSA-Sig-Value in DER of its
    ///   ``WultraEntry/signingInput``, made with P-256 and SHA-256.
    /// - Returns: Nil unless there are as many signatures as entries.
    package func bytes(signatures: [[UInt8]]) -> [UInt8]? {
        guard signatures.count == self.entries.count else { return nil }
        let signed = zip(self.entries, signatures).map { $0.json(signature: $1) }
        return OrderedJSON.members(["fingerprints": .array(signed)]).bytes()
    }
}
