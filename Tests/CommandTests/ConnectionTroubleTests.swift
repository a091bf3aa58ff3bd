import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import Testing

@testable import pinledger

@Suite struct `Trouble with a connection` {
    static let all: [ConnectionTrouble] = [
        .refused, .noWay(reason: "Network is unreachable"), .nameUnknown, .connectTimedOut, .answerTimedOut, .closed,
        .answerTooLarge, .noTLS, .needsTLS, .authorityUnknown, .wrongName, .certificateExpired, .certificateNotYetValid,
        .certificateRefused(reason: "EE certificate key too weak"), .handshakeFailed, .badAddress, .tokenExposed,
        .unforeseen,
    ]

    @Test(arguments: Self.all) func `trouble with a connection is described in a sentence, with advice`(
        trouble: ConnectionTrouble
    ) {
        for trust in [ServerTrust.system, .authorities(file: "ca.pem"), .anything] {
            let failure = trouble.failure(server: "https://pins.example.com:8443", trust: trust)
            #expect(failure.message.contains("https://pins.example.com:8443"))
            for text in [failure.message, failure.advice ?? ""] {
                #expect(Unreadable.reason(text) == nil, "\(text): \(Unreadable.reason(text) ?? "")")
            }
        }
    }

    @Test func `trouble with a connection names the option that fixes it`() {
        func advice(_ trouble: ConnectionTrouble, _ server: String, _ trust: ServerTrust = .system) -> String {
            trouble.failure(server: server, trust: trust).advice ?? ""
        }
        #expect(advice(.authorityUnknown, "https://pins:1").contains("--ca-file"))
        #expect(advice(.authorityUnknown, "https://pins:1", .authorities(file: "ca.pem")).contains("ca.pem"))
        #expect(advice(.needsTLS, "http://pins:1").contains("https://pins:1"))
        #expect(advice(.noTLS, "https://pins:1").contains("http://pins:1"))
        #expect(advice(.tokenExposed, "http://pins:1").contains("https://pins:1"))
    }

    @Test(arguments: [
        ("http://127.0.0.1:8440", false), ("http://127.9.9.9", false), ("http://[::1]:8440", false),
        ("http://localhost:8440", false), ("http://a.localhost", false), ("https://pins.example.com", false),
        ("HTTPS://pins.example.com", false), ("http://pins.example.com", true), ("HTTP://10.0.0.5:8441", true),
        ("http://127.0.0.1.example.com", true), ("http://localhost.example.com", true),
        ("http://[::ffff:127.0.0.1]", true),
        ("http://0.0.0.0:1", true), ("http://127.1", true), ("pins.example.com", false),
    ]) func `a token is exposed on a plain connection that leaves the machine`(server: String, isExposed: Bool) {
        #expect(ServerContext(server: server, token: "t").isExposed == isExposed)
        #expect(!ServerContext(server: server, token: "t", allowsHTTP: true).isExposed)
    }

    /// Errors of the libraries below, with what the operator is told where the port cannot be asked any more.
    static let errors: [(any Error, ConnectionTrouble?)] = [
        (IOError(errnoCode: ECONNREFUSED, reason: "connect"), .refused),
        (IOError(errnoCode: ETIMEDOUT, reason: "connect"), .connectTimedOut),
        (IOError(errnoCode: ECONNRESET, reason: "read"), nil),
        (ChannelError.connectTimeout(.seconds(5)), .connectTimedOut), (ChannelError.eof, nil),
        (HTTPClientError.connectTimeout, .connectTimedOut), (HTTPClientError.readTimeout, .answerTimedOut),
        (HTTPClientError.deadlineExceeded, .answerTimedOut), (HTTPClientError.invalidURL, .badAddress),
        (HTTPClientError.unsupportedScheme("ftp"), .badAddress), (HTTPClientError.emptyHost, .badAddress),
        (HTTPClientError.remoteConnectionClosed, nil), (HTTPClientError.cancelled, .unforeseen),
        (NIOTooManyBytesError(maxBytes: 1), .answerTooLarge), (HTTPParserError.invalidVersion, nil),
        (NIOSSLError.handshakeFailed(.sslError([.eofDuringHandshake])), nil),
        (NIOSSLExtraError.failedToValidateHostname, nil), (CancellationError(), .unforeseen),
    ]

    @Test(arguments: Self.errors.indices)
    func `trouble with a connection is recognised from the error, or by a look at the port`(index: Int) async {
        let (error, trouble) = Self.errors[index]
        #expect(ConnectionTrouble(of: error) == trouble)
        // Nothing listens on the discard port of this machine.
        let found = await ConnectionTrouble.found(error, server: "https://127.0.0.1:9", trust: .system)
        #expect(Unreadable.reason(found.failure(server: "https://127.0.0.1:9", trust: .system).message) == nil)
    }

    @Test func `trouble with a connection means unsent only where no request can have been read`() {
        #expect(Self.all.filter { !$0.isUnsent } == [.answerTimedOut, .closed, .answerTooLarge, .unforeseen])
    }

    @Test(arguments: [("", "holds no certificate"), ("not a certificate", "holds no certificate")])
    func `a file of authorities without any certificate is reported before any request`(
        content: String, sentence: String
    )
        throws
    {
        let file = FileManager.default.temporaryDirectory.appending(path: "ca-\(UUID()).pem")
        try Data(content.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect {
            try ServerTrust.authorities(file: file.path()).configuration()
        } throws: { ($0 as? CommandFailure)?.message.contains(sentence) == true }
        #expect(throws: CommandFailure.self) {
            try ServerTrust.authorities(file: "/nowhere/ca.pem").configuration()
        }
    }
}
