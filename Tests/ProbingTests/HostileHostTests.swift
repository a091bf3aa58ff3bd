import Fixtures
import Glibc
import Probing
import Synchronization
import Testing

/// Each costs its own time-out at most, and says what was wrong.
@Suite(.takingTurns, .timeLimit(.minutes(60))) struct `A hostile host` {
    private func failure(
        _ options: ProbeOptions = patient, startTLS: StartTLS? = nil,
        of behaviour: @escaping @Sendable (SocketHost.Connection) -> Void
    ) async throws -> ProbeFailure {
        let host = try SocketHost(behaviour)
        var failure: ProbeFailure?
        try await withProber { prober in
            failure = try await prober.probe(host.target(startTLS), options: options).onlyFailure()
        }
        return try #require(failure)
    }

    @Test func `a hostile host that hangs times out, in each stage`() async throws {
        #expect(try await self.failure(hurried) { $0.hang() }.stage == .handshake)
        #expect(try await self.failure(hurried) { $0.hang() }.kind == .timedOut)
        let silent = try await self.failure(hurried, startTLS: .smtp) { $0.hang() }
        #expect(silent.stage == .startTLS && silent.kind == .timedOut)
    }

    @Test func `a hostile host that resets is told from one that closes`() async throws {
        let reset = try await self.failure { connection in
            _ = connection.receive()
            connection.reset()
        }
        #expect(reset.kind == .reset && reset.stage == .handshake)
        let closed = try await self.failure { connection in _ = connection.receive() }
        #expect(closed.kind == .closed && closed.stage == .handshake)
    }

    @Test(arguments: [
        ("HTTP/1.1 400 Bad Request\r\n\r\n", "plain HTTP"), ("<html>", "plain HTTP"), ("SSH-2.0-x\r\n", "SSH"),
        ("220 mail.test ESMTP\r\n", "STARTTLS"), ("* OK ready\r\n", "STARTTLS"), ("\0\0\0\0", "something else"),
        ("\u{16}\u{02}\u{01}", "something else"), ("+OK\r\n", "POP3"), ("x", "something else"),
    ])
    func `a hostile host that speaks in clear is recognised`(words: String, meaning: String) async throws {
        let failure = try await self.failure { connection in
            connection.send(words)
            connection.hang()
        }
        #expect(failure.kind == .notTLS && failure.reason.contains(meaning))
    }

    @Test func `a hostile host that sends garbage in TLS records fails`() async throws {
        let failure = try await self.failure { connection in
            connection.send([22, 3, 3, 0, 16] + (0..<64).map { UInt8($0) })
            connection.hang()
        }
        #expect([.handshakeFailed, .tooLarge].contains(failure.kind))
    }

    @Test func `a hostile host that declines is quoted by the number of its alert`() async throws {
        let failure = try await self.failure { connection in
            _ = connection.receive()
            connection.send([21, 3, 3, 0, 2, 2, 40])
            connection.hang()
        }
        #expect(failure.kind == .handshakeAlert && failure.reason.contains("alert 40, handshake failure"))
    }

    @Test func `a hostile host that announces a message of 10 MB is cut off`() async throws {
        let failure = try await self.failure { connection in
            // ServerHello with 10,000,000 bytes.
            connection.send([22, 3, 3, 0x40, 0, 2, 0x98, 0x96, 0x80] + [UInt8](repeating: 3, count: 0x4000 - 4))
            while connection.send([22, 3, 3, 0x40, 0] + [UInt8](repeating: 3, count: 0x4000)) {}
        }
        #expect(failure.kind == .tooLarge)
    }

    @Test func `a hostile host whose chain has no end is cut off`() async throws {
        let failure = try await self.failure { connection in
            connection.send(Self.serverHello)
            // A certificate message of 16 MiB, most of it one list.
            connection.send([22, 3, 3, 0x40, 0, 11, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFC])
            connection.send([UInt8](repeating: 0, count: 0x4000 - 7))
            while connection.send([22, 3, 3, 0x40, 0] + [UInt8](repeating: 0, count: 0x4000)) {}
        }
        #expect(failure.kind == .tooLarge)
    }

    @Test func `a hostile host that never finishes is cut off after 256 KiB`() async throws {
        // HelloRequests, which a client passes over.
        let failure = try await self.failure { connection in
            while connection.send([22, 3, 3, 0x40, 0] + [UInt8](repeating: 0, count: 0x4000)) {}
        }
        #expect(failure.kind == .tooLarge && failure.reason.contains("256 KiB"))
    }

    @Test func `a hostile host with too many certificates is refused by their number or by their length`() async throws
    {
        for (chain, words) in [("long.pem", "15 certificates"), ("endless.pem", "100000 bytes")] {
            let server = try OpenSSLServer("ecdsa", chain: chain)
            try await withProber { prober in
                let failure = try await prober.probe(server.target()).onlyFailure()
                #expect(failure.kind == .tooLarge && failure.reason.contains(words), "\(failure)")
            }
        }
    }

    @Test func `a hostile host that sends one byte at a time has no more time than others`() async throws {
        let failure = try await self.failure(hurried) { connection in
            for byte in Self.serverHello where connection.send([byte]) { usleep(50_000) }
            connection.hang()
        }
        #expect(failure.kind == .timedOut && failure.stage == .handshake)
    }

    @Test func `a hostile host delays no other probe`() async throws {
        let hanging = try SocketHost { $0.hang() }
        let server = try OpenSSLServer("ecdsa")
        try await withProber { prober in
            let target = try hanging.target()
            let stuck = Task {
                await prober.probe(target, options: ProbeOptions(addressTimeout: .seconds(3600)))
            }
            let chains = try await prober.probe(server.target()).chains
            #expect(chains.count == 1)
            stuck.cancel()
            let failure = try await stuck.value.onlyFailure()
            #expect(failure.kind == .cancelled)
        }
    }

    @Test func `a hostile host is left at once when the probe is cancelled`() async throws {
        let (events, continuation) = AsyncStream<String>.makeStream()
        let host = try SocketHost { connection in
            continuation.yield("connected")
            connection.hang()
            continuation.yield("closed")
        }
        try await withProber { prober in
            var iterator = events.makeAsyncIterator()
            let target = try host.target()
            let probe = Task {
                await prober.probe(target, options: ProbeOptions(addressTimeout: .seconds(3600)))
            }
            #expect(await iterator.next() == "connected")
            probe.cancel()
            let failure = try await probe.value.onlyFailure()
            #expect(failure.kind == .cancelled)
            #expect(await iterator.next() == "closed")
        }
    }

    /// A ServerHello of TLS 1.2, with ECDHE-RSA-AES128-GCM-SHA256 and secure renegotiation.
    static let serverHello: [UInt8] =
        [22, 3, 3, 0, 49, 2, 0, 0, 45, 3, 3] + [UInt8](repeating: 7, count: 32)
        + [0, 0xC0, 0x2F, 0, 0, 5, 0xFF, 1, 0, 1, 0]
}
