import ClientFormats
import PinWire
import Pinning
import Testing

@Suite struct `Ordered JSON` {
    @Test func `ordered JSON keeps its members' order and is written without white space`() {
        let json: OrderedJSON = [
            "b": 1, "a": [true, .null, "x"], "": [:], "c": .number(0.5), "d": [],
        ]
        #expect(json.text() == #"{"b":1,"a":[true,null,"x"],"":{},"c":0.5,"d":[]}"#)
    }

    @Test func `ordered JSON leaves out members without a value`() {
        #expect(OrderedJSON.members(["b": 1, "a": nil, "c": .null]).text() == #"{"b":1,"c":null}"#)
    }

    @Test(arguments: [
        (#"""#, #""\"""#), (#"\"#, #""\\""#), ("/", #""/""#), ("\n\r\t\u{8}\u{C}", #""\n\r\t\b\f""#),
        ("\u{0}\u{1F}", #""\u0000\u001f""#), ("\u{7F}é😀", "\"\u{7F}é😀\""),
        ("</script>&\u{2028}", "\"</script>&\u{2028}\""),
    ])
    func `ordered JSON escapes what it must, in values as in names`(text: String, written: String) throws {
        #expect(OrderedJSON.string(text).text() == written)
        let object = OrderedJSON.object([OrderedJSON.Member(text, .string(text))])
        #expect(object.text() == "{\(written):\(written)}")
        #expect(try JSON(text: object.text()) == .object([text: .string(text)]))
    }

    // What Go 1.25 writes for these.
    @Test(arguments: [
        ("<a href='x'>&amp;</a>", #""\u003ca href='x'\u003e\u0026amp;\u003c/a\u003e""#),
        ("\u{2028}x\u{2029}", #""\u2028x\u2029""#), ("\u{2027}\u{202A}é+/=", "\"\u{2027}\u{202A}é+/=\""),
        ("api.example.com", #""api.example.com""#),
    ])
    func `ordered JSON escapes for HTML as Go does`(text: String, written: String) throws {
        #expect(OrderedJSON.string(text).text(escaping: .html) == written)
        #expect(try JSON(text: written) == .string(text))
    }

    @Test func `ordered JSON of a PinWire value is its canonical text`() throws {
        let json = try JSON(
            text: #"{"z":[1,2.5,-0,1e21,{"b":null,"a":true}],"€":"\u0007","\ud83d\ude00":1,"\ufb33":2}"#)
        #expect(OrderedJSON(json).bytes() == json.canonicalBytes)
    }

    @Test(
        arguments: [
            (0, "Jan  1 00:00:00 1970 GMT"), (1_767_225_599, "Dec 31 23:59:59 2025 GMT"),
            // The example of Python's documentation of ssl.cert_time_to_seconds.
            (1_515_144_883, "Jan  5 09:34:43 2018 GMT"), (253_402_300_799, "Dec 31 23:59:59 9999 GMT"),
            (-631_152_000, "Jan  1 00:00:00 1950 GMT"), (1_709_208_000, "Feb 29 12:00:00 2024 GMT"),
        ] as [(Int64, String)])
    func `ordered JSON has certificates' times as OpenSSL prints them`(seconds: Int64, text: String) {
        #expect(Timestamp(seconds: seconds).opensslText == text)
        #expect(Timestamp(microseconds: seconds * 1_000_000 + 999_999).opensslText == text)
    }
}

@Suite struct `A distinguished name` {
    @Test(
        arguments: [
            // What OpenSSL 3.0 prints for /C=DE/O=Example, Inc./OU=A+OU=B\/x/CN=api.example.com.
            (
                #"CN=api.example.com,OU=B/x+OU=A,O=Example\, Inc.,C=DE"#,
                [("C", "DE"), ("O", "Example, Inc."), ("OU", "A"), ("OU", "B/x"), ("CN", "api.example.com")]
            ),
            // RFC 4514 section 4.
            (
                #"UID=jsmith,DC=example,DC=net"#, [("DC", "net"), ("DC", "example"), ("UID", "jsmith")]
            ),
            (#"CN=James \"Jim\" Smith\, III,DC=example"#, [("DC", "example"), ("CN", #"James "Jim" Smith, III"#)]),
            (#"CN=Before\0dAfter"#, [("CN", "Before\rAfter")]),
            (#"1.3.6.1.4.1.1466.0=#04024869"#, [("1.3.6.1.4.1.1466.0", "#04024869")]),
            (#"CN=Lu\C4\8Di\C4\87"#, [("CN", "Lučić")]),
            (#"CN=a=b\+c\\"#, [("CN", #"a=b+c\"#)]),
            (#"CN=\ x\ "#, [("CN", " x ")]), ("CN=", [("CN", "")]), ("", []), ("=x,no attribute,CN=a", [("CN", "a")]),
            (#"CN=cut\"#, [("CN", #"cut\"#)]), ("CN=cut…", [("CN", "cut…")]), (",,+", []),
        ] as [(String, [(String, String)])])
    func `a distinguished name is read from its text`(text: String, attributes: [(String, String)]) {
        let name = DistinguishedName(text)
        #expect(name.attributes.map(\.type) == attributes.map(\.0))
        #expect(name.attributes.map(\.value) == attributes.map(\.1))
    }

    @Test func `a distinguished name gives the last attribute of a type`() {
        #expect(DistinguishedName("CN=b,CN=a")["CN"] == "b")
        #expect(DistinguishedName("CN=b")["O"] == nil)
    }
}
