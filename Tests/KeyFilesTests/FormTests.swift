import Foundation
import KeyFiles
import PinWire
import Testing

@Suite struct `Certificates and keys are read` {
    /// A chain of two certificates and their keys.
    static let chain = """
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -subj /CN=CA -out ca.pem \
            2>/dev/null
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-384 -nodes -keyout leaf.key -subj /CN=leaf -out leaf.csr \
            -addext subjectAltName=DNS:leaf.example.com,IP:192.0.2.7 2>/dev/null
        openssl x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -copy_extensions copy -days 9 -out leaf.pem 2>/dev/null
        cat leaf.pem ca.pem > chain.pem

        """

    @Test(
        arguments: [
            "cat chain.pem", "sed 's/$/\\r/' chain.pem",
            "(echo subject=leaf; cat leaf.pem; echo; openssl x509 -text -in ca.pem)",
            "openssl crl2pkcs7 -nocrl -certfile chain.pem", "openssl crl2pkcs7 -nocrl -certfile chain.pem -outform der",
            "openssl cms -sign -signer leaf.pem -inkey leaf.key -certfile ca.pem -in leaf.csr -outform der -nodetach",
            "openssl cms -sign -signer leaf.pem -inkey leaf.key -certfile ca.pem -in leaf.csr -outform der -stream",
            "sed 's/^/    /' chain.pem", "sed 's/$/\\\\n/' chain.pem | tr -d '\\n'", "tr -d '\\n' < chain.pem",
            "(sed 1q leaf.pem; echo Comment: from the shop; echo; sed 1d leaf.pem; cat ca.pem)",
            "sed 's/CERTIFICATE/X509 CERTIFICATE/' chain.pem", "printf '\\xef\\xbb\\xbf'; cat chain.pem",
            "(openssl x509 -trustout -addtrust serverAuth -in leaf.pem; cat ca.pem)",
            "openssl pkcs12 -export -nokeys -in chain.pem -passout pass:",
            "openssl pkcs12 -export -nokeys -in chain.pem -passout pass: -nomac",
            "openssl pkcs12 -export -nokeys -in chain.pem -passout pass: -certpbe NONE -nomac",
            "openssl pkcs12 -export -nokeys -in chain.pem -passout pass: -certpbe PBE-SHA1-3DES -macalg sha1",
        ])
    func `certificates and keys are read from every form of a chain`(command: String) async throws {
        let shop = try Workshop()
        try await shop.run(Self.chain + "{ \(command); } > upload")
        let read = certificates(try items(shop.bytes("upload")))
        let expected = [try certificate(shop.bytes("leaf.pem")), try certificate(shop.bytes("ca.pem"))]
        // CMS sorts them.
        #expect(Set(read) == Set(expected))
        #expect(read.count == 2)
        #expect(expected[0].dnsNames == ["leaf.example.com"])
        #expect(expected[0].issuer == "CN=CA")
    }

