import AsyncHTTPClient
import Concurrency
import Keys
import NIOCore
import NIOHTTP1
package import NIOSSL
package import PinWire

/// The server, or edge, that an edge gets its documents from. Redirects are not followed.
package struct Upstream: Sendable {
    private let client: HTTPClient
    /// For reports alone: however slowly the upstream takes them, documents do not wait for a connection.
    private let reportClient: HTTPClient
    private let addresses: UpstreamAddresses
    /// For reports alone: clients decide when they are sent, and with what answer, and must not decide whose documents are served.
    private let reportAddresses: UpstreamAddresses
    private let tokenFile: String?
    private let userAgent: String

    /// From the beginning of a request to the end of its answer.
    private static let timeout = Duration.seconds(60)
    /// The longest silence on a stream: three of the upstream's heartbeats.
    private static let silence = TimeAmount.seconds(45)
    /// Bytes of an answer to reports.
    private static let answerLimit = 64 * 1024

    /// - Parameters:
    ///   - addresses: Where it is: those after the first are asked where the one before fails. At least one.
    ///   - tokenFile: The file with the token for the upstream, which is read for each list and stream, so that a new one needs no
    ///     restart; nil to send none.
    ///   - tls: How the upstream is verified.
    ///   - onChange: Called with the address that is asked from now on, and with why the one before is not.
    package init(
        addresses: [String], tokenFile: String?, tls: TLSConfiguration, userAgent: String,
        onChange: @escaping @Sendable (_ address: String, _ failure: UpstreamFailure) -> Void = { _, _ in }
    ) {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.timeout = .init(connect: .seconds(5), read: Self.silence)
        configuration.tlsConfiguration = tls
        configuration.decompression = .disabled
        // The follower tries again, and says why.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 32
        self.client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        self.reportClient = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        self.addresses = UpstreamAddresses(addresses, onChange: onChange)
        self.reportAddresses = UpstreamAddresses(addresses) { _, _ in }
        self.tokenFile = tokenFile
        self.userAgent = userAgent
    }

    /// Ends all requests under way. To be called once, after which nothing can be sent.
    package func close() async {
        try? await self.client.shutdown()
        try? await self.reportClient.shutdown()
    }

    // MARK: Documents

    /// The list of the documents; nil where the one with this tag is still right.
    package func list(ifNoneMatch tag: String?) async throws(UpstreamFailure) -> DocumentList? {
        try await self.addresses.ask { address throws(UpstreamFailure) in
            var request = try await self.authorized(address, "/client/v1/documents")
            if let tag { request.headers.add(name: "If-None-Match", value: tag) }
            let (head, body) = try await self.send(request, atMost: DocumentList.byteLimit)
            switch head.status.code {
            case 304 where tag != nil: return nil
            case 200: return try DocumentList(body, tag: head.tag)
            default: throw Self.failure(head, body)
            }
        }
    }

    /// An app's document, unverified.
    package func document(of app: AppID) async throws(UpstreamFailure) -> [UInt8] {
        try await self.addresses.ask { address throws(UpstreamFailure) in
            let (head, body) = try await self.send(
                self.request(address, "/client/v1/apps/\(app)/document"), atMost: CompactJWS.maximumSize)
            guard head.status == .ok else { throw Self.failure(head, body) }
            return body
        }
    }

    /// A root of trust, unverified; nil where the upstream has none of this version.
    func root(version: Int64) async throws(UpstreamFailure) -> [UInt8]? {
        try await self.addresses.ask { address throws(UpstreamFailure) in
            let (head, body) = try await self.send(
                self.request(address, "/client/v1/roots/\(version)"), atMost: RootOfTrust.byteLimit)
            switch head.status.code {
            case 200: return body
            // An upstream of an earlier release has no roots.
            case 404: return nil
            default: throw Self.failure(head, body)
            }
        }
    }

    /// Follows the stream of all documents until it ends. Where it fails, the next address is asked the next time.
    ///
    /// - Parameters:
    ///   - onOpen: Called once the upstream has begun to answer. What is published from then on is told.
    ///   - take: Called with each piece of news, in order.
    /// - Returns: How long the upstream asks to wait before the stream is opened again, in seconds.
    package func follow(
        onOpen: () -> Void, take: (DocumentNews) -> Void
    ) async throws(UpstreamFailure) -> Double? {
        try await self.addresses.askOne { address throws(UpstreamFailure) in
            try await self.follow(address, onOpen: onOpen, take: take)
        }
    }

    private func follow(
        _ address: String, onOpen: () -> Void, take: (DocumentNews) -> Void
    ) async throws(UpstreamFailure) -> Double? {
        let request = try await self.authorized(address, "/client/v1/documents/stream")
        let begun = ContinuousClock.now
        var reader = DocumentNewsReader()
        do {
            // A stream has no end by itself: the connection's own limit on silence ends it.
            let response = try await self.client.execute(request, deadline: .now() + .seconds(60))
            // The body of another answer is of no use, and may have no end.
            guard response.status == .ok else { throw UpstreamFailure.status(Int(response.status.code), problem: "") }
            guard response.headers.first(name: "Content-Type")?.hasPrefix("text/event-stream") == true else {
                throw UpstreamFailure.malformed("stream of documents")
            }
            onOpen()
            for try await piece in response.body {
                for news in try reader.read(piece.readableBytesView) { take(news) }
            }
        } catch let failure as UpstreamFailure {
            throw failure
        } catch is DocumentNewsReader.LineTooLong {
            throw .malformed("stream of documents")
        } catch {
            throw .unreachable("\(error)")
        }
        guard ContinuousClock.now - begun > .seconds(1) else { throw .malformed("stream that stands") }
        return reader.retry.map { Double($0) / 1000 }
    }

    // MARK: Reports

    /// What has become of a report that was sent.
    enum Receipt: Hashable {
        case taken
        /// It would be refused again.
        case refused
        /// The client's network has sent too many: it may be sent again after so many seconds.
        case later(seconds: Int)
    }

    /// Passes a client's report on, as it came.
    ///
    /// - Throws: Why the upstream takes none at the moment.
    func send(_ report: WaitingReport) async throws(UpstreamFailure) -> Receipt {
        try await self.reportAddresses.ask { address throws(UpstreamFailure) in
            try await self.send(report, to: address)
        }
    }

    private func send(_ report: WaitingReport, to address: String) async throws(UpstreamFailure) -> Receipt {
        var request = self.request(address, report.path)
        request.method = .POST
        for field in report.fields { request.headers.add(name: field.name, value: field.value) }
        request.headers.add(name: "X-Forwarded-For", value: report.address)
        request.body = .bytes(ByteBuffer(bytes: report.body))
        let (head, body) = try await Self.send(request, by: self.reportClient, atMost: Self.answerLimit)
        switch head.status.code {
        case 202: return .taken
        case 429: return .later(seconds: head.headers.first(name: "Retry-After").flatMap { Int($0) } ?? 30)
        case 408, 500...: throw Self.failure(head, body)
        default: return .refused
        }
    }

    // MARK: Requests

    private func request(_ address: String, _ path: String) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: address + path)
        request.headers.add(name: "User-Agent", value: self.userAgent)
        return request
    }

    private func authorized(_ address: String, _ path: String) async throws(UpstreamFailure) -> HTTPClientRequest {
        var request = self.request(address, path)
        guard let file = self.tokenFile else { return request }
        let read = await DetachedThread.run { () -> Result<[UInt8], PrivateFile.Failure> in
            do throws(PrivateFile.Failure) { return .success(try PrivateFile.read(file, atMost: 4096)) } catch {
                return .failure(error)
            }
        }
        switch read {
        case .success(let bytes):
            guard let text = String(ascii: bytes) else { throw .token("the token in \(file) is no text") }
            request.headers.add(
                name: "Authorization", value: "Bearer \(text.split(whereSeparator: \.isWhitespace).first ?? "")")
        case .failure(let failure): throw .token(failure.text("the token for the upstream", file).message)
        case nil: throw .unreachable("the system has no thread to give")
        }
        return request
    }

    private func send(
        _ request: HTTPClientRequest, atMost limit: Int
    ) async throws(UpstreamFailure) -> (HTTPClientResponse, [UInt8]) {
        try await Self.send(request, by: self.client, atMost: limit)
    }

    /// Sends a request and reads the whole answer.
    private static func send(
        _ request: HTTPClientRequest, by client: HTTPClient, atMost limit: Int
    ) async throws(UpstreamFailure) -> (HTTPClientResponse, [UInt8]) {
        // The client's own limit ends with the head: a body that comes byte by byte would have no end.
        typealias Answer = Result<(HTTPClientResponse, [UInt8]), UpstreamFailure>
        let answer = await withTaskGroup(of: Answer.self) { group in
            group.addTask { () -> Answer in
                do {
                    let response = try await client.execute(request, deadline: .distantFuture)
                    let body = try await response.body.collect(upTo: limit)
                    return .success((response, Array(body.readableBytesView)))
                } catch {
                    return .failure(.unreachable("\(error)"))
                }
            }
            group.addTask { () -> Answer in
                try? await Task.sleep(for: Self.timeout)
                return .failure(.unreachable("no whole answer within \(Self.timeout)"))
            }
            defer { group.cancelAll() }
            return await group.next() ?? .failure(.unreachable("cancelled"))
        }
        return try answer.get()
    }

    private static func failure(_ head: HTTPClientResponse, _ body: [UInt8]) -> UpstreamFailure {
        let problem = (try? JSON(parsing: body, limits: JSONLimits(depth: 4, nodes: 1000)))?["type"]?.stringValue
        return .status(Int(head.status.code), problem: problem.map { String(shown: $0.utf8) } ?? "")
    }
}

extension HTTPClientResponse {
    fileprivate var tag: String {
        self.headers.first(name: "ETag").flatMap { $0.utf8.allSatisfy { $0 < 128 } ? $0 : nil } ?? ""
    }
}
