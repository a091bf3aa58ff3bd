public import PinWire

/// Bytes that claim to be a signed document: nothing may be taken from them.
public struct UnverifiedDocument: Hashable, Sendable {
    /// The compact JWS (RFC 7515), in ASCII.
    public let bytes: [UInt8]

    public init(_ bytes: [UInt8]) { self.bytes = bytes }
}

/// A signed document that has passed the rules of verification: all of them where it was fetched, and all but those of time where it was stored
/// or ships with the app. Only ``DocumentVerifier`` makes one.
public struct VerifiedDocument: Hashable, Sendable {
    /// The content, with `iat` and `exp`.
    public let issued: IssuedDocument
    /// The `kid` of the key that has signed it.
    public let keyID: String
    /// The compact JWS as it came: what a store keeps.
    public let bytes: [UInt8]

    init(_ issued: IssuedDocument, keyID: String, bytes: [UInt8]) {
        self.issued = issued
        self.keyID = keyID
        self.bytes = bytes
    }

    public var version: Int64 { self.issued.document.version }

    /// From `exp` on the document is stale: it holds, and is to be fetched again before the next connection.
    public func isStale(at now: Timestamp) -> Bool { self.issued.expiresAt <= now }

    public static func == (left: VerifiedDocument, right: VerifiedDocument) -> Bool { left.bytes == right.bytes }

    public func hash(into hasher: inout Hasher) { hasher.combine(self.bytes) }
}
