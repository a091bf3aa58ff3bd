import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import PinWire
import Pinning
import Traces

/// The client of the API for the operator's commands.
struct APIClient {
    let context: ServerContext
    private let http: HTTPClient

    private init(context: ServerContext) throws {
        self.context = context
        var configuration = HTTPClient.Configuration()
        if context.server.lowercased().hasPrefix("https:") {
            var security = try context.trust.configuration()
            try context.identity?.apply(to: &security)
            configuration.tlsConfiguration = security
        }
        configuration.redirectConfiguration = .disallow
        // A failed connection is reported at once; ``sendOnce(_:_:body:key:headers:)`` does the repeating.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout = .init(connect: .seconds(5), read: .seconds(60))
        self.http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    /// Runs `body` with a client, which is shut down on every way out.
    static func with<R>(_ context: ServerContext, _ body: (APIClient) async throws -> R) async throws -> R {
        let client = try APIClient(context: context)
        do {
            let result = try await body(client)
            try await client.http.shutdown()
            return result
        } catch var failure as CommandFailure {
            if failure.suggestion == nil { failure.suggestion = await client.suggestion(for: failure) }
            try? await client.http.shutdown()
            throw failure
        } catch {
            try? await client.http.shutdown()
            throw error
        }
    }

    /// The server's address, without a slash at its end.
    var base: String { self.context.base }

    /// The server's answer.
    struct Answer {
        var status: Int
        var headers: HTTPHeaders
        var body: [UInt8]
        /// Where it was asked.
        var path = ""
        /// The token that the command found by itself, if it did.
        var stored: StoredToken?

        var json: JSON { get throws { try JSON(parsing: self.body, limits: .stored(depth: 64, nodes: .max)) } }

        /// Turns a problem into a failure with its sentence, its advice and the right exit code.
        func check() throws {
            if (300..<400).contains(self.status), self.status != 304 {
                let target = self.headers.first(name: "Location").map { ", a redirect to \($0)" } ?? ""
                throw CommandFailure(
                    "the server answered \(self.status)\(target): nothing was done",
                    advice: "Redirects are not followed, for the token's sake. Name the right address with --server.",
                    status: .unreachable)
            }
            guard self.status >= 400 else { return }
            var failure = ProblemReport(try? self.json, status: self.status, headers: self.headers).failure
            failure.target = self.path
            if self.status == 401, let stored { failure = stored.naming(in: failure, at: Node.clock()) }
            if self.status == 404, failure.problem == "/problems/not_found", self.path.hasPrefix("/client/") {
                failure.message = "the server does not answer clients at this address"
                failure.advice = "Give --server with the address that clients use, such as http://127.0.0.1:8440."
            }
            throw failure
        }
    }

    /// The most bytes of an answer that are read; a longer one is an error.
    static let largestBody = 256 * 1024 * 1024

    /// Sends one request.
    ///
    /// - Parameter limit: The most bytes of an answer that has any use, where that is fewer. A longer one is returned without
    ///   its end, and is still longer than this.
    func send(
        _ method: String, _ path: String, body: [UInt8]? = nil, headers: [(String, String)] = [],
        limit: Int = APIClient.largestBody
    ) async throws -> Answer {
        do { return try await self.exchange(method, path, body: body, headers: headers, limit: limit) } catch {
            throw error.failure
        }
    }

    /// Sends one change and, while its outcome is unknown, repeats the same request: by its idempotency key the server
    /// recognises it and records it once.
    ///
    /// - Parameter key: Nil for a new one.
    func sendOnce(
        _ method: String, _ path: String, body: [UInt8]?, key: String?, headers: [(String, String)] = []
    ) async throws -> Answer {
        let key = key ?? UUID().uuidString
        guard (1...255).contains(key.utf8.count), key.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw CommandFailure("an idempotency key has 1 to 255 printable ASCII characters", status: .usage)
        }
        let end = ContinuousClock.now + .seconds(60)
        var isUncertain = false
        var last = ""
        let pauses = [Duration.milliseconds(250), .seconds(1), .seconds(2), .seconds(4), .seconds(6), .zero]
        for pause in pauses {
            do {
                let answer = try await self.exchange(
                    method, path, body: body, headers: headers + [("Idempotency-Key", key)])
                let problem = answer.status == 503 ? try? answer.json : nil
                if problem?["type"] == "/problems/outcome_unknown" { isUncertain = true }
                // After an uncertain attempt, the answer of a server that can do nothing now says nothing about it.
                guard isUncertain, answer.status == 503 else { return answer }
                last = problem?["detail"] == nil ? "the server answered 503" : problem?.said("detail") ?? ""
            } catch {
                guard isUncertain || !error.isUnsent else { throw error.failure }
                isUncertain = true
                last = error.failure.message
            }
            guard pause > .zero, ContinuousClock.now < end else { break }
            try await Task.sleep(for: pause)
        }
        throw CommandFailure(
            "\(last)\nThe change may have been recorded, or it may not.",
            advice: "Repeat the command with `--idempotency-key \(key)`. The change is then recorded only once.",
            status: .unreachable
        )
    }

