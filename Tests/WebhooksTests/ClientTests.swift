import Addresses
import Fixtures
import NIOCore
import NIOHTTP1
import Pinning
import Probing
import Synchronization
import Testing
import Webhooks

@Suite(.takingTurns, .timeLimit(.minutes(60))) struct `A webhook's sender` {
    /// A client that may call loopback, and nothing else that is not public.
    private func client<R>(
        allowing ranges: [String] = ["127.0.0.0/8"], allowsPlain: Bool = true, total: Duration = .seconds(60),
        resolve: OutgoingClient.Resolve? = nil, _ body: (OutgoingClient) async throws -> R
    ) async throws -> R {
        let policy = AddressPolicy(allowed: try ranges.map { try IPNetwork($0) }, allowsLiterals: true)
        let client = OutgoingClient(
            limits: .init(total: total), refusal: { policy.refusal(of: $0) }, allowsPlain: allowsPlain, resolve: resolve
        )
        let result: Result<R, any Error>
        do { result = .success(try await body(client)) } catch { result = .failure(error) }
        await client.close()
        return try result.get()
    }

    private func post(_ client: OutgoingClient, _ url: String) async throws -> Result<ReceiverAnswer, SendFailure> {
        let url = try OutgoingURL(url)
        do {
            return .success(try await client.post(Array("{}".utf8), to: url, fields: [("webhook-id", "whd_1")]))
        } catch { return .failure(error) }
    }

    @Test func `a webhook's sender posts the message and takes the answer`() async throws {
        try await Receiver.run(.answer(202, [("Retry-After", "7")], body: "thanks")) { receiver in
            try await self.client { client in
                let answer = try await self.post(client, "http://127.0.0.1:\(receiver.port)/in?a=b").get()
                #expect(answer == ReceiverAnswer(status: 202, retryAfter: "7", body: Array("thanks".utf8)))
            }
            let request = try #require(receiver.requests.first)
            #expect(request.head.method == .POST && request.head.uri == "/in?a=b" && request.body == "{}")
            #expect(request.head.headers["host"] == ["127.0.0.1:\(receiver.port)"])
            #expect(request.head.headers["webhook-id"] == ["whd_1"])
            #expect(request.head.headers["content-type"] == ["application/json"])
        }
    }

    @Test func `a webhook's sender follows no redirect`() async throws {
        try await Receiver.run(.answer(200)) { other in
            let location = [("Location", "http://127.0.0.1:\(other.port)/")]
            try await Receiver.run(.answer(307, location)) { receiver in
                try await self.client { client in
                    let answer = try await self.post(client, "http://127.0.0.1:\(receiver.port)/").get()
                    #expect(answer.status == 307)
                }
            }
            #expect(other.connections == 0)
        }
    }

    @Test func `a webhook's sender waits for no receiver longer than its limit`() async throws {
        try await Receiver.run(.hang) { receiver in
            try await self.client(total: .seconds(3)) { client in
                let result = try await self.post(client, "http://127.0.0.1:\(receiver.port)/")
                #expect(result == .failure(.timedOut))
            }
        }
    }

    @Test func `a webhook's sender takes no more of an answer than it keeps`() async throws {
        try await Receiver.run(.flood) { receiver in
            try await self.client { client in
                let answer = try await self.post(client, "http://127.0.0.1:\(receiver.port)/").get()
                #expect(answer.status == 200 && answer.body.count == OutgoingClient.bodyLimit)
            }
        }
    }

    @Test func `a webhook's sender says that an exchange broke off`() async throws {
        for behaviour in [Receiver.Behaviour.hangUp, .babble] {
            try await Receiver.run(behaviour) { receiver in
                try await self.client { client in
                    let result = try await self.post(client, "http://127.0.0.1:\(receiver.port)/")
                    guard case .failure(.broken) = result else {
                        Issue.record("\(result)")
                        return
                    }
                }
            }
        }
        try await self.client { client in
            let result = try await self.post(client, "http://127.0.0.1:1/")
            guard case .failure(.noConnection) = result else {
                Issue.record("\(result)")
                return
            }
        }
    }

    @Test func `a webhook's sender calls only public addresses unless others are allowed`() async throws {
        try await Receiver.run(.answer(200)) { receiver in
            try await self.client(allowing: []) { client in
                for host in [
                    "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "10.0.0.1", "169.254.169.254", "192.168.1.1",
                    "[fd00::1]", "[fe80::1]", "0.0.0.0", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "localhost",
                ] {
                    let url = "http://\(host):\(receiver.port)/"
                    let result = try await self.post(client, url)
                    guard case .failure(.refused) = result else {
                        Issue.record("\(host): \(result)")
                        continue
                    }
                    #expect(client.refusal(of: try OutgoingURL(url)) != nil, "\(host)")
                }
                #expect(client.refusal(of: try OutgoingURL("https://hooks.example.com/")) == nil)
            }
            #expect(receiver.connections == 0)
        }
    }

    @Test func `a webhook's sender calls https only, unless http is allowed`() async throws {
        try await Receiver.run(.answer(200)) { receiver in
            try await self.client(allowsPlain: false) { client in
                let result = try await self.post(client, "http://127.0.0.1:\(receiver.port)/")
                guard case .failure(.refused) = result else {
                    Issue.record("\(result)")
                    return
                }
            }
            #expect(receiver.connections == 0)
        }
    }

    @Test func `a webhook's sender connects to the address that was judged, whatever the name gives the next time`()
        async throws
    {
        try await Receiver.run(.answer(200)) { receiver in
            // First a public address (of a documentation range that is allowed here), then this machine.
            let answers = Mutex(0)
            let rebinding: OutgoingClient.Resolve = { _, port throws(SendFailure) in
                let count = answers.withLock { count in
                    count += 1
                    return count
                }
                let text = count == 1 ? "192.0.2.1" : "127.0.0.1"
                guard let address = try? SocketAddress(ipAddress: text, port: port) else { throw .unresolved(text) }
                return [address]
            }
            try await self.client(allowing: ["192.0.2.0/24"], total: .milliseconds(300), resolve: rebinding) { client in
                _ = try await self.post(client, "http://rebinding.example:\(receiver.port)/")
                #expect(answers.withLock { $0 } == 1, "the name is looked up once for each attempt")
                let second = try await self.post(client, "http://rebinding.example:\(receiver.port)/")
                guard case .failure(.refused) = second else {
                    Issue.record("\(second)")
                    return
                }
            }
            #expect(receiver.connections == 0)
        }
    }

    @Test func `a webhook's sender skips the forbidden addresses of a name`() async throws {
        try await Receiver.run(.answer(204)) { receiver in
            let both: OutgoingClient.Resolve = { _, port throws(SendFailure) in
                ["10.0.0.1", "127.0.0.1"].compactMap { try? SocketAddress(ipAddress: $0, port: port) }
            }
            try await self.client(resolve: both) { client in
                let answer = try await self.post(client, "http://both.example:\(receiver.port)/").get()
                #expect(answer.status == 204)
            }
            #expect(receiver.requests.first?.head.headers["host"] == ["both.example:\(receiver.port)"])
        }
    }

    @Test func `a webhook's sender finds the addresses of names by the system`() async throws {
        try await Receiver.run(.answer(200)) { receiver in
            try await self.client(allowing: ["127.0.0.0/8", "::1"]) { client in
                #expect(try await self.post(client, "http://localhost:\(receiver.port)/").get().status == 200)
                let result = try await self.post(client, "http://nothing.invalid:\(receiver.port)/")
                guard case .failure(.unresolved) = result else {
                    Issue.record("\(result)")
                    return
                }
            }
        }
    }

    @Test func `a webhook's sender lets a cancelled attempt end, and gives it up after a moment`() async throws {
        try await Receiver.run(.hang) { receiver in
            try await self.client { client in
                let url = "http://127.0.0.1:\(receiver.port)/"
                let task = Task { try await self.post(client, url) }
                #expect(await eventually { !receiver.requests.isEmpty })
                task.cancel()
                let result = try await task.value
                #expect(result == .failure(.stopped))
            }
        }
    }
}
