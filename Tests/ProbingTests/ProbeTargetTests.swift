import PinWire
import Probing
import Testing

@Suite struct `A probe's target` {
    @Test(arguments: [
        ("example.com", "example.com:443"), ("example.com:8443", "example.com:8443"), ("localhost:1", "localhost:1"),
        ("192.0.2.1", "192.0.2.1:443"), ("192.0.2.1:65535", "192.0.2.1:65535"), ("2001:db8::1", "[2001:db8::1]:443"),
        ("[2001:db8::1]", "[2001:db8::1]:443"), ("[2001:db8::1]:853", "[2001:db8::1]:853"),
    ])
    func `a probe's target is a host with a port`(text: String, canonical: String) throws {
        #expect(try ProbeTarget(text).description == canonical)
    }

    @Test func `a probe's target has its protocol's port`() throws {
        let ports = try StartTLS.allCases.map { try ProbeTarget("example.com", startTLS: $0).port }
        #expect(ports == [25, 143, 5432])
    }

    @Test(arguments: [
        "", ":443", "example.com:", "example.com:0", "example.com:65536", "example.com:+443", "example.com:0443",
        "example.com:https", "example.com:-1", "*.example.com", "Example.com", "example.com.", "example.com/path",
        "https://example.com", "user@example.com", "exa mple.com", "example.com\n", "example.com\0.test",
        // What a resolver would read as an address.
        "0x7f.1", "0x7f.0.0.1", "0x7f000001", "2130706433", "017700000001", "0177.0.0.1", "127.1", "127.0.0.1.",
        "127.0.0.01", "1.2.3.4.5", "①②⑦.0.0.1", "127。0。0。1", "fe80::1%lo", "[fe80::1%25lo]", "[127.0.0.1]",
        "[::1]443", "[::1", "::1]:443", "[::1]:", "[::ffff:7f.1]", "[v1.x]:443", "256.1.1.1",
    ])
    func `a probe's target has no other spelling`(text: String) {
        #expect(throws: ProbeTarget.Malformed.self) { try ProbeTarget(text) }
    }

    @Test func `a probe's target asks for its own name, or another, or none`() throws {
        let other = try HostPattern("other.test")
        #expect(try ProbeTarget("example.com").requestedName == "example.com")
        #expect(try ProbeTarget("example.com", serverName: other).requestedName == "other.test")
        #expect(try ProbeTarget("192.0.2.1", serverName: other).requestedName == "other.test")
        #expect(try ProbeTarget("192.0.2.1").requestedName == nil)
        #expect(throws: ProbeTarget.Malformed.self) {
            try ProbeTarget("example.com", serverName: HostPattern("*.other.test"))
        }
    }
}
