import KeyFiles
import PinWire
import Testing

/// The certificates of `Vectors/odd`.
@Suite struct `An odd certificate` {
    @Test func `an odd certificate has the pin and the fingerprints that openssl computes`() async throws {
        let shop = try Workshop()
        // OpenSSL adds the NULL that RFC 3279 asks for when it writes the key; clients hash what is in the certificate.
        let names = vectorNames("odd").filter { $0 != "rsa-without-null.der" }
        #expect(names.count > 40)
        for name in names { try shop.write(vector("odd/\(name)"), to: name) }
        let output = try await shop.run(
            """
            for file in \(names.joined(separator: " ")); do
                \(OpenSSLFacts.script)
            done
            """)
        var lines = output.split(separator: "\n")[...]
        for name in names {
            try OpenSSLFacts(&lines).agrees(with: certificate(vector("odd/\(name)")), "\(name)")
        }
        #expect(lines.isEmpty)
    }

    func odd(_ name: String) throws -> CertificateFacts { try certificate(vector("odd/\(name).der")) }

    @Test func `an odd certificate is pinned by its key exactly as encoded`() throws {
        let facts = try self.odd("rsa-without-null")
        let usual = try self.odd("rsa-exponent-1")
        #expect(facts.key.bits == usual.key.bits)
        #expect(Set([facts.key.pin, usual.key.pin]).count == 2)
    }

