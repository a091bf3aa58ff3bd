/// Why a text is not acceptable JSON, and where.
public struct JSONSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, as a sentence without a full stop.
    public let message: String
    /// Byte offset from the start of the text.
    public let offset: Int
    /// JSON pointer (RFC 6901) of the value being read.
    public let pointer: JSONPointer

    public var description: String {
        "\(self.message), at byte \(self.offset)\(self.pointer.path.isEmpty ? "" : " (\(self.pointer))")"
    }
}

/// Limits on a text; above them, it is refused before memory is spent.
public struct JSONLimits: Sendable {
    /// Nesting of arrays and objects.
    public var depth: Int
    /// Values in all, at every level.
    public var nodes: Int
    /// Marks in a row that a string may have; see ``StreamSafeText``.
    package var marks = StreamSafeText.markLimit

    /// Bytes that a member's name may have, unescaped.
    package static let nameLength = 1024

    public init(depth: Int = 32, nodes: Int = 10_000) {
        self.depth = depth
        self.nodes = nodes
    }

    /// The limits for the program's own records, of a time when texts had other bounds.
    package static func stored(depth: Int, nodes: Int) -> JSONLimits {
        var limits = JSONLimits(depth: depth, nodes: nodes)
        limits.marks = StreamSafeText.storedMarkLimit
        return limits
    }
}

extension JSON {
    /// Parses a whole text as one JSON value, strictly by RFC 8259 and narrower: UTF-8 without a byte order mark, no
    /// duplicate names in an object (RFC 7493 section 2.3), none of more than 1024 bytes, no lone surrogates, no number
    /// that overflows a double, no more than 30 combining marks in a row (UAX #15 section 13). So the time to read the
    /// text, and to use its values, grows linearly with the text.
    public init(parsing bytes: some Collection<UInt8>, limits: JSONLimits = JSONLimits()) throws(JSONSyntaxError) {
        let bytes = Array(bytes)
        self = try bytes.withUnsafeBufferPointer { (buffer) throws(JSONSyntaxError) in
            var reader = JSONReader(buffer, limits: limits)
            guard !bytes.starts(with: [0xEF, 0xBB, 0xBF]) else {
                throw reader.failure("the text begins with a byte order mark")
            }
            guard reader.next() != nil else { throw reader.failure("the text is empty", at: 0) }
            let value = try reader.value()
            try reader.end()
            return value
        }
    }

    /// Parses a whole text as one JSON value; see ``init(parsing:limits:)``.
    public init(text: String, limits: JSONLimits = JSONLimits()) throws(JSONSyntaxError) {
        try self.init(parsing: Array(text.utf8), limits: limits)
    }
}

extension JSONSyntaxError {
    /// The error, found in a part of an object or array.
    fileprivate func within(_ part: String) -> JSONSyntaxError {
        JSONSyntaxError(message: self.message, offset: self.offset, pointer: JSONPointer([part] + self.pointer.path))
    }
}

extension JSONReader {
    /// The next value with all that is in it. Recursion is bounded by ``JSONLimits/depth``.
    fileprivate mutating func value() throws(JSONSyntaxError) -> JSON {
        let first = self.next()
        try self.begin()
        switch first {
        case UInt8(ascii: "{"): return .object(try self.members())
        case UInt8(ascii: "["): return .array(try self.elements())
        default: return try self.scalar()
        }
    }

    private mutating func members() throws(JSONSyntaxError) -> [String: JSON] {
        try self.enter()
        var members: [String: JSON] = [:]
        while let (name, start) = try self.memberName(isFirst: members.isEmpty) {
            guard name.utf8.count <= JSONLimits.nameLength else {
                throw self.failure("a member name has more than \(JSONLimits.nameLength) bytes", at: start)
            }
            do throws(JSONSyntaxError) {
                guard members[name] == nil else { throw self.failure("the member name stands here twice", at: start) }
                try self.colon()
                members[name] = try self.value()
            } catch {
                throw error.within(name)
            }
        }
        return members
    }

    private mutating func elements() throws(JSONSyntaxError) -> [JSON] {
        try self.enter()
        var elements: [JSON] = []
        while try self.hasElement(isFirst: elements.isEmpty) {
            do throws(JSONSyntaxError) { elements.append(try self.value()) } catch {
                throw error.within(String(elements.count))
            }
        }
        return elements
    }
}
