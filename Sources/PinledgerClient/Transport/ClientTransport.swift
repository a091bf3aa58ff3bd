/// A request of the client's over HTTP.
public struct TransportRequest: Hashable, Sendable {
    /// A header field.
    public struct Header: Hashable, Sendable {
        public let name: String
        public let value: String

        public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
    }

    public let url: String
    public let headers: [Header]
    /// What a POST sends; empty for a GET.
    public let body: [UInt8]
    /// The most bytes of a decoded answer that are of use. A longer one is an error, and is not read to its end.
    public let limit: Int
    /// The time for the whole exchange; for a stream, the longest time without a byte, also before the first one.
    public let timeout: Duration

    public init(_ url: String, headers: [Header], body: [UInt8] = [], limit: Int, timeout: Duration) {
        self.url = url
        self.headers = headers
        self.body = body
        self.limit = limit
        self.timeout = timeout
    }
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

/// How a client fetches: one request over HTTP. Not pinned: documents are protected by their signature.
///
/// An implementation follows no redirects, keeps no cookies, and reads no more of a body than it is asked for.
public protocol DocumentTransport: Sendable {
    /// Sends a GET request.
    ///
    /// - Throws: Any error where there is no complete answer in time. One that is late all the same is not waited for, and its task is cancelled.
    func get(_ request: TransportRequest) async throws -> DocumentResponse
}

/// How a client holds a stream of documents open: one request over HTTP whose answer has no end. Not pinned.
///
/// An implementation follows no redirects, keeps no cookies and decompresses nothing.
public protocol StreamTransport: Sendable {
    /// Sends a GET request, and hands over the body of an answer with the status 200 as it arrives.
    ///
    /// - Parameter take: Takes a piece of the body; the next one comes after it has returned. The request ends where it throws.
    /// - Returns: The answer's status, when the answer has ended.
    /// - Throws: Any error where the connection breaks or is idle for too long, `take`'s own, and where the task is cancelled.
    func stream(
        _ request: TransportRequest, take: @escaping @concurrent @Sendable ([UInt8]) async throws -> Void
    ) async throws -> Int
}

/// How a client sends its reports: one request over HTTP. Not pinned: a wrong pin must not keep its own report from leaving.
///
/// An implementation follows no redirects and keeps no cookies.
public protocol ReportTransport: Sendable {
    /// Sends a POST request with the request's body.
    ///
    /// - Returns: The answer's status; its body is of no use.
    /// - Throws: Any error where there is no answer in time.
    func post(_ request: TransportRequest) async throws -> Int
}
