import PinWire
import Pinning
import Testing

@Suite struct EndpointTests {
    @Test(arguments: [
        "mail.example.com:25+smtp", "mail.example.com:143+imap", "db.example.com:5432+postgres", "a.example:8443",
    ])
    func `an endpoint of a protocol that probes support may be requested`(text: String) throws {
        let endpoint = try Endpoint.requested(text)
        #expect(endpoint.isProbed)
        #expect(endpoint.description == text)
        #expect(try Endpoint(text) == endpoint)
    }

    @Test(arguments: ["pop3", "ftp", "ldap", "xmpp", "mysql"])
    func `a recorded endpoint of another protocol is read and not probed`(name: String) throws {
        let text = "a.example:1000+\(name)"
        let endpoint = try Endpoint(text)
        #expect(endpoint.description == text)
        #expect(!endpoint.isProbed)
        let refusal = #expect(throws: Endpoint.Malformed.self) { try Endpoint.requested(text) }
        #expect(refusal?.description == "may end in + and one of smtp, imap, postgres")
        #expect(throws: Endpoint.Malformed.self) { try Endpoint("a.example:1000+\(name)s") }
    }

    @Test func `a host is probed at those of its endpoints that probes support`() throws {
        let pattern = try HostPattern("a.example")
        var host = Host(includesSubdomains: false, baseline: .builtin)
        #expect(host.probed(of: pattern).map(\.description) == ["a.example:443"])
        host.endpoints = [try Endpoint("a.example:21+ftp"), try Endpoint("a.example:25+smtp")]
        #expect(host.probed(of: pattern).map(\.description) == ["a.example:25+smtp"])
    }
}
