import Fixtures
import Probing
import Testing

@Suite(.takingTurns, .timeLimit(.minutes(5))) struct `STARTTLS` {
    /// What the host says in turn, each after the client's last word.
    static let agreeable: [(StartTLS, [[UInt8]])] = [
        (.smtp, Self.lines("220-mail\r\n220 ready\r\n", "250-mail\r\n250-SIZE 1\r\n250 starttls\r\n", "220 go\r\n")),
        (.imap, Self.lines("* OK ready\r\n", "* CAPABILITY X\r\na OK go\r\n")),
        (.pop3, Self.lines("+OK ready\r\n", "+OK go\r\n")),
        (.ftp, Self.lines("120 soon\r\n220-x\r\n 221 y\r\n220 z\r\n", "234 go\r\n")),
        (.postgres, [Array("S".utf8)]),
        (.ldap, [[0x30, 0x0C, 2, 1, 1, 0x78, 7, 10, 1, 0, 4, 0, 4, 0]]),
        (.ldap, [[0x30, 0x84, 0, 0, 0, 0x10, 2, 1, 1, 0x78, 0x84, 0, 0, 0, 7, 10, 1, 0, 4, 0, 4, 0]]),
        (
            .xmpp,
            Self.lines(
                "<?xml version='1.0'?><stream:stream id='x' xmlns:stream='y'>"
                    + "<stream:features><starttls xmlns='z'><required/></starttls></stream:features>",
                "<proceed xmlns='z'/>")
        ),
        (.mysql, [Self.mySQLGreeting(abilities: 0xFF)]),
    ]

    private static func lines(_ texts: String...) -> [[UInt8]] { texts.map { Array($0.utf8) } }

    static func mySQLGreeting(abilities: UInt8) -> [UInt8] {
        let payload = [10] + Array("8.0.0".utf8) + [0] + [UInt8](repeating: 1, count: 12) + [0, 0xFF, abilities, 45]
        return [UInt8(payload.count), 0, 0, 0] + payload + []
    }

    @Test(arguments: Self.agreeable) func `is agreed on, however the bytes arrive`(
        startTLS: StartTLS, words: [[UInt8]]
    ) {
        var whole = startTLS.dialogue(name: "probe.test")
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
        var piecemeal = startTLS.dialogue(name: "probe.test")
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

    @Test(arguments: Self.agreeable) func `is refused where bytes in clear follow the agreement`(
        startTLS: StartTLS, words: [[UInt8]]
    ) throws {
        var dialogue = startTLS.dialogue(name: "probe.test")
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
            (.imap, ["HTTP/1.1 400\r\n"], "IMAP"), (.pop3, ["-ERR x\r\n"], "POP3"),
            (.pop3, ["+OK\r\n", "-ERR x\r\n"], "declines"), (.ftp, ["421 x\r\n"], "greets with 421"),
            (.ftp, ["220 x\r\n", "502 x\r\n"], "AUTH TLS with 502"), (.postgres, ["N"], "no TLS"),
            (.postgres, ["E"], "error"), (.postgres, ["H"], "PostgreSQL"), (.ldap, ["0\u{5}"], ""),
            (.ldap, ["HTTP"], "LDAP"),
            (.ldap, ["\u{30}\u{0C}\u{2}\u{1}\u{1}\u{78}\u{7}\u{0A}\u{1}\u{34}\u{4}\0\u{4}\0"], "result 52"),
            (.xmpp, ["<stream:stream><stream:features/>"], "does not offer"), (.xmpp, ["HTTP/1.1"], "XMPP"),
            (.xmpp, ["<stream:stream><stream:error>"], "error"),
            (.xmpp, ["<stream:stream><stream:features><starttls/></stream:features>", "<failure/>"], "declines"),
            (.mysql, ["\u{3}\0\0\0\u{9}ab"], "MySQL"), (.mysql, ["HTTP/1.1"], "MySQL"),
            (.mysql, ["\u{1}\0\0\0\u{7F}"], "MySQL"),
        ] as [(StartTLS, [String], String)])
    func `is refused with a reason`(startTLS: StartTLS, words: [String], reason: String) {
        var dialogue = startTLS.dialogue(name: "probe.test")
        _ = dialogue.begin()
        var last = StartTLSStep.wait(send: [])
        for word in words { last = dialogue.receive(word.utf8) }
        if reason.isEmpty {
            #expect(last == .wait(send: []))
        } else if case .refused(let words) = last {
            #expect(words.contains(reason))
        } else {
            Issue.record("\(last)")
        }
    }

    @Test func `is refused by MySQL without it`() {
        var dialogue = StartTLS.mysql.dialogue(name: "probe.test")
        #expect(dialogue.receive(Self.mySQLGreeting(abilities: 0xF7)) == .refused("the host has no TLS for MySQL"))
        var angry = StartTLS.mysql.dialogue(name: "probe.test")
        #expect(angry.receive([3, 0, 0, 0, 0xFF, 0, 4]) == .refused("the host declines with an error of MySQL"))
    }

    @Test(arguments: StartTLS.allCases) func `keeps little of a host that talks for ever`(startTLS: StartTLS) {
        for filler in ["220-x\r\n", "* OK x\r\n", "+OK\r\n", "<a", "x", "0\u{7F}"] {
            var dialogue = startTLS.dialogue(name: "probe.test")
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

    @Test(arguments: StartTLS.allCases) func `leads to the chain of the host behind it`(startTLS: StartTLS) async throws
    {
        let server = try OpenSSLServer("ecdsa")
        let words = try #require(Self.agreeable.first { $0.0 == startTLS }).1
        // What the client says before each of the host's words but those that greet.
        let cues: [String?] =
            switch startTLS {
            case .smtp: [nil, "EHLO probe.invalid\r\n", "STARTTLS\r\n"]
            case .imap: [nil, "a STARTTLS\r\n"]
            case .pop3: [nil, "STLS\r\n"]
            case .ftp: [nil, "AUTH TLS\r\n"]
            case .postgres: ["\u{16}\u{2F}"]
            case .ldap: ["1.3.6.1.4.1.1466.20037"]
            case .xmpp: ["streams'>", "xmpp-tls'/>"]
            case .mysql: [nil]
            }
        let port = server.port
        let host = try SocketHost { connection in
            for (cue, word) in zip(cues, words) {
                if let cue { connection.receive(until: cue) }
                connection.send(word)
            }
            if startTLS == .mysql { _ = connection.receive(36) }
            connection.appender(to: port)
        }
        try await withProber { prober in
            let chain = try #require(try await prober.probe(host.target(startTLS)).service().chains.first)
            let leaf = try TestAuthority.shared.get().der("ecdsa")
            #expect(chain.certificates.first == leaf && chain.verification == .valid)
        }
    }
}
