import PinWire

/// The differences between two JSON values, by place.
struct JSONDifference: Sendable {
    /// One place: the value before and the value now; nil for none.
    struct Item: Sendable {
        var pointer: JSONPointer
        var before: JSON?
        var after: JSON?
    }

    private(set) var items: [Item] = []

    /// Compares two values, going into objects by name and into arrays of objects by their `host`, `pin`, `kid`,
    /// `token_id`, `rotation` or `client`.
    static func between(_ before: JSON, _ after: JSON) -> JSONDifference {
        var difference = JSONDifference()
        difference.compare(before, after, at: JSONPointer())
        return difference
    }

    private mutating func compare(_ before: JSON?, _ after: JSON?, at pointer: JSONPointer) {
        guard before != after else { return }
        if case .object(let old)? = before, case .object(let new)? = after {
            for name in Set(old.keys).union(new.keys).sorted() {
                self.compare(old[name], new[name], at: pointer.appending(name))
            }
        } else if case .array(let old)? = before, case .array(let new)? = after, let old = Self.named(old),
            let new = Self.named(new)
        {
            for name in Set(old.keys).union(new.keys).sorted() {
                self.compare(old[name], new[name], at: pointer.appending(name))
            }
        } else {
            self.items.append(Item(pointer: pointer, before: before, after: after))
        }
    }

    private static func named(_ elements: [JSON]) -> [String: JSON]? {
        var named: [String: JSON] = [:]
        for element in elements {
            guard
                let name = ["host", "pin", "kid", "token_id", "rotation", "client"].lazy.compactMap({
                    element[$0]?.stringValue
                }).first
            else {
                return nil
            }
            named[name] = element
        }
        return named
    }

    var json: JSON {
        .array(
            self.items.map { item in
                ["pointer": .string(item.pointer.text), "before": item.before ?? .null, "after": item.after ?? .null]
            }
        )
    }
}
