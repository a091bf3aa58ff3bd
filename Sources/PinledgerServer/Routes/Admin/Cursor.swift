import PinWire

/// Where the next page of a list begins: opaque to callers, and bound to the list and the filters it came from.
enum Cursor {
    /// The text of a cursor after the element named `key`.
    static func text(_ key: String, list: String, filter: [String?]) -> String {
        let json: JSON = ["k": .string(key), "f": .string(self.fingerprint(list, filter))]
        return Base64URL.encode(json.canonicalBytes)
    }

    /// The key in the request's `cursor`; nil where there is none.
    static func read(_ exchange: Exchange, list: String, filter: [String?]) throws(Problem) -> String? {
        guard let text = exchange.query["cursor"] else { return nil }
        guard let bytes = Base64URL.decode(text), let json = try? JSON(parsing: bytes),
            let key = json["k"]?.stringValue,
            json["f"]?.stringValue == self.fingerprint(list, filter)
        else { throw Problem(.invalidCursor, "The cursor does not come from this list with these filters.") }
        return key
    }

    private static func fingerprint(_ list: String, _ filter: [String?]) -> String {
        let json: JSON = .array([.string(list)] + filter.map { $0.map { .string($0) } ?? .null })
        return Hex.encode(sha256(json.canonicalBytes).prefix(8))
    }
}
