import ClientFormats
import PinWire
import Pinning
import Testing

@Suite struct `A request of a Dynapins client` {
    private static func request(_ query: [(String, String)]) throws -> DynapinsRequest {
        try DynapinsRequest(query: query.map { (name: $0.0, value: $0.1) })
    }

    @Test(arguments: [
        ([("domain", "example.com")], "example.com"),
        ([("domain", "api.example.com"), ("include-backup-pins", "true")], "api.example.com"),
        ([("include-backup-pins", "perhaps"), ("x", ""), ("domain", "a.b")], "a.b"),
        ([("domain", "a.b"), ("domain", "c.d")], "a.b"),
        ([("domain", "*.example.com")], "*.example.com"),
        ([("domain", "API.Example.COM")], "API.Example.COM"),
        ([("domain", "xn--bcher-kva.example")], "xn--bcher-kva.example"),
    ])
    func `a Dynapins request names its domain to the letter`(query: [(String, String)], domain: String) throws {
        #expect(try Self.request(query).domain == domain)
    }

    @Test(arguments: [[], [("domain", "")], [("Domain", "a.b")], [("include-backup-pins", "true")]])
    func `a Dynapins request without a domain is refused`(query: [(String, String)]) {
        #expect(throws: DynapinsError.missingDomain) { try Self.request(query) }
    }

    @Test(arguments: [
        "*", "*.", "**.a.b", "a.*.b", "*a.b", "a..b", ".a.b", "a.b.", "a b.c", " a.b", "a.b\n", "a.b\0", "https://a.b",
        "a.b/c", "a.b:443", "a.b?x", "127.0.0.1", "::1", "[::1]", "2130706433", "_a.b", "-a.b", "bücher.example",
        // The Kelvin sign, of which the lower case is an ASCII letter.
        "\u{212A}.example", "a.b\",\"pins\":[]", "<a>.b", "a&b.c",
        Array(repeating: String(repeating: "a", count: 62), count: 4).joined(separator: ".") + ".bb",
        String(repeating: "a.", count: 100_000) + "a",
    ])
    func `a Dynapins request for something other than a host name is refused`(domain: String) {
        #expect(throws: DynapinsError.invalidDomain) { try Self.request([("domain", domain)]) }
    }

    @Test func `a Dynapins request may name a domain of 253 bytes, wildcard included`() throws {
        let name = Array(repeating: String(repeating: "a", count: 49), count: 5).joined(separator: ".") + ".bcd"
        #expect(name.utf8.count == 253)
        #expect(try Self.request([("domain", name)]).domain == name)
        #expect(throws: DynapinsError.invalidDomain) { try Self.request([("domain", "*.\(name)")]) }
    }

    @Test(
        arguments: [
            (.methodNotAllowed, .es256, 405, "Method not allowed"),
            (.missingDomain, .es256, 400, "Missing required query parameter: domain"),
            (.missingDomain, .ed25519, 400, "Missing required query parameter: domain"),
            (.invalidDomain, .es256, 400, "Invalid domain parameter"),
            (.unknownDomain, .es256, 403, "Domain not found in whitelist"),
            (.tooFewPins, .es256, 422, "Failed to retrieve certificate for domain: fewer than two pins are published"),
            (.notSigned, .es256, 500, "Failed to generate signed token"),
            (.notSigned, .ed25519, 500, "Failed to generate signature"),
        ] as [(DynapinsError, DynapinsProtocol, Int, String)])
    func `a Dynapins request that cannot be answered gets the server's error`(
        error: DynapinsError, version: DynapinsProtocol, status: Int, text: String
    ) {
        let reply = error.reply(for: version)
        #expect(reply.status == status)
        #expect(String(decoding: reply.body, as: UTF8.self) == #"{"error":"\#(text)","code":\#(status)}"#)
    }

    @Test(arguments: DynapinsError.allCases)
    func `a Dynapins request never gets an error with status 200, which clients take for an answer`(
        error: DynapinsError
    ) {
        for version in DynapinsProtocol.allCases { #expect(error.reply(for: version).status >= 400) }
    }

    @Test func `a Dynapins request for the server's health is answered as its server does`() throws {
        var app = RenderedApp()
        try app.add("a.example.com", [(try .imagined("1"), .primary)])
        try app.add("b.example.com", mode: nil)
        try app.add("c.example.com", mode: .off, [(try .imagined("2"), .primary)])
        let view = try app.view()
        func text(_ health: DynapinsHealth) -> String {
            "\(health.reply.status) \(String(decoding: health.reply.body, as: UTF8.self))"
        }
        #expect(text(.healthy) == #"200 {"status":"healthy"}"#)
        #expect(
            text(.readiness(of: view, keyID: "a1b2c3d4"))
                == #"200 {"status":"ready","allowed_domains":2,"key_id":"a1b2c3d4"}"#)
        #expect(
            text(.readiness(of: view, keyID: nil))
                == #"503 {"status":"not ready","reason":"crypto keys not initialized"}"#)
    }
}
