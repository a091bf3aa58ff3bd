import Foundation
import KeyFiles
import PinWire
import Testing

/// Everything computed here against the openssl program on the same files.
@Suite struct `Pins and fingerprints` {
    static let kinds: [(options: String, algorithm: String, bits: Int, curve: String?)] = [
        ("-algorithm RSA -pkeyopt rsa_keygen_bits:2048", "rsa", 2048, nil),
        ("-algorithm RSA -pkeyopt rsa_keygen_bits:4096", "rsa", 4096, nil),
        ("-algorithm RSA-PSS -pkeyopt rsa_keygen_bits:2048", "rsa-pss", 2048, nil),
        (
            "-algorithm RSA-PSS -pkeyopt rsa_keygen_bits:2048 -pkeyopt rsa_pss_keygen_md:sha256 "
                + "-pkeyopt rsa_pss_keygen_mgf1_md:sha256 -pkeyopt rsa_pss_keygen_saltlen:32", "rsa-pss", 2048, nil
        ),
        ("-algorithm EC -pkeyopt ec_paramgen_curve:P-256", "ec", 256, "P-256"),
        ("-algorithm EC -pkeyopt ec_paramgen_curve:P-384", "ec", 384, "P-384"),
        ("-algorithm EC -pkeyopt ec_paramgen_curve:P-521", "ec", 521, "P-521"),
        ("-algorithm EC -pkeyopt ec_paramgen_curve:secp256k1", "ec", 256, "secp256k1"),
        ("-algorithm EC -pkeyopt ec_paramgen_curve:brainpoolP256r1", "ec", 256, "brainpoolP256r1"),
        ("-algorithm ED25519", "ed25519", 256, nil), ("-algorithm ED448", "ed448", 456, nil),
    ]

    @Test(arguments: kinds)
    func `pins and fingerprints are openssl's for certificates of every kind of key`(
        options: String, algorithm: String, bits: Int, curve: String?
    ) async throws {
        let shop = try Workshop()
        let output = try await shop.run(
            """
            openssl genpkey \(options) -out key.pem
            # RSA-PSS keys and those of Edwards curves name their digest themselves.
            san="subjectAltName=DNS:api.example.com,DNS:*.example.com,IP:192.0.2.1,IP:2001:db8::1"
            openssl req -x509 -new -key key.pem -subj "/C=DE/O=Example GmbH/CN=api.example.com" -days 30 \
                -addext "$san" -addext basicConstraints=critical,CA:FALSE -out leaf.pem
            openssl req -x509 -new -key key.pem -subj /CN=api.example.com -days 30 -out plain.pem
            openssl req -x509 -new -key key.pem -subj "/CN=Example CA" -days 30 \
                -addext basicConstraints=critical,CA:TRUE -out ca.pem
            openssl req -new -key key.pem -subj /CN=old.example.com -out old.csr
            openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out issuer.key
            openssl req -x509 -new -key issuer.key -subj /CN=Issuer -days 30 -out issuer.pem
            openssl x509 -req -in old.csr -CA issuer.pem -CAkey issuer.key -set_serial 0x0badc0de -days 30 \
                -out issued.pem 2>/dev/null
            mkdir -p demo; : > index
            printf '%s\\n' '[ca]' default_ca=c '[c]' database=index policy=p rand_serial=yes '[p]' commonName=supplied \
                > ca.cnf
            openssl ca -config ca.cnf -batch -notext -selfsign -keyfile key.pem -in old.csr -out expired.pem \
                -startdate 20200101000000Z -enddate 20210101000000Z -outdir demo -md default 2>/dev/null
            openssl pkey -in key.pem -pubout -out public.pem
            openssl pkey -in key.pem -pubout -outform der -out public.der
            for file in leaf plain ca issued expired; do
                openssl x509 -in $file.pem -outform der -out $file.der
                file=$file.pem
                \(OpenSSLFacts.script)
            done
            """)
        var lines = output.split(separator: "\n")[...]
        var facts: [String: CertificateFacts] = [:]
        for name in ["leaf", "plain", "ca", "issued", "expired"] {
            let read = try certificate(shop.bytes("\(name).pem"))
            try OpenSSLFacts(&lines).agrees(with: read, "\(name)")
            #expect(try certificate(shop.bytes("\(name).der")) == read)
            #expect(try CertificateFacts(der: shop.bytes("\(name).der")) == read)
            #expect(read.key.algorithm == algorithm)
            #expect(read.key.bits == bits)
            #expect(read.key.curve == curve)
            #expect(read.key.weaknesses.isEmpty == (curve.map { $0.hasPrefix("P-") } ?? true))
            facts[name] = read
        }
        let leaf = try #require(facts["leaf"])
        // Three different values for one key.
        #expect(Set([leaf.key.pin.bytes, leaf.key.rawKeySHA256, leaf.sha256]).count == 3)
        #expect(leaf.subject == "CN=api.example.com,O=Example GmbH,C=DE")
        #expect(leaf.issuer == leaf.subject)
        #expect(leaf.commonName == "api.example.com")
        #expect(leaf.dnsNames == ["api.example.com", "*.example.com"])
        #expect(leaf.ipAddresses == ["192.0.2.1", "2001:db8::1"])
        #expect(leaf.isSelfSigned && !leaf.isCA)
        #expect(facts["plain"]?.dnsNames == [])
        #expect(facts["ca"]?.isCA == true)
        #expect(facts["issued"]?.isSelfSigned == false)
        #expect(facts["issued"]?.issuer == "CN=Issuer")
        #expect(facts["issued"]?.serial == "badc0de")
        #expect(facts["expired"]?.notAfter == Timestamp(rfc3339: "2021-01-01T00:00:00Z"))
        for name in ["public.pem", "public.der"] {
            #expect(try publicKey(shop.bytes(name)) == leaf.key)
        }
        #expect(try KeyFacts(publicKeyInfo: shop.bytes("public.der")) == leaf.key)
    }

    @Test func `pins and fingerprints are openssl's for every authority that Debian trusts`() async throws {
        let path = "/etc/ssl/certs/ca-certificates.crt"
        let bundle = Array(try Data(contentsOf: URL(filePath: path)))
        let read = certificates(try items(bundle))
        #expect(read.count > 100)
        let shop = try Workshop()
        let output = try await shop.run(
            """
            csplit -s -z -n 4 -f ca- \(path) '/-----BEGIN CERTIFICATE-----/' '{*}'
            for file in ca-*; do
                \(OpenSSLFacts.script)
            done
            """)
        var lines = output.split(separator: "\n")[...]
        for facts in read {
            try OpenSSLFacts(&lines).agrees(with: facts, "\(facts.subject)")
            #expect(facts.isCA || facts.key.weaknesses.isEmpty)
        }
        #expect(lines.isEmpty)
        #expect(read.filter(\.isSelfSigned).count > 100)
        // Nothing that Debian ships is weak.
        #expect(read.flatMap(\.key.weaknesses) == [])
    }
}
