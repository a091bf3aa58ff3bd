/// The textual encoding of keys and certificates (RFC 7468).
package enum PEM {
    /// One block: its lines of at most 64 characters, each with a line feed.
    ///
    /// - Parameters:
    ///   - der: The bytes.
    ///   - kind: Their kind, for the label.
    package static func text(_ der: [UInt8], _ kind: Material.Kind) -> String {
        self.lines(der, kind).map { $0 + "\n" }.joined()
    }

    /// The lines of one block.
    package static func lines(_ der: [UInt8], _ kind: Material.Kind) -> [String] {
        let label =
            switch kind {
            case .publicKey: "PUBLIC KEY"
            case .certificate: "CERTIFICATE"
            }
        let digits = Array(Base64.encode(der).utf8)
        let lines = stride(from: 0, to: digits.count, by: 64).map {
            String(decoding: digits[$0..<min($0 + 64, digits.count)], as: UTF8.self)
        }
        return ["-----BEGIN \(label)-----"] + lines + ["-----END \(label)-----"]
    }
}
