import Addresses
import NIOCore
import Probing
import Testing

@Suite struct `An address policy` {
    @Test(arguments: [
        ("0.0.0.0", "0.0.0.0/8"), ("0.1.2.3", "0.0.0.0/8"), ("10.0.0.0", "10.0.0.0/8"),
        ("10.255.255.255", "10.0.0.0/8"),
        ("100.64.0.1", "100.64.0.0/10"), ("100.127.255.255", "100.64.0.0/10"), ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"), ("169.254.169.254", "metadata"), ("169.254.0.1", "link-local"),
        ("168.63.129.16", "Azure"), ("64:ff9b::168.63.129.16", "carries 168.63.129.16"),
        ("172.16.0.1", "private"), ("172.31.255.255", "private"), ("192.0.0.1", "192.0.0.0/24"),
        ("192.0.0.192", "192.0.0.0/24"), ("192.0.2.1", "documentation"), ("192.88.99.1", "6to4"),
        ("192.168.0.1", "private"), ("192.168.255.255", "private"), ("198.18.0.1", "benchmarking"),
        ("198.19.255.255", "benchmarking"), ("198.51.100.7", "documentation"), ("203.0.113.255", "documentation"),
        ("224.0.0.1", "multicast"), ("239.255.255.255", "multicast"), ("240.0.0.1", "reserved"),
        ("255.255.255.255", "broadcast"),
        ("::", "unspecified"), ("::1", "loopback"), ("::127.0.0.1", "IPv4-compatible"),
        ("::8.8.8.8", "IPv4-compatible"),
        ("::ffff:127.0.0.1", "IPv4-mapped"), ("::ffff:169.254.169.254", "IPv4-mapped"),
        ("::ffff:8.8.8.8", "IPv4-mapped"), ("::ffff:0:127.0.0.1", "outside 2000::/3"),
        ("64:ff9b::7f00:1", "carries 127.0.0.1, which is in 127.0.0.0/8"), ("64:ff9b::10.0.0.1", "carries 10.0.0.1"),
        ("64:ff9b:1::8.8.8.8", "within a network"), ("100::1", "discarded"),
        ("2001:0:4136:e378:8000:63bf:80ff:fffe", "carries 127.0.0.1"),
        ("2001:0:7f00:1:8000:63bf:f7f7:f7f7", "carries 127.0.0.1"), ("2001:2::1", "benchmarking"),
        ("2001:10::1", "2001::/23"), ("2001:20::1", "2001::/23"), ("2001:db8::1", "documentation"),
        ("2002:7f00:1::", "carries 127.0.0.1"), ("2002:a9fe:a9fe::1", "carries 169.254.169.254"),
        ("2002:c0a8:101::1", "carries 192.168.1.1"), ("3fff::1", "documentation"), ("4000::1", "outside 2000::/3"),
        ("5f00::1", "segment routing"), ("fc00::1", "unique local"), ("fd12:3456:789a::1", "unique local"),
        ("fe80::1", "link-local"), ("febf::1", "link-local"), ("fec0::1", "site-local"), ("ff02::1", "multicast"),
        ("2606:4700::5efe:10.0.0.1", "carries 10.0.0.1"), ("2606:4700::200:5efe:127.0.0.1", "carries 127.0.0.1"),
        ("fd00:ec2::254", "unique local"),
    ])
    func `an address policy refuses addresses that are not public`(text: String, reason: String) throws {
        let address = try #require(IPAddress(text))
        let refusal = try #require(AddressPolicy().refusal(of: address))
        #expect(refusal.contains(reason))
        #expect(AddressPolicy().refusal(of: try address.socketAddress(port: 443)) == refusal)
    }

    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
        "128.0.0.1", "168.63.129.15", "168.63.129.17", "169.253.255.255", "172.15.255.255", "172.32.0.0",
        "191.255.255.255", "192.167.255.255",
        "198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:4700::1111", "2a00:1450:4001::1", "64:ff9b::8.8.8.8",
        "2002:808:808::1", "2001:4860:4860::8888", "2001:200::1", "2606:4700::5efe:8.8.8.8", "2606:4700::5eff:a00:1",
    ])
    func `an address policy allows public addresses`(text: String) throws {
        #expect(AddressPolicy().refusal(of: try #require(IPAddress(text))) == nil)
    }

    @Test func `an address policy allows the operator's ranges, and no other spelling that hides one`() throws {
        let policy = AddressPolicy(allowed: try ["10.1.0.0/16", "127.0.0.1", "fd00::/64"].map { try IPNetwork($0) })
        for text in ["10.1.2.3", "127.0.0.1", "fd00::1", "64:ff9b::10.1.2.3"] {
            #expect(policy.refusal(of: try #require(IPAddress(text))) == nil, "\(text)")
        }
        for text in ["10.2.0.1", "127.0.0.2", "fd00:0:0:1::1", "::ffff:10.1.2.3", "::10.1.2.3", "64:ff9b::10.2.0.1"] {
            #expect(policy.refusal(of: try #require(IPAddress(text))) != nil, "\(text)")
        }
    }

    @Test func `an address policy refuses a text without an address`() throws {
        #expect(AddressPolicy().refusal(of: try SocketAddress(unixDomainSocketPath: "/run/x")) != nil)
    }

    @Test(arguments: [
        "", "127.1", "0x7f.1", "0x7f000001", "2130706433", "017700000001", "0177.0.0.1", "127.0.0.01", "1.2.3",
        "1.2.3.4.5",
        "1.2.3.256", "1.2.3.-4", " 127.0.0.1", "127.0.0.1 ", "127.0.0.1\0", "①②⑦.0.0.1", "fe80::1%eth0", "fe80::1%2",
        "[::1]", "::1::", ":::", "12345::", "g::", "::ffff:127.1",
    ])
    func `an address policy knows one spelling of each address`(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test(arguments: [
        ("10.0.0.0/8", "10.0.0.0/8"), ("10.0.0.1", "10.0.0.1/32"), ("0.0.0.0/0", "0.0.0.0/0"), ("::/0", "::/0"),
        ("fd00::/9", "fd00::/9"), ("::1", "::1/128"), ("192.168.128.0/17", "192.168.128.0/17"),
    ])
    func `an address policy reads ranges`(text: String, canonical: String) throws {
        #expect(try IPNetwork(text).description == canonical)
    }

    @Test(arguments: [
        ("10.0.0.1/8", "10.0.0.0/8"), ("fd00::1/64", "fd00::/64"), ("10.0.0.0/33", "0 to 32"), ("::/129", "0 to 128"),
        ("10.0.0.0/", "prefix"), ("10.0.0.0/08", "prefix"), ("10.0.0.0/+8", "prefix"), ("10/8", "IP address"),
        ("10.0.0.0/255.0.0.0", "prefix"), ("", "IP address"), ("localhost", "IP address"), ("10.0.0.0/-1", "prefix"),
    ])
    func `an address policy refuses a malformed range`(text: String, reason: String) throws {
        let error = try #require(throws: IPNetwork.Malformed.self) { try IPNetwork(text) }
        #expect(error.description.contains(reason))
    }
}