    private func exchange(
        _ method: String, _ path: String, body: [UInt8]?, headers: [(String, String)],
        limit: Int = APIClient.largestBody
    ) async throws(BrokenExchange) -> Answer {
        let base = self.base
        // Without a slash in front, a path could name another host.
        var request = HTTPClientRequest(url: base + (path.hasPrefix("/") ? path : "/\(path)"))
        request.method = HTTPMethod(rawValue: method)
        if let token = self.context.token {
            // What clients fetch needs no token.
            if !self.context.isExposed {
                request.headers.add(name: "Authorization", value: "Bearer \(token)")
            } else if !["/client/", "/compat/", "/readyz", "/healthz"].contains(where: path.hasPrefix) {
                throw BrokenExchange(trouble: .tokenExposed, server: base, trust: self.context.trust)
            }
        }
        request.headers.add(name: "User-Agent", value: "pinledger/\(Version.text)")
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        // A job that runs commands has its place in a trace in the environment (OpenTelemetry, "Environment Variables as Context
        // Propagation Carriers").
        if let trace = Environment["TRACEPARENT"].flatMap({ TraceContext(parent: $0, state: Environment["TRACESTATE"]) }
        ) {
            request.headers.add(name: NodeTracer.parentField, value: trace.parent)
            if !trace.state.isEmpty { request.headers.add(name: NodeTracer.stateField, value: trace.state) }
        }
        if let body {
            if !request.headers.contains(name: "Content-Type") {
                request.headers.add(name: "Content-Type", value: "application/json")
            }
            request.body = .bytes(ByteBuffer(bytes: body))
        }
        do {
            let response = try await self.http.execute(request, timeout: .seconds(60))
            var bytes = ByteBuffer()
            for try await part in response.body {
                bytes.writeImmutableBuffer(part)
                // The rest is not read; the caller sees that there is too much.
                if bytes.readableBytes > limit { break }
            }
            guard bytes.readableBytes <= Self.largestBody else {
                throw NIOTooManyBytesError(maxBytes: Self.largestBody)
            }
            return Answer(
                status: Int(response.status.code), headers: response.headers, body: Array(bytes.readableBytesView),
                path: path, stored: self.context.stored)
        } catch {
            let trust = self.context.trust
            throw BrokenExchange(
                trouble: await ConnectionTrouble.found(error, server: base, trust: trust), server: base, trust: trust)
        }
    }

    /// A request without an answer, or with half of one.
    struct BrokenExchange: Error {
        var trouble: ConnectionTrouble
        var server: String
        var trust: ServerTrust

        /// Whether the server cannot have seen the request.
        var isUnsent: Bool { self.trouble.isUnsent }
        var failure: CommandFailure { self.trouble.failure(server: self.server, trust: self.trust) }
    }

    /// Sends a request without a body, and returns the answer or why there is none.
    func look(_ path: String) async -> Result<Answer, BrokenExchange> {
        do { return .success(try await self.exchange("GET", path, body: nil, headers: [])) } catch {
            return .failure(error)
        }
    }

    /// The JSON at a path.
    func get(_ path: String) async throws -> JSON {
        let answer = try await self.send("GET", path)
        try answer.check()
        return try answer.json
    }

    /// Sends a change, with reason, force and the other options in the API's form.
    func change(
        _ method: String, _ path: String, _ members: [String: JSON], _ options: ChangeOptions
    ) async throws -> JSON {
        try await self.versionedChange(method, path, members, options).json
    }

    /// The same, with the version of the stream after it; nil where the answer has none.
    func versionedChange(
        _ method: String, _ path: String, _ members: [String: JSON], _ options: ChangeOptions
    ) async throws -> (json: JSON, version: EpochNumber?) {
        var query: [String] = options.dryRun ? ["dry_run=true"] : []
        query += try options.proposal.query
        var headers: [(String, String)] = []
        if let version = options.ifVersion { headers.append(("If-Match", "\"\(version)\"")) }
        var body: [UInt8]?
        if method == "DELETE" {
            if let reason = options.reason { query.append("reason=\(Self.escaped(reason))") }
            if options.force { query.append("force=true") }
        } else {
            var members = members
            members["reason"] = options.reason.map { .string($0) }
            if options.force { members["force"] = true }
            body = JSON.object(members).canonicalBytes
        }
        let target = path + (query.isEmpty ? "" : (path.contains("?") ? "&" : "?") + query.joined(separator: "&"))
        let answer = try await self.sendOnce(method, target, body: body, key: options.idempotencyKey, headers: headers)
        try answer.check()
        let tag = answer.headers.first(name: "ETag")
        return (try answer.json, tag.flatMap { EpochNumber($0.filter { $0 != "\"" }) })
    }

    /// Percent-encodes all but unreserved characters (RFC 3986 section 2.3).
    static func escaped(_ text: String) -> String {
        let unreserved = CharacterSet(
            charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
        return text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? text
    }
}
