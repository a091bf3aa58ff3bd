/// How a client fetches: one request over HTTP. Not pinned: documents are protected by their signature.
///
/// An implementation follows no redirects, keeps no cookies, and reads no more of a body than it is asked for.
public protocol DocumentTransport: Sendable {
    /// Sends a GET request.
    ///
    /// - Parameters:
    ///   - limit: The most bytes of a decoded body that are of use. A longer one is an error, and is not read to its end.
    ///   - timeout: The time for the whole exchange.
    /// - Throws: Any error where there is no complete answer in time.
    func get(
        _ url: String, headers: [(name: String, value: String)], limit: Int, timeout: Duration
    ) async throws -> DocumentResponse
}

/// How a client holds a stream of documents open: one request over HTTP whose answer has no end. Not pinned.
///
/// An implementation follows no redirects, keeps no cookies and decompresses nothing.
public protocol StreamTransport: Sendable {
    /// Sends a GET request, and hands over the body of an answer with the status 200 as it arrives.
    ///
    /// - Parameters:
    ///   - idle: The longest time without a byte, also before the first one.
    ///   - take: Takes a piece of the body; the next one comes after it has returned. The request ends where it throws.
    /// - Returns: The answer's status, when the answer has ended.
    /// - Throws: Any error where the connection breaks or is idle for too long, `take`'s own, and where the task is cancelled.
    func stream(
        _ url: String, headers: [(name: String, value: String)], idle: Duration,
        take: @escaping @concurrent @Sendable ([UInt8]) async throws -> Void
    ) async throws -> Int
}

/// How a client sends its reports: one request over HTTP. Not pinned: a wrong pin must not keep its own report from leaving.
///
/// An implementation follows no redirects and keeps no cookies.
public protocol ReportTransport: Sendable {
    /// Sends a POST request.
    ///
    /// - Parameter timeout: The time for the whole exchange.
    /// - Returns: The answer's status; its body is of no use.
    /// - Throws: Any error where there is no answer in time.
    func post(
        _ url: String, headers: [(name: String, value: String)], body: [UInt8], timeout: Duration
    ) async throws -> Int
}

/// The answer to a fetch.
public struct DocumentResponse: Hashable, Sendable {
    public var status: Int
    public var body: [UInt8]

    public init(status: Int, body: [UInt8]) {
        self.status = status
        self.body = body
    }
}
