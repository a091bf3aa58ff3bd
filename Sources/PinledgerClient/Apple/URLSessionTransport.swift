// FoundationNetworking of Linux has no streams of bytes; there, HTTPClientTransport of PinledgerClientNIO does the same.
#if canImport(Security)
    public import Foundation

    #if canImport(FoundationNetworking)
        public import FoundationNetworking
    #endif

    /// Fetches documents, holds streams of them open, and sends reports with URLSession, over connections that are not pinned.
    public final class URLSessionTransport: NSObject, DocumentTransport, ReportTransport, StreamTransport,
        URLSessionTaskDelegate
    {
        /// Why there is no complete answer.
        @nonexhaustive
        public enum Failure: Error, Hashable, Sendable, CustomStringConvertible {
            case address(String)
            case tooLong(limit: Int)
            case timedOut(Duration)
            case noHTTP

            public var description: String {
                switch self {
                case .address(let text): "\(text) is no address"
                case .tooLong(let limit): "it answered with more than \(limit) bytes"
                case .timedOut(let time): "it took longer than \(time)"
                case .noHTTP: "it did not answer by HTTP"
                }
            }
        }

        private let session: URLSession

        /// - Parameter session: One that keeps no cookies and caches nothing; ``makeSession()`` makes one.
        public init(_ session: URLSession = URLSessionTransport.makeSession()) { self.session = session }

        /// A session for documents and reports alone.
        public static func makeSession() -> URLSession {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpShouldSetCookies = false
            configuration.httpCookieStorage = nil
            configuration.urlCache = nil
            configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
            return URLSession(configuration: configuration)
        }

        /// No redirect is followed: its answer is the answer.
        public func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) { completionHandler(nil) }

        public func get(_ wanted: TransportRequest) async throws -> DocumentResponse {
            let (request, limit) = (try Self.request(wanted), wanted.limit)
            return try await Self.within(wanted.timeout) {
                let (bytes, response) = try await self.session.bytes(for: request, delegate: self)
                defer { bytes.task.cancel() }
                guard let response = response as? HTTPURLResponse else { throw Failure.noHTTP }
                var body: [UInt8] = []
                for try await byte in bytes {
                    body.append(byte)
                    guard body.count <= limit else { throw Failure.tooLong(limit: limit) }
                }
                return DocumentResponse(status: response.statusCode, body: body)
            }
        }

        public func post(_ wanted: TransportRequest) async throws -> Int {
            var request = try Self.request(wanted)
            request.httpMethod = "POST"
            request.httpBody = Data(wanted.body)
            let sent = request
            return try await Self.within(wanted.timeout) {
                let (bytes, response) = try await self.session.bytes(for: sent, delegate: self)
                // The answer's body is not read: the task ends with its head.
                defer { bytes.task.cancel() }
                guard let response = response as? HTTPURLResponse else { throw Failure.noHTTP }
                return response.statusCode
            }
        }

        public func stream(
            _ wanted: TransportRequest, take: @escaping @concurrent @Sendable ([UInt8]) async throws -> Void
        ) async throws -> Int {
            // `timeoutInterval` is the longest time without a byte.
            let request = try Self.request(wanted)
            let (bytes, response) = try await self.session.bytes(for: request, delegate: self)
            defer { bytes.task.cancel() }
            guard let response = response as? HTTPURLResponse else { throw Failure.noHTTP }
            guard response.statusCode == 200 else { return response.statusCode }
            var piece: [UInt8] = []
            for try await byte in bytes {
                piece.append(byte)
                // Lines are what a stream is read by.
                guard byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") || piece.count >= 16_384 else {
                    continue
                }
                try await take(piece)
                piece.removeAll(keepingCapacity: true)
            }
            if !piece.isEmpty { try await take(piece) }
            return 200
        }

        private static func request(_ wanted: TransportRequest) throws(Failure) -> URLRequest {
            guard let address = URL(string: wanted.url) else { throw .address(wanted.url) }
            var request = URLRequest(url: address, timeoutInterval: Double(wanted.timeout.components.seconds) + 1)
            // The system would name the app, its version, the device's system and its languages. A stream is not to be compressed: proxies
            // hold it back for that.
            let neutral = [
                ("User-Agent", "PinledgerClient"), ("Accept-Language", "*"), ("Accept-Encoding", "identity"),
            ]
            for (name, value) in neutral + wanted.headers.map({ ($0.name, $0.value) }) {
                request.setValue(value, forHTTPHeaderField: name)
            }
            return request
        }

        /// `timeoutInterval` begins again with each byte: a slow answer needs a time of its own.
        private static func within<R: Sendable>(
            _ timeout: Duration, _ body: @escaping @Sendable () async throws -> R
        ) async throws -> R {
            try await withThrowingTaskGroup(of: R.self) { group in
                group.addTask { try await body() }
                group.addTask {
                    try await Task.sleep(for: timeout)
                    throw Failure.timedOut(timeout)
                }
                defer { group.cancelAll() }
                guard let result = try await group.next() else { throw CancellationError() }
                return result
            }
        }
    }
#endif
