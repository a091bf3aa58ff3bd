import PinWire
import Testing

@Suite struct `A pin` {
    static let text = "sha256/FEzVOUp4dF3gI0ZVPRJhFbSJVXR+uQmMH65xhs1glH4="

    @Test func `a pin is read with or without the name of its hash and written with it`() throws {
        let pin = try Pin(text: Self.text)
        #expect(pin.description == Self.text)
        #expect(pin.base64 == String(Self.text.dropFirst(7)))
        #expect(try Pin(text: pin.base64) == pin)
        #expect(Pin(bytes: pin.bytes) == pin)
        #expect(pin.placeholder == nil)
    }

    @Test func `a pin has exactly 32 bytes`() {
        for count in 0...64 where count != 32 { #expect(Pin(bytes: Array(repeating: 7, count: count)) == nil) }
    }

    @Test(
        arguments: [
            ("", .wrongLength(0)), ("sha256/", .wrongLength(0)), ("sha256/AAAA", .wrongLength(3)),
            ("sha1/qvTGHdzF6KLavt4PO0gs2a6pQ00=", .notBase64), ("SHA256/\(text.dropFirst(7))", .notBase64),
            ("sha256//FEzVOUp4dF3gI0ZVPRJhFbSJVXR+uQmMH65xhs1glH4=", .notBase64), ("sha256/sha256/\(text)", .notBase64),
            ("sha256:\(text.dropFirst(7))", .notBase64), ("\(text)\n", .notBase64), (" \(text)", .notBase64),
            (String(text.dropLast()), .notBase64), ("\(text)=", .notBase64), ("\(text.dropLast(2))5=", .notBase64),
            (text.replacing("+", with: "-"), .notBase64), ("\(text.dropLast(1))A", .wrongLength(33)),
            ("sha256/\(String(repeating: "A", count: 88))", .wrongLength(66)),
            ("your_build_time_primary_pin", .notBase64), ("AA:BB:CC:DD:EE:99", .notBase64),
            ("14c4d5394a78745de02346553d126115b489557 47eb9098c1fae7186cd60947e", .notBase64),
            ("sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=", .notBase64),
            ("sha256/BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB=", .notBase64),
            ("sha256/AAAAB3NzaC1yc2EAAAADAQABAAABAQC7VJTUt9Us8cw=", .sshKey), ("sha256/AAAB3NzaC1yc2EAAAA...", .sshKey),
            ("AAAAC3NzaC1lZDI1NTE5AAAAIGk0Yc3Xn4b7sNnUQm8eQxU=", .sshKey), ("sha256/BBBF4OzaC1yc2EAAAA...", .sshKey),
            ("AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTY=", .sshKey), ("-----BEGIN CERTIFICATE-----", .notBase64),
        ] as [(String, Pin.Malformed)])
    func `a pin is not made of a malformed text`(text: String, reason: Pin.Malformed) {
        #expect(throws: reason) { try Pin(text: text) }
        #expect(reason.description.hasPrefix("must be sha256/"))
    }

    /// Appendix B of the operations reference, complete.
    @Test(
        arguments: [
            ("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", .pattern),
            ("BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA=", .pattern),
            ("EEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEE=", .pattern),
            ("//////////////////////////////////////////8=", .pattern),
            ("47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", .emptyInput),
            ("AbpHGcgLb+kRsJGnwFEktk7uzpZOCcBY74+YBdrKVGs=", .emptyInput),
            ("7HIpactkIAq2Y49orFOOQKurWxmmSFZhBCoQYcRhJ3Y=", .documentation(source: "Android's")),
            ("fwza0LRMXouZHRC8Ei+4PyuldPDcf3UKgO/04cDM1oE=", .documentation(source: "Android's")),
            ("d6qzRu9zOECb90Uez27xWltNsj0e1Md7GkYYkVoZWmM=", .documentation(source: "RFC 7469")),
            ("E9CZ9INDbd+2eRQozYqqbQ2yXLVKB9+xcprMF+44U1g=", .documentation(source: "RFC 7469")),
            ("LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=", .documentation(source: "RFC 7469")),
            ("r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E=", .documentation(source: "Apple's")),
            ("TQEtdMbmwFgYUifM4LDF+xgEtd0z69mPGmkp014d6ZY=", .documentation(source: "TrustKit's")),
            ("rFjc3wG7lTZe43zeYTvPq8k4xdDEutCmIhI5dn4oCeE=", .documentation(source: "TrustKit's")),
            ("HXXQgxueCIU5TTLHob/bPbwcKOKw6DkfsTWYHbxbqTY=", .documentation(source: "TrustKit's")),
            ("0SDf3cRToyZJaMsoS17oF72VMavLxj/N7WBNasNuiR8=", .documentation(source: "TrustKit's")),
        ] as [(String, Pin.Placeholder)])
    func `a pin of no real key, or copied from documentation, is known`(
        text: String, placeholder: Pin.Placeholder
    ) throws {
        #expect(try Pin(text: text).placeholder == placeholder)
    }

    @Test func `a pin of the digest of nothing, or of a line feed, is known`() {
        #expect(Pin(bytes: sha256([]))?.placeholder == .emptyInput)
        #expect(Pin(bytes: sha256([0x0A]))?.placeholder == .emptyInput)
    }

    @Test func `a pin of equal bytes or of a counter is a pattern, wherever it begins`() {
        for start in UInt8.min...UInt8.max {
            for step: UInt8 in [0, 1, 255] {
                let bytes = (0..<32).map { start &+ UInt8($0) &* step }
                #expect(Pin(bytes: bytes)?.placeholder == .pattern)
            }
        }
    }

    @Test func `a pin of a digest is not a placeholder`() throws {
        for seed in UInt8.min...UInt8.max { #expect(try pin(seed).placeholder == nil) }
    }

    @Test func `pins are sorted by their bytes`() throws {
        let pins = try (0..<50).map { try pin($0) }.sorted()
        for (left, right) in zip(pins, pins.dropFirst()) { #expect(Hex.encode(left.bytes) < Hex.encode(right.bytes)) }
    }

    @Test func `a pin's role and a policy's mode are the words of the wire`() {
        #expect(PinRole.allCases.map(\.rawValue) == ["primary", "backup", "emergency"])
        #expect(PinRole.allCases.map(\.isReserve) == [false, true, true])
        #expect(PinMode.allCases.map(\.rawValue) == ["enforce", "report_only", "off"])
        #expect(PinMode.enforce.strength > PinMode.reportOnly.strength)
        #expect(PinMode.reportOnly.strength > PinMode.off.strength)
    }
}
