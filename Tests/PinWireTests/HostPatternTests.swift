import PinWire
import Testing

@Suite struct `A host pattern` {
    @Test(arguments: [
        "example.com", "a.b", "localhost", "api.example.com", "xn--bcher-kva.example", "xn--strae-oqa.de",
        "xn--p1ai", "xn--fiqs8s", "xn--mgberp4a5d4ar", "xn--zckzah", "xn--n3h.net", "xn--i-7iq.ws", "xn--3xa.gr",
        "xn--egbpdaj6bu4bxfgehfvwxn.example", "xn--ihqwcrb4cv8a8dqg056pqjye.example",
        "xn--proprostnemluvesky-uyb24dma41a.cz",
        "1.example", "123.456.example", "a-b.example", "a--b.example", "a---b.example", "ab--c.example",
        "qa--shop.example.com", "3com.com", "0x7f.example",
        "1a", "a1", "0xg", String(repeating: "a", count: 63) + ".example",
        Array(repeating: String(repeating: "a", count: 62), count: 4).joined(separator: ".") + ".b",
    ])
    func `a host pattern in its one spelling is taken unchanged, with and without a wildcard`(text: String) throws {
        let exact = try HostPattern(text)
        #expect(exact.text == text && exact.name == text && !exact.isWildcard && exact.description == text)
        let wildcard = try HostPattern("*.\(text)")
        #expect(wildcard.text == "*.\(text)" && wildcard.name == text && wildcard.isWildcard)
    }

