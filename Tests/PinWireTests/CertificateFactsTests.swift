import PinWire
import Testing

@Suite struct `A certificate's facts` {
    static func facts(
        commonName: String? = nil, dnsNames: [String] = [], weaknesses: [String] = []
    ) throws -> CertificateFacts {
        let key = KeyFacts(
            pin: try pin(1), algorithm: "ec", bits: 256, curve: "P-256", spkiSHA512: Array(repeating: 2, count: 64),
            rawKeySHA256: Array(repeating: 3, count: 32), weaknesses: weaknesses)
        return CertificateFacts(
            key: key, sha256: Array(repeating: 4, count: 32), sha1: Array(repeating: 5, count: 20), subject: "CN=a",
            issuer: "CN=b", commonName: commonName, dnsNames: dnsNames, ipAddresses: ["192.0.2.1"], serial: "-1f",
            notBefore: Timestamp(seconds: 1), notAfter: Timestamp(seconds: 2), isCA: true, isSelfSigned: false)
    }

    @Test(
        arguments: [
            ("api.example.com", ["api.example.com"], "api.example.com"),
            ("api.example.com", ["other.example.com", "*.example.com"], "*.example.com"),
            ("*.example.com", ["*.example.com"], "*.example.com"),
            ("xn--bcher-kva.example", ["xn--bcher-kva.example"], "xn--bcher-kva.example"),
            ("xn--bcher-kva.example.com", ["*.example.com"], "*.example.com"),
        ] as [(String, [String], String)])
    func `a certificate's facts say which name covers a host`(pattern: String, names: [String], by: String) throws {
        let coverage = try Self.facts(dnsNames: names).covers(host(pattern))
        #expect(coverage == .covered(by: by))
        #expect(coverage.isCovered)
    }

    @Test(
        arguments: [
            ("api.example.com", []), ("api.example.com", ["example.com"]), ("example.com", ["*.example.com"]),
            ("a.b.example.com", ["*.example.com"]), ("api.example.com", ["a*.example.com", "*pi.example.com", "*"]),
            ("api.example.com", ["api.*.com", "*.*.com", "*.com"]), ("*.example.com", ["api.example.com"]),
            ("*.example.com", ["*.com", "example.com"]), ("api.example.com", ["api.example.com\\00.evil.com"]),
            ("badexample.com", ["*.example.com"]), ("example", ["*.", "*"]),
        ] as [(String, [String])])
    func `a certificate's facts say that no name covers a host`(pattern: String, names: [String]) throws {
        #expect(try Self.facts(dnsNames: names).covers(host(pattern)) == .notCovered(names: names))
    }

    @Test func `a certificate's facts do not let a common name stand in for a name`() throws {
        let facts = try Self.facts(commonName: "API.example.com", dnsNames: ["www.example.com"])
        #expect(try facts.covers(host("api.example.com")) == .commonNameOnly)
        #expect(try !facts.covers(host("api.example.com")).isCovered)
        #expect(try facts.covers(host("www.example.com")).isCovered)
    }

    @Test func `a certificate's facts know the digests that people mistake for a pin`() throws {
        let facts = try Self.facts()
        #expect(facts.mistaken(facts.sha256) == .certificateSHA256)
        #expect(facts.mistaken(facts.sha1) == .certificateSHA1)
        #expect(facts.mistaken(facts.key.rawKeySHA256) == .rawKeySHA256)
        #expect(facts.mistaken(facts.key.pin.bytes) == nil)
        #expect(facts.mistaken([]) == nil)
        #expect(MistakenDigest.allCases.allSatisfy { $0.explanation.hasPrefix("the SHA-") })
    }

    @Test func `a certificate's facts are stored under short names`() throws {
        let facts = try Self.facts(commonName: "a", dnsNames: ["a.example"])
        #expect(
            facts.json.canonicalText == #"{"ca":true,"common_name":"a","dns_names":["a.example"],"#
                + #""ip_addresses":["192.0.2.1"],"issuer":"CN=b","#
                + #""key":{"algorithm":"ec","bits":256,"curve":"P-256","pin":"\#(try pin(1))","#
                + #""raw_key_sha256":"\#(String(repeating: "03", count: 32))","#
                + #""spki_sha512":"\#(String(repeating: "02", count: 64))"},"#
                + #""not_after":"1970-01-01T00:00:02Z","not_before":"1970-01-01T00:00:01Z","self_signed":false,"#
                + #""serial":"-1f","sha1":"\#(String(repeating: "05", count: 20))","#
                + #""sha256":"\#(String(repeating: "04", count: 32))","subject":"CN=a"}"#)
        #expect(try CertificateFacts(JSONField(facts.json)) == facts)
        let weak = try Self.facts(weaknesses: ["is weak"])
        #expect(weak.key.json["weaknesses"] == ["is weak"])
        #expect(try CertificateFacts(JSONField(weak.json)) == weak)
    }

    @Test(
        arguments: [
            ("sha1", "00", "/x/sha1"), ("sha256", "AA", "/x/sha256"), ("serial", .null, "/x/serial"),
            ("not_after", "tomorrow", "/x/not_after"), ("dns_names", [1], "/x/dns_names/0"), ("extra", 1, "/x/extra"),
            ("key", [:], "/x/key/pin"),
        ] as [(String, JSON, String)])
    func `a certificate's facts are not read from malformed input`(member: String, value: JSON, pointer: String) throws
    {
        var members = try #require(try Self.facts().json.objectValue)
        members[member] = value
        let found = try defect { try CertificateFacts(JSONField(.object(members), at: JSONPointer(["x"]))) }
        #expect(found?.pointer.text == pointer)
    }
}
