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
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    public func get(
        _ url: String, headers: [(name: String, value: String)], limit: Int, timeout: Duration
    ) async throws -> DocumentResponse {
        try await self.exchange(Self.request(url, headers), limit, timeout)
    }

    public func post(
        _ url: String, headers: [(name: String, value: String)], body: [UInt8], timeout: Duration
    ) async throws -> Int {
        var request = Self.request(url, headers)
        request.method = .POST
        request.body = .bytes(body)
        return try await self.exchange(request, Self.answerLimit, timeout).status
    }

    public func stream(
        _ url: String, headers: [(name: String, value: String)], idle: Duration,
        take: @escaping @concurrent @Sendable ([UInt8]) async throws -> Void
    ) async throws -> Int {
        let request = Self.request(url, headers)
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

    /// The most bytes of an answer to a report that are read.
    private static let answerLimit = 65_536

    private static func request(_ url: String, _ headers: [(name: String, value: String)]) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: url)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        return request
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
