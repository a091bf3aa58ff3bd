import Publishing

/// The contents of a client's `Accept-Encoding` (RFC 9110 section 12.5.3): the accepted codings, the most wanted first.
struct CodingPreference: Sendable, Hashable {
    let codings: [ContentCoding]

    /// - Parameter field: The field's value, several joined by commas; nil where the request has none.
    init(_ field: String?) {
        // The smallest of equally wanted ones goes first. `sorted` is stable.
        let weighted = [ContentCoding.br, .gzip, .identity].map {
            (coding: $0, weight: ConditionalRequest.weight(of: $0.rawValue, in: field))
        }
        self.codings = weighted.filter { $0.weight > 0 }.sorted { $0.weight > $1.weight }.map(\.coding)
    }
}
