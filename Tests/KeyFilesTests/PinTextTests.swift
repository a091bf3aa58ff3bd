import KeyFiles
import PinWire
import Testing

@Suite struct `A pin is read` {
    static let base64 = "FEzVOUp4dF3gI0ZVPRJhFbSJVXR+uQmMH65xhs1glH4="
    static let hex = "144cd5394a78745de02346553d126115b48955747eb9098c1fae7186cd60947e"
    static let other = "M8HztCzM3elUxkcjR2S5P4hhyBNf6lHkmjAHKhpGPWE="

    static var colons: String {
        stride(from: 0, to: 64, by: 2).map { String(hex.dropFirst($0).prefix(2)).uppercased() }.joined(separator: ":")
    }

    static var blanks: String { colons.replacing(":", with: " ") }

    static func pin(_ spelling: PinSpelling, _ text: String = base64) throws -> Upload.Item {
        .pin(try Pin(text: text), spelling: spelling)
    }

    @Test(
        arguments: [
            ("sha256/\(base64)", .sha256), ("  sha256/\(base64)\r\n", .sha256), ("\"sha256/\(base64)\",", .sha256),
            ("sha256//\(base64)", .curl), ("'sha256//\(base64)'", .curl),
            ("pin-sha256=\"\(base64)\"", .header), ("pin-sha256=\(base64);", .header),
            (
                "Public-Key-Pins: pin-sha256=\"\(base64)\"; max-age=5184000; includeSubDomains; "
                    + "report-uri=\"https://example.com/r\"", .header
            ),
            (base64, .base64), ("\t\(base64) ", .base64), (String(base64.dropLast()), .base64),
            (base64.replacing("+", with: "-"), .base64URL),
            (String(base64.replacing("+", with: "-").dropLast()), .base64URL),
            ("sha256/\(base64.replacing("+", with: "-").dropLast())", .sha256), (hex, .hex), (hex.uppercased(), .hex),
            (colons, .colonHex), (colons.lowercased(), .colonHex), ("\u{FEFF}\(hex)", .hex),
            ("\u{FEFF}sha256/\(base64)", .sha256), ("pin-sha256=\"\(base64)\"; max-age=60", .header),
            ("max-age=60; pin-sha256=\"\(base64)\"", .header), ("sha256/\(hex)", .hex),
            ("sha256//\(colons)", .colonHex),
            ("pin-sha256=\"\(hex)\"", .hex), ("SHA256:\(hex)", .hex), (blanks, .spacedHex),
            (blanks.lowercased(), .spacedHex),
            (String(blanks.prefix(47)) + "\n" + String(blanks.dropFirst(48)), .spacedHex),
            ("SHA2-256(stdin)= \(hex)", .hex),
            ("SHA256(key.der)= \(hex)\n", .hex), ("\(hex)  -\n", .hex), ("sha256 \(hex)", .hex),
        ] as [(String, PinSpelling)])
    func `a pin is read in every spelling that people paste`(text: String, spelling: PinSpelling) throws {
        #expect(try items(text: text) == [Self.pin(spelling)])
        #expect(try WrittenPin(text).pin == Pin(text: Self.base64))
        #expect(try WrittenPin(text).spelling == spelling)
        #expect(spelling.isAmbiguous == [.hex, .colonHex, .spacedHex].contains(spelling))
    }

    @Test func `a pin whose digest begins with a slash is read with one slash before it and with two`() throws {
        let digest = "/" + Self.base64.dropFirst()
        for (text, spelling) in [
            ("sha256/\(digest)", .sha256), ("sha256/\(digest.dropLast())", .sha256), ("sha256//\(digest)", .curl),
            ("sha256//\(digest.dropLast())", .curl), (digest, .base64), ("pin-sha256=\"\(digest)\"", .header),
        ] as [(String, PinSpelling)] {
            #expect(try items(text: text) == [Self.pin(spelling, digest)], "\(text)")
        }
    }

    /// Every decoder on devices makes 32 bytes of it, although the last character has stray bits.
    @Test(arguments: ["A", "B", "Z"])
    func `a pin of one repeated character is read as the placeholder that it is`(character: String) throws {
        let text = String(repeating: character, count: 43) + "="
        guard case .pin(let pin, _)? = try items(text: text).first else {
            Issue.record("\(text) is no pin")
            return
        }
        #expect(pin.placeholder == .pattern)
    }

