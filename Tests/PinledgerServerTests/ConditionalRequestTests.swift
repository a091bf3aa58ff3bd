import Testing

@testable import PinledgerServer

@Suite struct ConditionalRequestTests {
    @Test(arguments: [
        (#""a""#, #""a""#), (#"W/"a""#, #""a""#), (#""x", "b""#, #""b""#), (#""x",W/"b" , "y""#, #""b""#),
        ("*", #""a""#),
        (#""a,b""#, nil), (#"a"#, nil), (#""A""#, nil), (#""a"#, nil), ("", nil), (#""""#, nil),
    ])
    func `the header If-None-Match names a tag by weak comparison`(field: String, tag: String?) {
        #expect(ConditionalRequest.noneMatch(field, names: [#""a""#, #""b""#]) == tag)
    }

    @Test(arguments: [
        (nil, "identity", 1000), (nil, "gzip", 0), ("gzip", "gzip", 1000), ("gzip", "identity", 1),
        ("br;q=0.5", "br", 500),
        ("gzip;q=0", "gzip", 0), ("*", "br", 1000), ("*;q=0", "identity", 0), ("identity;q=0", "identity", 0),
        ("GZIP ; Q=0.125", "gzip", 125), ("gzip;q=2", "gzip", 0), ("gzip;q=abc", "gzip", 0), ("", "identity", 1),
        ("br, *;q=0", "br", 1000), ("x-gzip", "gzip", 0),
    ])
    func `the header Accept-Encoding weighs codings`(field: String?, coding: String, weight: Int) {
        #expect(ConditionalRequest.weight(of: coding, in: field) == weight)
    }
}
