/// The place of a value inside a JSON text (RFC 6901).
public struct JSONPointer: Hashable, Sendable, CustomStringConvertible {
    /// Member names and array indices, outermost first.
    public var path: [String]

    public init(_ path: [String] = []) { self.path = path }

    /// The pointer's text: empty for the whole text, else each part after a `/`, with `~` and `/` escaped.
    public var text: String {
        self.path.map { "/" + $0.replacing("~", with: "~0").replacing("/", with: "~1") }.joined()
    }

    /// Reads a pointer's text; nil where it neither is empty nor begins with `/`.
    public init?(text: String) {
        guard text.isEmpty || text.hasPrefix("/") else { return nil }
        self.path = text.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map {
            String($0).replacing("~1", with: "/").replacing("~0", with: "~")
        }
    }

    public var description: String { self.text }

    /// The pointer of a member or element inside the value that this one names.
    public func appending(_ part: String) -> JSONPointer { JSONPointer(self.path + [part]) }
}
