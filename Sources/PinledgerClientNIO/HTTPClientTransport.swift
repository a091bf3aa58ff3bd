public import AsyncHTTPClient
import NIOCore
import NIOHTTP1
public import PinledgerClient
import Synchronization

/// Fetches documents, holds streams of them open, and sends reports with AsyncHTTPClient, over connections that are not pinned.
///
/// Give it a client that follows no redirects (`redirectConfiguration = .disallow`) and decompresses nothing, as ``makeClient()`` makes one.
public struct HTTPClientTransport: DocumentTransport, ReportTransport, StreamTransport {
    /// Why there is no complete answer.
    @nonexhaustive
    public enum Failure: Error, Hashable, Sendable, CustomStringConvertible {
        case tooLong(limit: Int)
        case timedOut(Duration)

        public var description: String {
            switch self {
            case .tooLong(let limit): "it answered with more than \(limit) bytes"
            case .timedOut(let time): "it took longer than \(time)"
            }
        }
    }

    private let client: HTTPClient

    public init(_ client: HTTPClient) { self.client = client }

    /// A client for documents and reports alone, which its owner shuts down.
    public static func makeClient() -> HTTPClient {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.decompression = .disabled
        // Streams are silent for 15 seconds; the caller's own times end everything else sooner.
        configuration.timeout = .init(connect: .seconds(5), read: .seconds(60))
        // A service that refuses connections is left for the next one at once.
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    /// Shuts down the AsyncHTTPClient that it was given, which has to happen before the last reference to it is gone: otherwise that ends the
    /// program. Leave it to the owner of a client that others use too.
    public func shutdown() async throws { try await self.client.shutdown() }

    public func get(_ request: TransportRequest) async throws -> DocumentResponse {
        try await self.exchange(Self.request(request), request.limit, request.timeout)
    }

    public func post(_ request: TransportRequest) async throws -> Int {
        var post = Self.request(request)
        post.method = .POST
        post.body = .bytes(request.body)
        return try await self.exchange(post, request.limit, request.timeout).status
    }

    public func stream(
        _ stream: TransportRequest, take: @escaping @concurrent @Sendable ([UInt8]) async throws -> Void
    ) async throws -> Int {
        let (request, idle) = (Self.request(stream), stream.timeout)
        let last = LastByte()
        return try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask {
                let response = try await self.client.execute(request, timeout: TimeAmount(idle))
                guard response.status == .ok else { return Int(response.status.code) }
                for try await part in response.body {
                    last.note()
                    try await take(Array(part.readableBytesView))
                    last.note()
                }
                return 200
            }
            group.addTask {
                while true {
                    let end = last.time.advanced(by: idle)
                    guard end > .now else { throw Failure.timedOut(idle) }
                    try await Task.sleep(until: end, clock: .continuous)
                }
            }
            defer { group.cancelAll() }
            guard let status = try await group.next() else { throw CancellationError() }
            return status
        }
    }

    private static func request(_ request: TransportRequest) -> HTTPClientRequest {
        var made = HTTPClientRequest(url: request.url)
        for header in request.headers { made.headers.add(name: header.name, value: header.value) }
        return made
    }

    private func exchange(
        _ request: HTTPClientRequest, _ limit: Int, _ timeout: Duration
    ) async throws -> DocumentResponse {
        // The library's own deadline ends with the head of the answer.
        try await withThrowingTaskGroup(of: DocumentResponse.self) { group in
            group.addTask { try await self.answer(to: request, limit, timeout) }
            group.addTask {
                try await Task.sleep(for: timeout)
                throw Failure.timedOut(timeout)
            }
            defer { group.cancelAll() }
            guard let response = try await group.next() else { throw CancellationError() }
            return response
        }
    }

    private func answer(
        to request: HTTPClientRequest, _ limit: Int, _ timeout: Duration
    ) async throws -> DocumentResponse {
        let response = try await self.client.execute(request, timeout: TimeAmount(timeout))
        var body: [UInt8] = []
        for try await part in response.body {
            body += part.readableBytesView
            guard body.count <= limit else { throw Failure.tooLong(limit: limit) }
        }
        return DocumentResponse(status: Int(response.status.code), body: body)
    }
}

/// When the last byte of a stream came, or the request began.
private final class LastByte: Sendable {
    private let content = Mutex(ContinuousClock.now)

    var time: ContinuousClock.Instant { self.content.withLock { $0 } }

    func note() { self.content.withLock { $0 = .now } }
}