    @Test(
        arguments: [
            ("bmp-string", "CN=Grüße.example"), ("t61-string", "CN=Grüße.example"),
            ("universal-string", "CN=Grüße.example"), ("numeric-string", "CN=0123456789"),
            ("ia5-string", "CN=ia5.example.com"), ("empty-subject", ""),
            ("control-characters", #"CN=a\0D\0A\1B[31mb\7F\E2\80\AEc\C2\85\E2\80\A8"#),
            ("nul-in-names", #"CN=a.example.com\00.evil.com"#),
            ("special-characters", ##"CN=\ #\,\+\"\\\<\>\;= "##.dropLast() + #"\ "#),
            ("many-common-names", "CN=last.example.com,CN=first.example.com"),
            ("multi-valued", "1.2.3.4.5=#0C036F6464+O=Example+CN=a.example.com"),
        ] as [(String, String)])
    func `an odd certificate has a printable name`(name: String, subject: String) throws {
        #expect(try self.odd(name).subject == subject)
    }

    @Test func `an odd certificate has its last common name as text`() throws {
        #expect(try self.odd("many-common-names").commonName == "last.example.com")
        #expect(try self.odd("bmp-string").commonName == "Grüße.example")
        #expect(try self.odd("nul-in-names").commonName == #"a.example.com\00.evil.com"#)
        #expect(try self.odd("empty-subject").commonName == nil)
    }

    @Test func `an odd certificate has names of bounded length`() throws {
        let facts = try self.odd("long-name")
        #expect(facts.subject.hasSuffix("ü…"))
        #expect((990...1000).contains(facts.subject.utf8.count))
        #expect((990...1000).contains(facts.commonName?.utf8.count ?? 0))
        #expect(try self.odd("many-names").dnsNames.count == 1000)
    }

    @Test func `an odd certificate has the DNS names and addresses that clients see`() throws {
        let facts = try self.odd("many-kinds-of-names")
        #expect(facts.dnsNames == ["upper.example.com", "*.example.com", "xn--bcher-kva.example", ""])
        #expect(facts.ipAddresses == ["192.0.2.1", "2001:db8::1"])
        #expect(try self.odd("nul-in-names").dnsNames == [#"a.example.com\00.evil.com"#])
        // Clients refuse certificates like these.
        #expect(try self.odd("duplicate-names").dnsNames == [])
        #expect(try self.odd("unreadable-names").dnsNames == [])
    }

    @Test(
        arguments: [
            ("negative-serial", "-81"), ("zero-serial", "0"), ("long-serial", String(repeating: "7f", count: 40)),
            ("version-1", "1"),
        ] as [(String, String)])
    func `an odd certificate has its serial number`(name: String, serial: String) throws {
        #expect(try self.odd(name).serial == serial)
    }

    @Test(
        arguments: [
            ("generalized-time", "2026-01-01T00:00:00Z", "2027-01-01T12:30:59Z"),
            ("time-with-offset", "2026-01-01T00:00:00Z", "2027-01-01T01:30:00Z"),
            ("time-without-seconds", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
            ("time-with-fraction", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
            ("year-2049", "2026-01-01T00:00:00Z", "2049-12-31T23:59:59Z"),
            // As long past as matters.
            ("year-1950", "1970-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
            ("year-0000", "1970-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
            ("year-9999", "2026-01-01T00:00:00Z", "9999-12-31T23:59:59Z"),
        ] as [(String, String, String)])
    func `an odd certificate has its validity in UTC`(name: String, notBefore: String, notAfter: String) throws {
        let facts = try self.odd(name)
        #expect(facts.notBefore.rfc3339 == notBefore)
        #expect(facts.notAfter.rfc3339 == notAfter)
    }

    @Test func `an odd certificate says whether it is an authority`() throws {
        #expect(try self.odd("authority").isCA)
        #expect(try !self.odd("version-1").isCA)
        #expect(try !self.odd("unknown-critical").isCA)
    }

    @Test(
        arguments: [
            ("rsa-1024", ["is an RSA key of 1024 bits, and 2048 are the least"]),
            ("rsa-exponent-1", ["has the RSA exponent 1, so it protects nothing"]),
            ("rsa-even-exponent", ["has an even RSA exponent, so it cannot work"]),
            ("rsa-even-modulus", ["has an even RSA modulus, so anyone can factor it"]),
            ("rsa-roca", ["was made by a chip with the ROCA defect (CVE-2017-15361), so it can be factored"]),
            ("explicit-curve", ["brings a curve of its own, which clients refuse"]),
            (
                "compressed-point",
                [
                    "has its point in the compressed form, which Java, Go and others refuse, and whose pin is not that of the same key in the uncompressed form"
                ]
            ), ("rsa-without-null", []),
        ] as [(String, [String])])
    func `an odd certificate says what is weak about its key`(name: String, weaknesses: [String]) throws {
        #expect(try self.odd(name).key.weaknesses == weaknesses)
    }

    @Test(
        arguments: [
            (
                "-algorithm EC -pkeyopt ec_paramgen_curve:prime192v1",
                "is on the curve P-192, which TLS clients refuse: they take P-256 and P-384"
            ),
            (
                "-algorithm EC -pkeyopt ec_paramgen_curve:secp256k1",
                "is on the curve secp256k1, which TLS clients refuse: they take P-256 and P-384"
            ),
            ("-algorithm X25519", "is a key for agreeing on secrets (x25519): it cannot sign, so no server can use it"),
            ("-algorithm RSA -pkeyopt rsa_keygen_bits:1024", "is an RSA key of 1024 bits, and 2048 are the least"),
            ("-algorithm RSA-PSS -pkeyopt rsa_keygen_bits:1024", "is an RSA key of 1024 bits, and 2048 are the least"),
            (
                "-paramfile <(openssl genpkey -genparam -algorithm DSA -pkeyopt dsa_paramgen_bits:1024 2>/dev/null)",
                "is a DSA key, which TLS clients no longer take"
            ),
        ] as [(String, String)])
    func `an odd bare key has the pin and the fingerprints that openssl computes`(options: String, weakness: String)
        async throws
    {
        let shop = try Workshop()
        try await shop.run("openssl genpkey \(options) 2>/dev/null | openssl pkey -pubout -out public.pem")
        #expect(try publicKey(shop.bytes("public.pem")).weaknesses == [weakness])
    }

    @Test(arguments: ["prime256v1", "secp384r1"])
    func `an odd bare key has its point in the one form that all clients read`(
        curve: String
    ) async throws {
        let shop = try Workshop()
        try await shop.run("openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:\(curve) -out key.pem 2>/dev/null")
        for form in ["uncompressed", "compressed", "hybrid"] {
            try await shop.run("openssl pkey -in key.pem -pubout -ec_conv_form \(form) -out \(form).pem")
            let found = try publicKey(shop.bytes("\(form).pem")).weaknesses.filter {
                $0.contains("its point in the \(form) form")
            }
            #expect(found.count == (form == "uncompressed" ? 0 : 1), "\(form)")
        }
    }

    @Test func `an odd certificate is stored and read again as the same`() throws {
        for name in vectorNames("odd") {
            let facts = try certificate(vector("odd/\(name)"))
            let json = try JSON(parsing: facts.json.canonicalBytes)
            #expect(try CertificateFacts(JSONField(json)) == facts, "\(name)")
        }
    }
}
