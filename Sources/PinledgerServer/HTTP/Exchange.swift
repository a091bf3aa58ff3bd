import HTTPTypes
import Hummingbird
import NIOCore
import PinWire
import Pinning

/// One request with the facts that a handler gets.
struct Exchange: Sendable {
    let request: Request
    let requestID: String
    /// The path's parameters, percent-decoded.
    let parameters: [String: String]
    /// The query's parameters, percent-decoded, each given at most once, none unknown to the route.
    let query: [String: String]
    /// For another server's operation, whose ``query`` is empty: the parameters in their order, percent-decoded,
    /// without those that cannot be.
    let foreignQuery: [(name: String, value: String)]
    /// The caller; nil on public routes.
    let actor: Actor?
    /// What the caller may do; nothing on public routes.
    let rights: Rights
    /// Whether an operator asks: by a valid token, or on a listener only for operators.
    let isOperators: Bool
    /// The most bytes of a body.
    let bodyLimit: Int
    /// The other end of the connection; nil where it is unknown.
    let peer: SocketAddress?

    // MARK: Path and query

    /// A path parameter.
    func parameter<T, E: Error & CustomStringConvertible>(
        _ name: String, _ parse: (String) throws(E) -> T
    ) throws(Problem) -> T {
        do { return try parse(self.parameters[name] ?? "") } catch {
            throw Problem(.malformedRequest, "The path parameter `\(name)` \(error.description).")
        }
    }

    var app: AppID { get throws { try self.parameter("app", AppID.init) } }
    var host: HostPattern { get throws { try self.parameter("host", HostPattern.init) } }

    /// A pin in the form of paths: 64 lower-case hexadecimal digits.
    var pin: Pin {
        get throws {
            guard let bytes = Hex.decode(self.parameters["pin"] ?? ""), let pin = Pin(bytes: bytes) else {
                throw Problem(
                    .malformedRequest,
                    "The path parameter `pin` must be the 64 lower-case hexadecimal digits of its SHA-256."
                )
            }
            return pin
        }
    }

    /// A flag of the query: `true` or `false`, and false where it is missing.
    func flag(_ name: String) throws -> Bool {
        switch self.query[name] {
        case nil, "false": false
        case "true": true
        default: throw Problem(.malformedRequest, "The query parameter `\(name)` must be true or false.")
        }
    }

    /// A whole number of the query.
    func number(_ name: String, in range: ClosedRange<Int64>) throws -> Int64? {
        guard let text = self.query[name] else { return nil }
        guard text.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int64(text), range.contains(number) else {
            throw Problem(
                .malformedRequest,
                "The query parameter `\(name)` must be a whole number from \(range.lowerBound) to \(range.upperBound)."
            )
        }
        return number
    }

    /// A version of the query, or several, in the client's spelling. A client that writes `1.2.3+45` unescaped sends a
    /// space: form encoding reads `+` as one. No version has a space.
    func version(_ name: String) -> String? {
        self.query[name].map { String($0.map { $0 == " " ? "+" : $0 }) }
    }

    /// An instant of the query.
    func time(_ name: String) throws -> Timestamp? {
        guard let text = self.query[name] else { return nil }
        guard let time = Timestamp(rfc3339: text) else {
            throw Problem(
                .malformedRequest, "The query parameter `\(name)` must be a time such as 2026-01-31T12:00:00Z.")
        }
        return time
    }

    /// The times between which the query asks, by `since` and `until`; nil for an end that is not given.
    func period() throws -> (since: Timestamp?, until: Timestamp?) {
        let (since, until) = (try self.time("since"), try self.time("until"))
        if let since, let until, since >= until {
            throw Problem(.malformedRequest, "The query parameter `since` must be before the end of the period.")
        }
        return (since, until)
    }

    /// The app that the query names; nil for none.
    var appInQuery: AppID? {
        get throws(Problem) {
            guard let text = self.query["app"] else { return nil }
            do { return try AppID(text) } catch {
                throw Problem(.malformedRequest, "The query parameter `app` \(error.description).")
            }
        }
    }

    /// A reason in the query, for requests without a body.
    func reasonInQuery() throws -> Reason? {
        guard let text = self.query["reason"] else { return nil }
        do { return try Reason(text) } catch {
            throw Problem(.malformedRequest, "The query parameter `reason` \(error.description).")
        }
    }

    /// The first of each name in ``foreignQuery``.
    var foreignParameters: [String: String] {
        Dictionary(self.foreignQuery.map { ($0.name, $0.value) }) { first, _ in first }
    }

    // MARK: Body

    /// The body's bytes, within the route's limit.
    func body() async throws -> [UInt8] {
        var bytes: [UInt8] = []
        _ = try await self.collectBody { piece in
            bytes.append(contentsOf: piece.readableBytesView)
            return true
        }
        return bytes
    }

    /// Passes the body on as it comes, within the route's limit, until it is whole; false where `take` wanted no more.
    func collectBody(_ take: (ByteBuffer) -> Bool) async throws -> Bool {
        // Sent before anything is read: a client that declares a body too large need not send it.
        if let declared = self.request.headers[.contentLength].flatMap(Int64.init), declared > self.bodyLimit {
            throw Problem(.bodyTooLarge, "The body may have at most \(self.bodyLimit) bytes.")
        }
        var count = 0
        do {
            for try await piece in self.request.body {
                count += piece.readableBytes
                guard count <= self.bodyLimit else { throw NIOTooManyBytesError(maxBytes: self.bodyLimit) }
                guard take(piece) else { return false }
            }
            return true
        } catch is NIOTooManyBytesError {
            throw Problem(.bodyTooLarge, "The body may have at most \(self.bodyLimit) bytes.")
        } catch let error as HTTPError where error.status == .contentTooLarge {
            throw Problem(.bodyTooLarge, "The body may have at most \(self.bodyLimit) bytes.")
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw Problem(.malformedRequest, "The body ended early, or its framing is wrong.")
        }
    }

    /// Refuses a body that is not declared as JSON.
    func requireJSON() throws(Problem) { try self.requireType(["application/json"]) }

    /// Refuses a body whose declared type is not one of some types.
    func requireType(_ types: [String]) throws(Problem) {
        let type = self.request.headers[.contentType] ?? ""
        let parts = type.lowercased().split(separator: ";").map { $0.trimmingCharacters() }
        // JSON has no parameters (RFC 8259 section 11); many clients send this one all the same. In any encoding but
        // UTF-8 the bytes would have another meaning.
        let isUTF8 = parts.dropFirst().allSatisfy {
            !$0.hasPrefix("charset") || $0 == "charset=utf-8" || $0 == "charset=\"utf-8\""
        }
        guard let first = parts.first, types.contains(first), isUTF8 else {
            let found = type.isEmpty ? "The body has no Content-Type" : "The body is \(type.printable)"
            throw Problem(.unsupportedMediaType, "\(found); \(types.joined(separator: ", ")) is taken here, in UTF-8.")
        }
    }
}

extension StringProtocol {
    /// The text without spaces and tabs at its ends.
    func trimmingCharacters() -> String {
        var text = Substring(self)
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        return String(text)
    }

    /// At most 100 characters, with everything but printable ASCII replaced: safe to quote in an answer or a log.
    var printable: String {
        String(self.prefix(100).unicodeScalars.map { (0x20...0x7E).contains($0.value) ? Character($0) : "?" })
    }
}
