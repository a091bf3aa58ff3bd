import Foundation
import KeyFiles
import PinWire
import Testing

@Suite struct `An upload is refused` {
    @Test(
        arguments: [
            ("", .empty), (" \r\n\t", .empty), ("\u{FEFF}\n", .empty),
            ("<!DOCTYPE html><html><body>404</body></html>", .markup), ("\n <?xml version='1.0'?>", .markup),
            ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGk0Yc3Xn4b7sNnUQm8eQxU= me@host", .sshKey),
            ("AAAAB3NzaC1yc2EAAAADAQABAAABAQC7VJTUt9Us8cw=", .sshKey),
            ("---- BEGIN SSH2 PUBLIC KEY ----\nAAAA\n---- END SSH2 PUBLIC KEY ----", .sshKey),
            ("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAAAA\n=AAAA\n-----END PGP PUBLIC KEY BLOCK-----", .pgp),
            ("-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----", .onlyParameters),
            (
                "-----BEGIN TICKET-----\nAAAA\n-----END TICKET-----", .unknownBlock(.block(1, label: "TICKET"))
            ),
            (
                "-----BEGIN CERTIFICATE-----\nAAAA",
                .malformed(.block(1, label: "CERTIFICATE"), kind: .pem, detail: "it has no END line")
            ),
            (
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END PUBLIC KEY-----",
                .malformed(.block(1, label: "CERTIFICATE"), kind: .pem, detail: "its END line names something else")
            ),
            (
                "-----BEGIN CERTIFICATE-----\nA!AA\n-----END CERTIFICATE-----",
                .malformed(.block(1, label: "CERTIFICATE"), kind: .pem, detail: "it is not base64")
            ),
            (
                "-----BEGIN CERTIFICATE\nAAAA\n-----END CERTIFICATE-----",
                .malformed(
                    .block(1, label: "CERTIFICATE"), kind: .pem, detail: "its first line does not end in five dashes")
            ),
            (
                "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----",
                .unknownBinary(.block(1, label: "CERTIFICATE"))
            ),
            ("good morning", .unknownText(.entry(1))), ("morning", .unknownText(.whole)),
            ("\u{0}\u{1}\u{2}", .unknownBinary(.whole)),
        ] as [(String, UploadError)])
    func `an upload of another kind is refused with its name`(text: String, error: UploadError) {
        #expect(refusal(text.utf8) == error)
    }

    @Test func `an upload in UTF-16 or as a Java key store is refused with its name`() {
        #expect(refusal([0xFF, 0xFE, 0x2D, 0]) == .utf16)
        #expect(refusal([0xFE, 0xFF, 0, 0x2D]) == .utf16)
        #expect(refusal([0xFE, 0xED, 0xFE, 0xED, 0, 0, 0, 2]) == .javaKeyStore)
    }

    @Test func `an upload above a mebibyte is refused, and one below is read`() throws {
        let pin = Array("sha256/FEzVOUp4dF3gI0ZVPRJhFbSJVXR+uQmMH65xhs1glH4=".utf8)
        let padding = [UInt8](repeating: 0x20, count: Upload.maximumSize - pin.count)
        #expect(refusal(padding + [0x20] + pin) == .tooLarge(byteCount: Upload.maximumSize + 1))
        #expect(try items(padding + pin).count == 1)
    }

    @Test func `an upload with more than 200 objects is refused, and one with 200 is read`() throws {
        let pin = "sha256/FEzVOUp4dF3gI0ZVPRJhFbSJVXR+uQmMH65xhs1glH4="
        #expect(try items(text: Array(repeating: pin, count: 200).joined(separator: "\n")).count == 200)
        #expect(refusal(Array(repeating: pin, count: 201).joined(separator: ";").utf8) == .tooMany)
    }

    @Test(arguments: vectorNames("refused"))
    func `an upload whose certificate is malformed is refused`(name: String) throws {
        let error = try #require(refusal(vector("refused/\(name)")))
        switch name {
        case "time-garbage.der", "time-without-zone.der", "month-13.der": #expect(error == .unreadableTime(.whole))
        case "unknown-key.der": #expect(error == .unreadableKey(.whole, algorithm: "1.2.3.4"))
        case "rsa-20000.der": #expect(error == .unreadableKey(.whole, algorithm: "RSA of 20000 bits"))
        case "point-not-on-curve.der": #expect(error == .unreadableKey(.whole, algorithm: "id-ecPublicKey"))
        case "trailing-bytes.der": #expect(error == .trailingBytes(.whole, count: 1))
        case "revocation-list.der": #expect(error == .revocationList(.whole))
        case "digest-info.der", "only-lengths.der": #expect(error == .unknownBinary(.whole))
        default:
            guard case .malformed(.whole, kind: .certificate, detail: _) = error else {
                throw Unexpected(description: "\(error)")
            }
        }
    }

    @Test func `an upload is refused if one of its blocks is damaged`() async throws {
        let shop = try Workshop()
        try await shop.run(
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -subj /CN=a -out a.pem \
                2>/dev/null
            (cat a.pem; sed '2s/.....$//' a.pem) > two.pem
            """)
        guard
            case .malformed(.block(2, label: "CERTIFICATE"), kind: .certificate, detail: _) =
                refusal(try shop.bytes("two.pem"))
        else { throw Unexpected(description: "\(String(describing: refusal(try shop.bytes("two.pem"))))") }
    }
}