    @Test(arguments: [
        ("", "must not be empty"), ("*", "may have a wildcard only"),
        ("*.", "must have a host name after the wildcard"),
        ("*.*.example.com", "may have a wildcard only"), ("a.*.com", "may have a wildcard only"),
        ("a*.example.com", "may have a wildcard only"), ("*a.example.com", "may have a wildcard only"),
        (
            "**.example.com",
            "has no pattern for names of any depth: give example.com with its subdomains (`include_subdomains`)"
        ), ("**.*.example.com", "may have a wildcard only"), ("**", "may have a wildcard only"),
        ("*example.com", "may have a wildcard only"),
        ("Example.com", "must be in lower case: example.com"), ("XN--BCHER-KVA.example", "must be in lower case"),
        ("bücher.example", "must be written in A-labels"), ("BÜCHER.example", "must be written in A-labels"),
        ("b\u{AD}cher.example", "must be written in A-labels"), ("a\u{200D}b.example", "must be written in A-labels"),
        ("example。com", "must be written in A-labels"), ("ｅxample.com", "must be written in A-labels"),
        ("example.com.", "must not end in a dot: example.com"), ("-bad.", "must not end in a dot"),
        ("..", "must not end in a dot"), (".example.com", "must not have an empty label"),
        ("a..b", "must not have an empty label"), ("*..a", "must not have an empty label"),
        ("https://example.com", "must be a host name alone"), ("example.com/path", "must be a host name alone"),
        ("//example.com", "must be a host name alone"), ("example.com:443", "must be a host name without a port"),
        ("[::1]", "must be a host name without a port"), ("::1", "must be a host name without a port"),
        ("2001:db8::1", "must be a host name without a port"), ("127.0.0.1", "must be a host name, not an IP address"),
        ("*.127.0.0.1", "must be a host name, not an IP address"), ("0x7f.1", "must be a host name, not an IP address"),
        ("2130706433", "must be a host name, not an IP address"), ("a.0x7f", "must be a host name, not an IP address"),
        ("a.0x", "must be a host name, not an IP address"), ("example.1", "must be a host name, not an IP address"),
        ("0x7f000001", "must be a host name, not an IP address"),
        ("1.2.3.08", "must be a host name, not an IP address"),
        ("a_b.example", "may have letters, digits"), ("_dmarc.example", "may have letters, digits"),
        ("a b.example", "may have letters, digits"), (" example.com", "may have letters, digits"),
        ("example.com\n", "may have letters, digits"), ("example.com\r\n", "may have letters, digits"),
        ("exam\0ple.com", "may have letters, digits"), ("user@example.com", "may have letters, digits"),
        ("example.com?", "may have letters, digits"), ("a%2eb", "may have letters, digits"),
        ("-bad.example", "must not have a label that begins or ends"),
        ("bad-.example", "must not have a label that begins"),
        ("-", "must not have a label that begins or ends"),
        ("xn--a.example", "must not have a label that begins with xn--"),
        ("xn--a-ecp.ru", "must not have a label that begins with xn--"),
        ("xn--.example", "must not have a label that begins or ends"),
        ("xn--abc-.example", "must not have a label that begins or ends"),
        ("xn---.example", "must not have a label that begins or ends"),
        ("xn--bcher-.example", "must not have a label that begins or ends"),
        ("xn--99999999.example", "must not have a label that begins with xn--"),
        ("xn--zzzzzzzzzzzzzzzzzzzzzzzzz.example", "must not have a label that begins with xn--"),
        // An upper-case letter, a soft hyphen, a joiner, a mark first, a ligature, a circled digit, a private
        // character, and an ideographic space.
        ("xn--bcher-2pa.example", "must not have a label that begins with xn--"),
        ("xn--bc-5da.example", "must not have a label that begins with xn--"),
        ("xn--ab-m1t.example", "must not have a label that begins with xn--"),
        ("xn--abc-jdc.example", "must not have a label that begins with xn--"),
        ("xn--im6c.example", "must not have a label that begins with xn--"),
        ("xn--orh.example", "must not have a label that begins with xn--"),
        ("xn--0y0c.example", "must not have a label that begins with xn--"),
        ("xn--ab-l13a.example", "must not have a label that begins with xn--"),
        ("@string/host", "must be a host name itself, not a reference to a resource"),
        (String(repeating: "a", count: 64) + ".example", "must not have a label of more than 63"),
        (
            Array(repeating: String(repeating: "a", count: 62), count: 4).joined(separator: ".") + ".bbb",
            "must have at most 253"
        ),
        (String(repeating: "a", count: 100_000), "must have at most 253"),
    ])
    func `a host pattern in another spelling is refused with the reason`(text: String, reason: String) {
        #expect(
            performing: { try HostPattern(text) },
            throws: { ($0 as? HostPattern.Malformed)?.description.hasPrefix(reason) == true })
    }

    @Test(arguments: [
        ("bücher.example", ": xn--bcher-kva.example"), ("BÜCHER.Example", ": xn--bcher-kva.example"),
        ("*.straße.de", ": *.xn--strae-oqa.de"), ("рф", ": xn--p1ai"), ("中国", ": xn--fiqs8s"),
        ("i❤.ws", "it"), ("b\u{75}\u{308}cher.example", "it"), ("ｅxample.com", "it"), ("example。com", "it"),
        ("proč-prostě-nemluví-česky.cz", ": xn--pro-prost-nemluv-esky-87b63epa45a.cz"),
    ])
    func `a host pattern with letters beyond ASCII is refused with its A-labels where they are sure`(
        text: String, ending: String
    ) {
        #expect(
            performing: { try HostPattern(text) },
            throws: { ($0 as? HostPattern.Malformed)?.description.hasSuffix(ending) == true })
    }

    @Test func `a host pattern may be as long as DNS allows, the wildcard not counted`() throws {
        let name = Array(repeating: String(repeating: "a", count: 49), count: 5).joined(separator: ".") + ".bcd"
        #expect(name.utf8.count == 253)
        #expect(try HostPattern("*.\(name)").name == name)
        #expect(throws: HostPattern.Malformed.self) { try HostPattern("a\(name)") }
        #expect(throws: HostPattern.Malformed.self) { try HostPattern("*.a\(name)") }
    }

    @Test func `host patterns are sorted by their bytes`() throws {
        let patterns = try ["b.a", "*.b.a", "a.b", "a-b.c", "a.a"].map { try HostPattern($0) }
        #expect(patterns.sorted().map(\.text) == ["*.b.a", "a-b.c", "a.a", "a.b", "b.a"])
    }

    @Test(arguments: ["a", "A", "0", "com.example.app", "A_b-C.9", "a.", "a-", String(repeating: "x", count: 128)])
    func `the name of an app is read and written unchanged`(text: String) throws {
        #expect(try AppID(text).text == text)
        #expect(try AppID(text).description == text)
    }

    @Test(arguments: [
        "", ".", ".a", "-a", "_a", "a..b", "a b", "a/b", "a\n", "\r\n", "é", "a\u{301}", "a\0", "a:b", "../a", "%2e",
        String(repeating: "x", count: 129), String(repeating: "x", count: 1_000_000),
    ])
    func `a malformed name of an app is refused`(text: String) {
        #expect(throws: AppID.Malformed.self) { try AppID(text) }
    }
}
