import PinWire
import Pinning

/// The members of an administrative request's body. Unknown members are ignored, as by Wultra's server, and null counts
/// as missing.
struct WultraAdminBody {
    private let members: [String: JSON]

    init(_ bytes: [UInt8]) throws(WultraAdminError) {
        let json: JSON
        do { json = try JSON(parsing: bytes) } catch {
            throw WultraAdminError(.malformed, "The body is not JSON: \(error).")
        }
        guard case .object(let members) = json else {
            throw WultraAdminError(.malformed, "The body must be an object, and is \(json.kind).")
        }
        self.members = members
    }

    /// The error for a wrong member.
    ///
    /// - Parameter hint: What is wrong with it, as the end of a sentence.
    func error(_ name: String, _ hint: String) -> WultraAdminError {
        WultraAdminError(name, hint, value: OrderedJSON(repeating: self.members[name]))
    }

    /// A text; nil where it is missing.
    func optionalText(_ name: String) throws(WultraAdminError) -> String? {
        switch self.members[name] {
        case nil, .null?: return nil
        case .string(let text)?: return text
        case let other?: throw self.error(name, "must be a string, and is \(other.kind)")
        }
    }

    /// A text that is there and not empty.
    func text(_ name: String) throws(WultraAdminError) -> String {
        guard let text = try self.optionalText(name), !text.isEmpty else { throw self.error(name, "is required") }
        return text
    }

    /// A whole number within `range`; nil where it is missing.
    func optionalNumber(_ name: String, _ range: ClosedRange<Int64>) throws(WultraAdminError) -> Int64? {
        switch self.members[name] {
        case nil, .null?: return nil
        case .integer(let number)? where range.contains(number): return number
        default: throw self.error(name, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
    }

    /// The result of `parse` for a text that is there and not empty.
    func parse<T, E: Error & CustomStringConvertible>(
        _ name: String, _ parse: (String) throws(E) -> T
    ) throws(WultraAdminError) -> T {
        let text = try self.text(name)
        do throws(E) { return try parse(text) } catch { throw self.error(name, error.description) }
    }

    /// A version; nil where it is missing or empty.
    func optionalVersion(_ name: String) throws(WultraAdminError) -> ClientVersion? {
        guard let text = try self.optionalText(name), !text.isEmpty else { return nil }
        return try self.parse(name, ClientVersion.init)
    }

    /// The host of a domain's name.
    func host(_ name: String) throws(WultraAdminError) -> HostPattern {
        try self.parse(name) { (text) throws(HostPattern.Malformed) in try HostPattern(text.lowercased()) }
    }
}
