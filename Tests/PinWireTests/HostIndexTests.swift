import PinWire
import Testing

/// The pattern whose pins clients use for a name.
@Suite struct `The host that covers a name` {
    /// Hosts alone, hosts with the names below them, a name, and who covers it.
    private static let cases: [([String], [String], String, String?)] = [
        (["api.example.com"], [], "api.example.com", "api.example.com"),
        (["api.example.com"], [], "www.api.example.com", nil),
        ([], ["example.com"], "a.b.example.com", "example.com"),
        ([], ["example.com"], "badexample.com", nil),
        (["api.example.com"], ["example.com"], "api.example.com", "api.example.com"),
        ([], ["example.com", "b.example.com"], "a.b.example.com", "b.example.com"),
        (["*.example.com"], ["example.com"], "a.example.com", "*.example.com"),
        (["*.example.com"], ["example.com"], "a.b.example.com", "example.com"),
        (["*.example.com", "a.example.com"], [], "a.example.com", "a.example.com"),
        ([], ["*.example.com"], "a.b.example.com", "*.example.com"),
        ([], ["*.example.com", "example.com"], "a.b.example.com", "*.example.com"),
        (["*.example.com"], [], "example.com", nil),
    ]

    @Test(arguments: cases)
    func `a host is covered by the most specific pattern`(
        alone: [String], withSubdomains: [String], name: String, host: String?
    ) throws {
        var hosts: [(pattern: HostPattern, includesSubdomains: Bool)] = []
        for (names, includesSubdomains) in [(alone, false), (withSubdomains, true)] {
            for name in names { hosts.append((try HostPattern(name), includesSubdomains)) }
        }
        for hosts in [hosts, hosts.reversed()] {
            #expect(HostIndex(hosts).place(of: name).map { hosts[$0].pattern.text } == host)
        }
    }
}
