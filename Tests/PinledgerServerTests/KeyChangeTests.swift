import Foundation
import HTTPTypes
import Hummingbird
import KeyFiles
import NIOCore
import PinWire
import Pinning
import Testing

@testable import PinledgerServer

/// How a request is read that may show keys.
@Suite struct `A change that shows keys` {
    private func exchange(_ body: String) -> Exchange {
        let head = HTTPRequest(
            method: .post, scheme: "http", authority: "a.test", path: "/",
            headerFields: [.contentType: "application/json"])
        return Exchange(
            request: Request(head: head, body: RequestBody(buffer: ByteBuffer(string: body))), requestID: "1",
            parameters: [:], query: [:], foreignQuery: [], actor: nil, rights: .nothing, isOperators: false,
            bodyLimit: 1 << 20, peer: nil)
    }

    /// A PKCS#12 file without a password, in base64, that takes so many rounds for each of its two parts.
    private func keyStore(rounds: Int) throws -> String {
        try Self.run(
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout /dev/null -subj /CN=a |
                openssl pkcs12 -export -nokeys -passout pass: -iter \(rounds) | base64 -w0
            """)
    }

    /// What a script of bash writes.
    private static func run(_ script: String) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/bash")
        process.arguments = ["-euc", "exec 2>/dev/null\n\(script)"]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(arguments: [#"{"material":""}"#, #"{"material\u005fbase64":""}"#, "{}"])
    func `a change with keys is read on a thread that may block, whatever its members look like`(body: String)
        async throws
    {
        let change = try await self.exchange(body).keyChange { (members, _) throws(JSONDefect) in
            _ = (members.optional("material"), members.optional("material_base64"))
            // The name of the thread that reads this: one of NIO's thread pool.
            return (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? ""
        }
        #expect(change.content.contains("-TP-"), "\(change.content)")
    }

    @Test func `a change with keys spends on all its key stores together no more than on one`() async throws {
        let store = try self.keyStore(rounds: 600_000)
        let pin = #"{"material_base64":"\#(store)"}"#
        func read(_ pins: [String]) async throws -> [AppCommand.NewPin] {
            try await self.exchange(#"{"pins":[\#(pins.joined(separator: ","))]}"#).keyChange {
                (members, uploads) throws(JSONDefect) in
                var pins: [AppCommand.NewPin] = []
                for element in try members.required("pins").elements(atMost: 10) {
                    pins.append(
                        try element.object { (m) throws(JSONDefect) in
                            try AppCommand.NewPin(&m, &uploads, role: .backup)
                        })
                }
                return pins
            }.content
        }
        #expect(try await read([pin]).count == 1)
        let error = try await #require(throws: JSONDefect.self) { try await read([pin, pin]) }
        #expect(error.message.contains("too much work"), "\(error)")
    }

    @Test
    func `a change with keys stores the keys and certificates that it is about, and not others that came with them`()
        async throws
    {
        let chain = try Self.run(
            """
            cd "$(mktemp -d)" && trap 'rm -rf "$PWD"' EXIT
            key="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
            openssl req -x509 $key -keyout ca.key -subj /CN=CA -out ca.pem
            openssl req $key -keyout leaf.key -subj /CN=a -addext subjectAltName=DNS:a.example.com -out leaf.csr
            openssl x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -copy_extensions copy -out leaf.pem
            cat leaf.pem ca.pem
            """)
        let body = JSON.object(["material": .string(chain)]).canonicalText
        let change = try await self.exchange(body).keyChange { (members, uploads) throws(JSONDefect) in
            try members.key(&uploads)
        }
        guard case .certificate(let facts)? = change.content.evidence else {
            Issue.record("the server's certificate was to be found")
            return
        }
        #expect(facts.commonName == "a")
        #expect(Set(change.material.map(\.digest)) == [facts.sha256, facts.key.pin.bytes])
        let pin = JSON.object(["pin": .string("\(facts.key.pin)")]).canonicalText
        let bare = try await self.exchange(pin).keyChange { (members, uploads) throws(JSONDefect) in
            try members.key(&uploads)
        }
        #expect(bare.content.pin == facts.key.pin && bare.material.isEmpty)
    }
}
