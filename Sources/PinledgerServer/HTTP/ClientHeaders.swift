/// The header fields of what clients get from servers, edges and static copies alike.
package enum ClientHeaders {
    /// A signed document (RFC 7515 section 9.2.1).
    package static let documentType = "application/jose"
    /// A key set (RFC 7517 section 8.5.2).
    package static let keySetType = "application/jwk-set+json"
    package static let keySetCaching = "public, max-age=300, stale-if-error=86400"

    /// A root of trust: TUF metadata. One version of it never changes.
    package static let rootType = "application/json"
    package static let rootCaching = "public, max-age=300, stale-if-error=86400"

    /// - Parameter maxAge: How long clients and caches may use a document before asking again, in seconds.
    package static func documentCaching(maxAge: Int) -> String { "public, max-age=\(maxAge), stale-if-error=86400" }
}