    @Test func `several pins are read one after the other`() throws {
        #expect(
            try items(text: "sha256//\(Self.base64);sha256//\(Self.other)")
                == [Self.pin(.curl), Self.pin(.curl, Self.other)])
        #expect(
            try items(text: "pin-sha256=\"\(Self.base64)\"; pin-sha256=\"\(Self.other)\"; max-age=10")
                == [Self.pin(.header), Self.pin(.header, Self.other)])
        #expect(
            try items(text: "\(Self.other)\n\(Self.base64)\n\n\(Self.hex)\n")
                == [Self.pin(.base64, Self.other), Self.pin(.base64), Self.pin(.hex)])
    }

    @Test func `a pin is distinguished from fingerprints of certificates`() throws {
        let sha1 = "9f:86:d0:81:88:4c:7d:65:9a:2f:ea:a0:c5:5a:d0:15:a3:bf:4f:1b"
        let bytes = try #require(Hex.decode(sha1.replacing(":", with: "")))
        let blanks = sha1.replacing(":", with: " ")
        for text in [
            sha1, sha1.uppercased(), sha1.replacing(":", with: ""), blanks, "SHA1 Fingerprint=\(sha1)", "SHA1: \(sha1)",
            "SHA-1 Fingerprint: \(blanks)", "sha1/\(sha1.replacing(":", with: ""))",
        ] {
            #expect(try items(text: text) == [.fingerprint(bytes)], "\(text)")
            #expect(throws: WrittenPin.Malformed.fingerprint(bytes)) { try WrittenPin(text) }
        }
        let digest = try #require(Hex.decode(Self.hex))
        for text in [
            "sha256 Fingerprint=\(Self.colons)", "SHA256 Fingerprint=\(Self.colons)\n", "Fingerprint=\(Self.colons)",
            "SHA256: \(Self.colons)", "SHA-256 Fingerprint\n\(Self.blanks)", "SHA256 Fingerprint='\(Self.hex)'",
        ] {
            #expect(try items(text: text) == [.fingerprint(digest)], "\(text)")
            #expect(throws: WrittenPin.Malformed.fingerprint(digest)) { try WrittenPin(text) }
        }
    }

    @Test(
        arguments: [
            ("", .digest(.wrongLength(0))), (" \r\n", .digest(.wrongLength(0))), ("sha256", .digest(.notBase64)),
            ("sha256:\(base64)", .digest(.notBase64)), ("\(base64)\n\(base64)", .several),
            ("sha256//\(base64);sha256//\(other)", .several), ("# my pin\n\(base64)", .otherText),
            ("\(base64) # my pin", .otherText), ("\(base64.prefix(20))\n\(base64.dropFirst(20))", .otherText),
            ("ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7VJTUt9Us8cw= me@host", .digest(.sshKey)),
            ("sha1/qvTGHdzF6KLavt4PO0gs2a6pQ00=", .otherHash("SHA-1")), ("\(hex)ab", .hexDigits(byteCount: 33)),
            ("sha256/\(hex)ab", .hexDigits(byteCount: 33)), ("п\(base64)", .digest(.notBase64)),
        ] as [(String, WrittenPin.Malformed)])
    func `a text that is not one pin is refused with the reason`(text: String, reason: WrittenPin.Malformed) {
        #expect(throws: reason) { try WrittenPin(text) }
        #expect(!reason.description.contains("must be"))
    }

    @Test(
        arguments: [
            ("sha1/qvTGHdzF6KLavt4PO0gs2a6pQ00=", .otherHash(.whole, name: "SHA-1")),
            ("sha512/abc", .otherHash(.whole, name: "SHA-512")),
            ("pin-sha1=\"qvTGHdzF6KLavt4PO0gs2a6pQ00=\"", .otherHash(.whole, name: "SHA-1")),
            ("sha256/AAAA", .malformedPin(.whole, .wrongLength(3))),
            ("sha256/", .malformedPin(.whole, .wrongLength(0))),
            ("sha256/sha256/\(base64)", .malformedPin(.whole, .notBase64)),
            ("sha256///\(base64)", .malformedPin(.whole, .notBase64)),
            ("sha256/AAAAB3NzaC1yc2EAAAA", .malformedPin(.whole, .sshKey)),
            (base64.replacing("+", with: "-").replacing("FEz", with: "F/z"), .malformedPin(.whole, .notBase64)),
            (String(base64.dropLast(2)), .malformedPin(.whole, .notBase64)),
            ("\(base64.dropLast(2))5=", .malformedPin(.whole, .notBase64)),
            ("\(base64) \(base64.dropLast(2))", .malformedPin(.entry(2), .notBase64)),
            (String(hex.dropLast(2)), .malformedHex(.whole, byteCount: 31)),
            ("\(hex)ab", .malformedHex(.whole, byteCount: 33)),
            ("SHA1 Fingerprint=\(colons)", .malformedHex(.entry(1), byteCount: 32)),
            ("sha256", .unknownText(.whole)), (";,;", .unknownText(.whole)),
            ("max-age=5", .unknownText(.whole)),
            (String(repeating: "a", count: 5000), .malformedHex(.whole, byteCount: 2500)),
        ] as [(String, UploadError)])
    func `a text that is not a pin is refused with its defect`(text: String, error: UploadError) {
        if text.utf8.count > 200 {
            #expect(refusal(text.utf8) == .unknownText(.whole))
        } else {
            #expect(refusal(text.utf8) == error)
        }
    }
}
