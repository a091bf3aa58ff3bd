public import AsyncHTTPClient
import NIOCore
import NIOHTTP1
public import PinledgerClient

/// Fetches documents with AsyncHTTPClient, over connections that are not pinned.
///
/// Give it a client that follows no redirects (`redirectConfiguration = .disallow`) and decompresses nothing, as ``makeClient()`` makes one.
public struct HTTPClientTransport: DocumentTransport {
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

    /// A client for documents alone, which its owner shuts down.
    public static func makeClient() -> HTTPClient {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.decompression = .disabled
        configuration.timeout = .init(connect: .seconds(5), read: .seconds(15))
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    public func get(
        _ url: String, headers: [(name: String, value: String)], limit: Int, timeout: Duration
    ) async throws -> DocumentResponse {
        // The library's own deadline ends with the head of the answer.
        try await withThrowingTaskGroup(of: DocumentResponse.self) { group in
            group.addTask { try await self.exchange(url, headers, limit, timeout) }
            group.addTask {
                try await Task.sleep(for: timeout)
                throw Failure.timedOut(timeout)
            }
            defer { group.cancelAll() }
            guard let response = try await group.next() else { throw CancellationError() }
            return response
        }
    }

    private func exchange(
        _ url: String, _ headers: [(name: String, value: String)], _ limit: Int, _ timeout: Duration
    ) async throws -> DocumentResponse {
        var request = HTTPClientRequest(url: url)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        let response = try await self.client.execute(request, timeout: TimeAmount(timeout))
        var body: [UInt8] = []
        for try await part in response.body {
            body += part.readableBytesView
            guard body.count <= limit else { throw Failure.tooLong(limit: limit) }
        }
        return DocumentResponse(status: Int(response.status.code), body: body)
    }
}