    @Test func `certificates and keys are read from PKCS#12 with its password`() async throws {
        let shop = try Workshop()
        try await shop.run(
            Self.chain + """
                openssl pkcs12 -export -nokeys -in chain.pem -passout 'pass:sesam öffne' -out new.p12
                openssl pkcs12 -export -nokeys -legacy -in chain.pem -passout 'pass:sesam öffne' -out old.p12
                openssl pkcs12 -export -nokeys -in chain.pem -passout 'pass:sesam öffne' -iter 3000000 -out slow.p12
                openssl pkcs12 -export -nokeys -in chain.pem -passout pass: -maciter -iter 1 -out once.p12
                (cat new.p12; echo) > trailing
                """)
        let bytes = try shop.bytes("new.p12")
        #expect(certificates(try items(bytes, password: "sesam öffne")).count == 2)
        #expect(refusal(bytes) == .passwordNeeded(.whole))
        #expect(refusal(bytes, password: "sesam") == .wrongPassword(.whole))
        #expect(
            refusal(try shop.bytes("old.p12"), password: "sesam öffne")
                == .outdatedCipher(.whole, name: "PBE-SHA1-RC2-40"))
        #expect(refusal(try shop.bytes("old.p12")) == .passwordNeeded(.whole))
        #expect(refusal(try shop.bytes("slow.p12"), password: "sesam öffne") == .tooManyIterations(.whole))
        #expect(certificates(try items(shop.bytes("once.p12"))).count == 2)
        guard case .trailingBytes = refusal(try shop.bytes("trailing")) else {
            throw Unexpected(description: "trailing bytes were read")
        }
    }

    @Test func `certificates and keys are read from requests that prove the key, and only those`() async throws {
        let shop = try Workshop()
        try await shop.run(
            Self.chain + """
                openssl req -in leaf.csr -outform der -out leaf.der
                sed 's/CERTIFICATE REQUEST/NEW CERTIFICATE REQUEST/' leaf.csr > new.csr
                openssl req -new -key leaf.key -subj / -out empty.csr
                """)
        let leaf = try certificate(shop.bytes("leaf.pem"))
        let expected = RequestFacts(
            key: leaf.key, subject: "CN=leaf", commonName: "leaf", dnsNames: ["leaf.example.com"],
            ipAddresses: ["192.0.2.7"])
        for name in ["leaf.csr", "leaf.der", "new.csr"] {
            #expect(try items(shop.bytes(name)) == [.request(expected)])
        }
        #expect(try items(shop.bytes("empty.csr")) == [.request(RequestFacts(key: leaf.key, subject: ""))])
        var broken = try shop.bytes("leaf.der")
        broken[broken.count - 1] ^= 1
        #expect(refusal(broken) == .unprovenRequest(.whole))
        // Another subject than was signed.
        broken = try shop.bytes("leaf.der")
        let place = try #require(broken.firstRange(of: Array("leaf".utf8)))
        broken.replaceSubrange(place, with: Array("evil".utf8))
        #expect(refusal(broken) == .unprovenRequest(.whole))
    }

    @Test func `certificates and keys are read from bare public keys`() async throws {
        let shop = try Workshop()
        try await shop.run(
            """
            openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out key.pem 2>/dev/null
            openssl pkey -in key.pem -pubout -out spki.pem
            openssl rsa -in key.pem -RSAPublicKey_out -out pkcs1.pem 2>/dev/null
            openssl rsa -in key.pem -RSAPublicKey_out -outform der -out pkcs1.der 2>/dev/null
            grep -v -- ----- spki.pem > spki.base64
            """)
        let expected = try publicKey(shop.bytes("spki.pem"))
        for name in ["pkcs1.pem", "pkcs1.der", "spki.base64"] {
            #expect(try publicKey(shop.bytes(name)) == expected)
        }
        // As the SDKs of pinning services have it in their configuration.
        let ed25519 = try publicKey("MCowBQYDK2VwAyEA9gocJEBHG+vcm2OH42ZEy8XiYarSBJ3ZBTA5Ni7J+Ac=".utf8)
        #expect(ed25519.algorithm == "ed25519")
    }

    @Test func `a CMS message without certificates is refused`() async throws {
        let shop = try Workshop()
        try await shop.run(
            Self.chain + """
                openssl crl2pkcs7 -nocrl -out none.p7
                openssl pkcs12 -export -nokeys -nomac -certpbe NONE -in /dev/null -passout pass: -out none.p12 2>/dev/null || :
                echo hello | openssl cms -data_create -outform pem -out data.cms
                """)
        #expect(
            refusal(try shop.bytes("none.p7")) == .noCertificates(.block(1, label: "PKCS7"), kind: .message))
        #expect(refusal(try shop.bytes("data.cms")) == .noCertificates(.block(1, label: "CMS"), kind: .message))
    }
}
