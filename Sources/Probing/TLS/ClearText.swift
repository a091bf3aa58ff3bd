/// What answers in clear where TLS was expected, told by its first bytes.
enum ClearText {
    /// Nil as long as a record of TLS may be meant (RFC 8446 section 5.1). The host's own words are not repeated.
    ///
    /// - Parameter offset: How many bytes came before these.
    static func failure(in bytes: UnsafeRawBufferPointer, at offset: Int) -> ProbeFailure? {
        // A handshake record or an alert, then the version's major part.
        let expected: [ClosedRange<UInt8>] = [21...22, 3...3]
        guard offset < expected.count else { return nil }
        let isPlausible = unsafe zip(expected[offset...], bytes).allSatisfy { $0.contains($1) }
        guard !isPlausible else { return nil }
        let start = unsafe Array(bytes.prefix(16))
        let known = self.openings.first { start.starts(with: $0.opening.utf8) }
        return ProbeFailure(.handshake, .notTLS, known?.meaning ?? "the host answered with something else than TLS")
    }

    private static let openings: [(opening: String, meaning: String)] = [
        ("HTTP/", "the host answered in plain HTTP"),
        ("<", "the host answered with a document in clear, as plain HTTP does"),
        ("SSH-", "the host speaks SSH"),
        ("220", "the host greets in clear, as SMTP does: probe it with STARTTLS"),
        ("* OK", "the host greets in clear, as IMAP does: probe it with STARTTLS"),
        ("+OK", "the host greets in clear, as POP3 does"),
    ]
}
