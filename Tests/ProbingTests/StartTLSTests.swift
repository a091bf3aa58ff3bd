import Fixtures
import Probing
import Testing

@Suite(.takingTurns, .timeLimit(.minutes(60))) struct `STARTTLS` {
    /// What the host says in turn, each after the client's last word.
    static let agreeable: [(StartTLS, [[UInt8]])] = [
        (.smtp, Self.lines("220-mail\r\n220 ready\r\n", "250-mail\r\n250-SIZE 1\r\n250 starttls\r\n", "220 go\r\n")),
        (.imap, Self.lines("* OK ready\r\n", "* CAPABILITY X\r\na OK go\r\n")),
        (.postgres, [Array("S".utf8)]),
    ]

    private static func lines(_ texts: String...) -> [[UInt8]] { texts.map { Array($0.utf8) } }

    @Test(arguments: Self.agreeable) func `STARTTLS is agreed on, however the bytes arrive`(
        startTLS: StartTLS, words: [[UInt8]]
    ) {
        var whole = startTLS.dialogue
        var said = whole.begin()
        for (index, word) in words.enumerated() {
            let step = whole.receive(word)
            switch step {
            case .wait(let bytes):
                #expect(index < words.count - 1)
                said += bytes
            case .ready(let bytes):
                #expect(index == words.count - 1)
                said += bytes
            case .refused(let reason): Issue.record("\(reason)")
            }
        }
        var piecemeal = startTLS.dialogue
        var saidInPieces = piecemeal.begin()
        var isReady = false
        for byte in words.joined() {
            switch piecemeal.receive([byte]) {
            case .wait(let bytes): saidInPieces += bytes
            case .ready(let bytes):
                saidInPieces += bytes
                isReady = true
            case .refused(let reason): Issue.record("\(reason)")
            }
        }
        #expect(isReady && said == saidInPieces)
    }

    @Test(arguments: Self.agreeable) func `STARTTLS is refused where bytes in clear follow the agreement`(
        startTLS: StartTLS, words: [[UInt8]]
    ) throws {
        var dialogue = startTLS.dialogue
        _ = dialogue.begin()
        for word in words.dropLast() { _ = dialogue.receive(word) }
        let last = try #require(words.last) + Array("x".utf8)
        #expect(dialogue.receive(last) == .refused("the host sent bytes in clear behind its agreement to TLS"))
    }

    @Test(
        arguments: [
            (.smtp, ["554 no\r\n"], "greets with 554"), (.smtp, ["220 x\r\n", "250 x\r\n"], "does not offer"),
            (.smtp, ["220 x\r\n", "500 x\r\n"], "EHLO with 500"), (.smtp, ["hello\r\n"], "does not speak SMTP"),
            (.smtp, ["220 x\r\n", "250-x\r\n250 STARTTLS\r\n", "454 later\r\n"], "with 454"),
            (.imap, ["* PREAUTH x\r\n"], "no room"), (.imap, ["* OK x\r\n", "a BAD x\r\n"], "declines"),
            (.smtp, ["220-x\r\n221 y\r\n"], "does not speak SMTP"), (.imap, ["HTTP/1.1 400\r\n"], "IMAP"),
            (.postgres, ["N"], "no TLS"), (.postgres, ["E"], "error"), (.postgres, ["H"], "PostgreSQL"),
        ] as [(StartTLS, [String], String)])
    func `STARTTLS is refused with a reason`(startTLS: StartTLS, words: [String], reason: String) {
        var dialogue = startTLS.dialogue
        _ = dialogue.begin()
        var last = StartTLSStep.wait(send: [])
        for word in words { last = dialogue.receive(word.utf8) }
        if case .refused(let words) = last {
            #expect(words.contains(reason))
        } else {
            Issue.record("\(last)")
        }
    }

    @Test(arguments: StartTLS.allCases) func `STARTTLS keeps a bounded part of what an endless host sends`(
        startTLS: StartTLS
    ) {
        for filler in ["220-x\r\n", "* OK x\r\n", "+OK\r\n", "<a", "x", "0\u{7F}"] {
            var dialogue = startTLS.dialogue
            _ = dialogue.begin()
            var received = 0
            var isOver = false
            while received < 100_000, !isOver {
                if case .refused = dialogue.receive(filler.utf8) { isOver = true }
                received += filler.utf8.count
            }
            #expect(isOver && received <= 17 * 1024)
        }
    }

    @Test(arguments: StartTLS.allCases) func `STARTTLS leads to the chain of the host behind it`(startTLS: StartTLS)
        async throws
    {
        let server = try OpenSSLServer("ecdsa")
        let words = try #require(Self.agreeable.first { $0.0 == startTLS }).1
        // What the client says before each of the host's words but those that greet.
        let cues: [String?] =
            switch startTLS {
            case .smtp: [nil, "EHLO probe.invalid\r\n", "STARTTLS\r\n"]
            case .imap: [nil, "a STARTTLS\r\n"]
            case .postgres: ["\u{16}\u{2F}"]
            }
        let port = server.port
        let host = try SocketHost { connection in
            for (cue, word) in zip(cues, words) {
                if let cue { connection.receive(until: cue) }
                connection.send(word)
            }
            connection.relay(to: port)
        }
        try await withProber { prober in
            let chain = try #require(try await prober.probe(host.target(startTLS)).service().chains.first)
            let leaf = try TestAuthority.shared.get().der("ecdsa")
            #expect(chain.certificates.first == leaf && chain.verification == .valid)
        }
    }
}
