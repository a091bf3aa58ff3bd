package import NIOCore
import PinWire
import Synchronization

/// A response body that is prepared once: its encodings and the strong entity tag of each (RFC 9110 section 8.8.3).
///
/// An encoding is made when it is first asked for, and kept: a node that starts with ten thousand documents does not
/// compress ten thousand bodies that no client may want. The tags depend on the bytes and the coding's name alone, so
/// that every node gives the same representation the same tag, whether it has made it or not.
package struct PreparedBody: Sendable {
    /// One encoding of the body.
    package struct Representation: Sendable {
        package let coding: ContentCoding
        package let bytes: ByteBuffer
        /// The entity tag, quotes included.
        package let tag: String
    }

    /// The state of a representation.
    package enum Readiness: Sendable {
        case made(Representation)
        /// Encoding was tried, and would save nothing.
        case needless
        /// Not asked for yet.
        case notMade
    }

    package let identity: Representation
    private let encodings = Encodings()

    /// The tags are made from the SHA-256 of the identity encoding and the coding's name: other bytes need another tag.
    ///
    /// - Parameter prefix: Stands in the tags before the digest, and follows from the bytes. It consists of characters
    ///   that tags may have.
    package init(_ bytes: [UInt8], tagPrefix prefix: String = "") {
        self.identity = Representation(
            coding: .identity, bytes: ByteBuffer(bytes: bytes),
            tag: "\"\(prefix)\(Base64URL.encode(sha256(bytes)))\""
        )
    }

    /// The entity tag of the body in a coding, quotes included, whether the representation is made or not.
    package func tag(in coding: ContentCoding) -> String {
        switch coding {
        case .identity: self.identity.tag
        case .gzip, .br: "\(self.identity.tag.dropLast())-\(coding.rawValue)\""
        }
    }

    /// The state of a coding, without making anything.
    package func readiness(of coding: ContentCoding) -> Readiness {
        coding == .identity ? .made(self.identity) : self.encodings.readiness(of: coding)
    }

    /// The representation in a coding; nil where it would save nothing. Makes it if necessary, which takes some hundred
    /// microseconds: not for an event loop.
    package func representation(in coding: ContentCoding) -> Representation? {
        switch self.readiness(of: coding) {
        case .made(let representation): return representation
        case .needless: return nil
        case .notMade: break
        }
        // Outside the lock. Two callers at once make the same bytes twice, and one result stays.
        let bytes = Array(self.identity.bytes.readableBytesView)
        let encoded = coding == .gzip ? Compression.gzip(bytes) : Compression.brotli(bytes)
        let made = encoded.map {
            Representation(coding: coding, bytes: ByteBuffer(bytes: $0), tag: self.tag(in: coding))
        }
        self.encodings.keep(made, in: coding)
        return made
    }

    package var gzip: Representation? { self.representation(in: .gzip) }
    package var br: Representation? { self.representation(in: .br) }

    /// Every available encoding, made if necessary.
    package var representations: [Representation] { [self.identity, self.gzip, self.br].compactMap { $0 } }

    /// Whether this is the same prepared body, not one that happens to have the same bytes.
    package func isSame(as other: PreparedBody) -> Bool { self.encodings === other.encodings }
}

/// The encodings of one body that were made so far.
private final class Encodings: Sendable {
    private let made = Mutex<(gzip: PreparedBody.Readiness, br: PreparedBody.Readiness)>((.notMade, .notMade))

    func readiness(of coding: ContentCoding) -> PreparedBody.Readiness {
        self.made.withLock { coding == .gzip ? $0.gzip : $0.br }
    }

    func keep(_ representation: PreparedBody.Representation?, in coding: ContentCoding) {
        let readiness = representation.map(PreparedBody.Readiness.made) ?? .needless
        self.made.withLock { made in
            if coding == .gzip { made.gzip = readiness } else { made.br = readiness }
        }
    }
}
