import PinWire

/// A client's attributes for an evaluated document: the members of the query. They are used and forgotten: no answer,
/// problem or log line carries any of them.
enum EvaluatedQuery {
    /// The names of the members.
    static let names = ["device_id", "user_id", "install_id", "app_version", "build", "country"]

    /// The device that a query describes.
    ///
    /// - Parameter country: The device's country from a trusted source; nil where none states it.
    static func device(_ exchange: Exchange, country: String?) throws -> Device {
        for (name, value) in exchange.query where value.unicodeScalars.count > Device.textLimit {
            throw Problem(
                .malformedRequest, "The query parameter `\(name)` may have at most \(Device.textLimit) characters.")
        }
        var members = exchange.query
        members["app_version"] = exchange.version("app_version")
        return Self.device(
            members, build: try exchange.number("build", in: 0...JSON.largestInteger), country: country)
    }

    /// The device that a query without escapes describes, in its form on the wire; nil where the query needs decoding
    /// or is to be refused.
    static func plain(_ query: some Collection<UInt8>) -> Device? {
        var members: [String: String] = [:]
        for pair in query.split(separator: UInt8(ascii: "&")) {
            guard let equals = pair.firstIndex(of: UInt8(ascii: "=")) else { return nil }
            let value = pair[pair.index(after: equals)...]
            guard value.count <= Device.textLimit, value.allSatisfy(Self.isPlain) else { return nil }
            let name = String(decoding: pair[..<equals], as: UTF8.self)
            guard Self.names.contains(name),
                members.updateValue(String(decoding: value, as: UTF8.self), forKey: name) == nil
            else { return nil }
        }
        var build: Int64?
        if let text = members["build"] {
            guard text.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int64(text),
                number <= JSON.largestInteger
            else { return nil }
            build = number
        }
        return Self.device(members, build: build, country: nil)
    }

    private static func device(_ members: [String: String], build: Int64?, country: String?) -> Device {
        var ids: [Rollout.Seed: String] = [:]
        for seed in Rollout.Seed.allCases { ids[seed] = members[seed.rawValue] }
        return Device(
            ids: ids, appVersion: members["app_version"], build: build, country: country ?? members["country"])
    }

    /// Printable ASCII that stands for itself in a query.
    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "%") && byte != UInt8(ascii: "+")
    }
}
