package import NIOCore
import PinWire

/// A response body made ready once: its encodings and the strong entity tag of each (RFC 9110 section 8.8.3).
package struct PreparedBody: Sendable {
    /// One encoding of the body.
    package struct Representation: Sendable {
        package let coding: ContentCoding
        package let bytes: ByteBuffer
        /// The entity tag, quotes included.
        package let tag: String
    }

    package let identity: Representation
    package let gzip: Representation?
    package let br: Representation?

    /// Encodes `bytes`. The tags are made from the SHA-256 of the identity encoding and the coding's name: other bytes
    /// need another tag.
    package init(_ bytes: [UInt8]) {
        let digest = Base64URL.encode(sha256(bytes))
        self.identity = Representation(coding: .identity, bytes: ByteBuffer(bytes: bytes), tag: "\"\(digest)\"")
        self.gzip = Compression.gzip(bytes).map {
            Representation(coding: .gzip, bytes: ByteBuffer(bytes: $0), tag: "\"\(digest)-gzip\"")
        }
        self.br = Compression.brotli(bytes).map {
            Representation(coding: .br, bytes: ByteBuffer(bytes: $0), tag: "\"\(digest)-br\"")
        }
    }

    /// The representation in a coding; nil where it would save nothing.
    package func representation(in coding: ContentCoding) -> Representation? {
        switch coding {
        case .identity: self.identity
        case .gzip: self.gzip
        case .br: self.br
        }
    }

    /// Every encoding there is.
    package var representations: [Representation] { [self.identity, self.gzip, self.br].compactMap { $0 } }
}
