import Foundation
import KeyFiles
import PinWire
import Testing

/// What is read of a certificate that a stranger sends.
@Suite struct `A presented certificate` {
    @Test(arguments: [
        "-algorithm RSA -pkeyopt rsa_keygen_bits:2048", "-algorithm EC -pkeyopt ec_paramgen_curve:P-256",
        "-algorithm ED25519",
    ])
    func `a presented certificate has the pin that an operator's upload of it has`(options: String) async throws {
        let shop = try Workshop()
        _ = try await shop.run(
            """
            openssl genpkey \(options) -out key.pem
            openssl req -x509 -new -key key.pem -subj "/CN=api.example.com" -days 30 -out leaf.pem
            openssl x509 -in leaf.pem -outform der -out leaf.der
            """)
        let (pem, der) = (try shop.bytes("leaf.pem"), try shop.bytes("leaf.der"))
        let pin = try certificate(pem).key.pin
        let text = String(decoding: pem, as: UTF8.self)
        let base64 = Data(der).base64EncodedString()
        for spelling in [text, text.replacing("\n", with: "\\n"), "subject=x\n" + text, base64, " \(base64)\n"] {
            #expect(PresentedCertificate(text: spelling)?.pin == pin)
        }
    }

    @Test func `a presented certificate is read only from the bytes of a certificate`() async throws {
        let shop = try Workshop()
        _ = try await shop.run(
            """
            openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem
            openssl req -x509 -new -key key.pem -subj "/CN=api.example.com" -days 30 -out leaf.pem
            openssl x509 -in leaf.pem -outform der -out leaf.der
            openssl pkcs12 -export -nokeys -in leaf.pem -out store.der -passout pass: -iter 1000
            openssl crl2pkcs7 -nocrl -certfile leaf.pem -outform der -out message.der
            openssl crl2pkcs7 -nocrl -certfile leaf.pem -out message.pem
            openssl pkey -in key.pem -pubout -out public.pem
            openssl req -new -key key.pem -subj /CN=x -out request.pem
            """)
        var texts: [String] = []
        for file in ["key.pem", "message.pem", "public.pem", "request.pem"] {
            texts.append(String(decoding: try shop.bytes(file), as: UTF8.self))
        }
        for file in ["store.der", "message.der"] { texts.append(Data(try shop.bytes(file)).base64EncodedString()) }
        let der = try shop.bytes("leaf.der")
        texts += [
            "", "nonsense", Data(der.dropLast()).base64EncodedString(), Data(der + [0]).base64EncodedString(),
            Data(der.prefix(40)).base64EncodedString(),
            String(repeating: " ", count: PresentedCertificate.maximumSize) + Data(der).base64EncodedString(),
        ]
        for text in texts { #expect(PresentedCertificate(text: text) == nil, "\(text.prefix(60))") }
        // Every byte changed is a certificate or none, and never a trap.
        for place in der.indices {
            var changed = der
            changed[place] ^= 0xFF
            _ = PresentedCertificate(text: Data(changed).base64EncodedString())
        }
    }
}
