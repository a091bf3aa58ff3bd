package import PinWire

/// When an authority suggests to renew a certificate (ACME renewal information, RFC 9773 section 4.2).
package struct RenewalWindow: Hashable, Sendable {
    package var start: Timestamp
    package var end: Timestamp
    /// A page of the authority about it, such as an incident's; nil where it names none.
    package let explanation: String?

    /// The most bytes of ``explanation``.
    package static let explanationLimit = 500

    /// - Parameter explanation: From an authority, or from a row that others may have written: what is not a plain https address is left
    ///   out, because people read it in terminals and messages.
    package init(start: Timestamp, end: Timestamp, explanation: String? = nil) {
        self.start = start
        self.end = end
        self.explanation = explanation.flatMap { text in
            text.hasPrefix("https://") && text.utf8.count <= Self.explanationLimit
                && text.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? text : nil
        }
    }

    /// Reads an authority's answer; nil for one without a window.
    package init?(_ json: JSON) {
        guard let window = json["suggestedWindow"],
            let start = window["start"]?.stringValue.flatMap(Timestamp.init(rfc3339:)),
            let end = window["end"]?.stringValue.flatMap(Timestamp.init(rfc3339:)), start < end
        else { return nil }
        self.init(start: start, end: end, explanation: json["explanationURL"]?.stringValue)
    }

    /// Whether it asks for a certificate to be replaced sooner than its age would: its end is in the first half of the certificate's
    /// life. An authority does so before it revokes.
    package func isEarly(for certificate: CertificateFacts) -> Bool {
        let half = certificate.notBefore.seconds + (certificate.notAfter.seconds - certificate.notBefore.seconds) / 2
        return self.end.seconds <= half
    }
}
