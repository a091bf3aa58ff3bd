import PinWire

/// A client's random challenge for each request, which prevents the replay of an old answer: the request header
/// `X-Cert-Pinning-Challenge`, base64 of 16 to 32 bytes. Wultra's SDKs send 16.
package struct WultraChallenge: Hashable, Sendable {
    /// The request header with the challenge.
    package static let requestHeader = "X-Cert-Pinning-Challenge"
    /// The response header with the signature: base64 of an ECDSA-Sig-Value in DER (RFC 3279 section 2.2.3), made with
    /// P-256 and SHA-256 of ``signingInput(of:)``.
    package static let signatureHeader = "X-Cert-Pinning-Signature"
    /// The number of bytes of a challenge.
    package static let lengths = 16...32

    /// The header's value as it was received: the signature covers the text and not the decoded bytes.
    package let text: String

    /// - Parameter header: The header's value without white space around it; nil where there is none.
    /// - Throws: ``WultraError`` with the code `INVALID_CHALLENGE`.
    package init(_ header: String?) throws(WultraError) {
        guard let header else {
            throw WultraError(.invalidChallenge, "The header \(Self.requestHeader) is missing.")
        }
        // Base64 of 32 bytes has 44 characters: a longer text is not read.
        guard header.utf8.count <= 44, let bytes = Base64.decode(header), Self.lengths.contains(bytes.count) else {
            throw WultraError(
                .invalidChallenge,
                "The header \(Self.requestHeader) must be base64 of \(Self.lengths.lowerBound) to "
                    + "\(Self.lengths.upperBound) bytes.")
        }
        self.text = header
    }

    /// The bytes to sign for an answer: the header as received, `&`, and exactly the bytes of the body that the client
    /// has once it has undone any compression.
    package func signingInput(of body: [UInt8]) -> [UInt8] {
        var input: [UInt8] = []
        input.reserveCapacity(self.text.utf8.count + 1 + body.count)
        input.append(contentsOf: self.text.utf8)
        input.append(UInt8(ascii: "&"))
        input.append(contentsOf: body)
        return input
    }
}
