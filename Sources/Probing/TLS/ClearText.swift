/// Recognises, by the first bytes, a host that answers in clear where TLS was expected.
enum ClearText {
    /// Nil as long as the bytes may be a TLS record (RFC 8446 section 5.1). The host's own text is not repeated.
    ///
    /// - Parameter offset: The number of bytes before these.
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
