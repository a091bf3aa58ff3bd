/// The header fields of what clients get from servers, edges and static copies alike.
package enum ClientHeaders {
    /// A signed document (RFC 7515 section 9.2.1).
    package static let documentType = "application/jose"
    /// A key set (RFC 7517 section 8.5.2).
    package static let keySetType = "application/jwk-set+json"
    /// A root of trust: TUF metadata. One version of it never changes.
    package static let rootType = "application/json"

    /// How long key sets and roots of trust may be used before asking again, in seconds.
    package static let keyMaxAge = 300

    /// The value of `Cache-Control` for what every cache may keep for some seconds. A server says besides how long it may be used while the
    /// server fails (``ClientCaching``); a static copy cannot, as its fields stay while a document's end comes near.
    package static func caching(maxAge: Int) -> String { "public, max-age=\(maxAge)" }
}
