import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOHTTPCompression
package import PinWire
import Webhooks

/// Requests to Google, with limits to time and size. Redirects are not followed.
package struct FirebaseHTTP: Sendable {
    /// A complete answer.
    package struct Answer: Sendable {
        package var status: Int
        package var etag: String?
        /// Seconds.
        package var retryAfter: Int64?
        package var body: [UInt8]
    }

    private let client: HTTPClient
    private let userAgent: String
    private let clock: @Sendable () -> Timestamp

    /// Bytes of an answer, also when it is unpacked. A template's values have a million characters at the most.
    package static let bodyLimit = 16 << 20
    /// From the beginning of a request to the end of its answer.
    private static let timeout = TimeAmount.seconds(30)

    package init(userAgent: String, clock: @escaping @Sendable () -> Timestamp) {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.timeout = .init(connect: .seconds(5), read: .seconds(20))
        configuration.decompression = .enabled(limit: .size(Self.bodyLimit))
        self.client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        self.userAgent = userAgent
        self.clock = clock
    }

    /// Ends all requests under way. To be called once, after which nothing can be sent.
    package func close() async { try? await self.client.shutdown() }

    /// Sends one request and reads the whole answer, whatever its status.
    ///
    /// - Throws: ``FirebaseFailure/unreachable(_:)`` where no whole answer comes in time, or it is too large.
    package func send(
        _ method: String, _ url: String, fields: [(name: String, value: String)], body: [UInt8]? = nil
    ) async throws(FirebaseFailure) -> Answer {
        var request = HTTPClientRequest(url: url)
        request.method = HTTPMethod(rawValue: method)
        request.headers.add(name: "User-Agent", value: self.userAgent)
        // The service leaves out the ETag where no compression is accepted (Firebase's guide, "ETag usage").
        request.headers.add(name: "Accept-Encoding", value: "gzip")
        for (name, value) in fields { request.headers.add(name: name, value: value) }
        if let body { request.body = .bytes(ByteBuffer(bytes: body)) }
        do {
            let response = try await self.client.execute(request, timeout: Self.timeout)
            let bytes = try await response.body.collect(upTo: Self.bodyLimit)
            return Answer(
                status: Int(response.status.code),
                etag: response.headers.first(name: "ETag").flatMap { $0.isASCII ? $0 : nil },
                retryAfter: response.headers.first(name: "Retry-After").flatMap {
                    RetryAfter.seconds($0, now: self.clock())
                },
                body: Array(bytes.readableBytesView))
        } catch {
            throw .unreachable(Self.printable("\(error)"))
        }
    }

    /// Google's own text in an error answer: `error.message`, or OAuth's `error_description`.
    package static func detail(_ answer: Answer) -> String {
        let json = try? JSON(parsing: answer.body)
        let error = json?["error"]
        let text =
            error?["message"]?.stringValue ?? json?["error_description"]?.stringValue ?? error?.stringValue
            ?? "status \(answer.status)"
        return Self.printable(text)
    }

    /// At most 300 characters of foreign text, with everything but printable ASCII replaced.
    package static func printable(_ text: String) -> String {
        String(text.unicodeScalars.prefix(300).map { (0x20...0x7E).contains($0.value) ? Character($0) : "?" })
    }
}
