package import PinWire

/// The SubjectPublicKeyInfo of a certificate (RFC 5280 section 4.1), byte for byte as it stands there: what pins are made of (RFC 7469
/// section 2.4).
///
/// Systems give the key alone, or write it again in their own way; a pin is of the certificate's own bytes.
package struct SubjectPublicKeyInfo: Hashable, Sendable {
    /// Its DER.
    package let bytes: [UInt8]

    /// SHA-256 of ``bytes``.
    package var pin: Pin? { Pin(bytes: sha256(self.bytes)) }

    /// Takes it out of a certificate in DER; nil for bytes that are no certificate. Nothing after it is looked at.
    package init?(certificate: [UInt8]) {
        var outer = DERElements(certificate[...])
        guard let whole = outer.next(), whole.tag == DERElements.sequence, outer.isAtEnd else { return nil }
        var parts = DERElements(whole.content)
        guard let signed = parts.next(), signed.tag == DERElements.sequence else { return nil }
        var members = DERElements(signed.content)
        guard var member = members.next() else { return nil }
        // The version, which certificates of version 1 do not have.
        if member.tag == 0xA0 {
            guard let next = members.next() else { return nil }
            member = next
        }
        // serialNumber, which is `member` now; then signature, issuer, validity, subject.
        guard member.tag == DERElements.integer else { return nil }
        for _ in 0..<4 { guard members.next()?.tag == DERElements.sequence else { return nil } }
        guard let info = members.next(), info.tag == DERElements.sequence else { return nil }
        self.bytes = Array(info.whole)
    }
}

/// The elements of a DER encoding (ITU-T X.690), one after the other: tags of one byte, definite lengths in their shortest form.
private struct DERElements {
    static let sequence: UInt8 = 0x30
    static let integer: UInt8 = 0x02

    struct Element {
        let tag: UInt8
        /// With tag and length.
        let whole: ArraySlice<UInt8>
        let content: ArraySlice<UInt8>
    }

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.rest = bytes }

    var isAtEnd: Bool { self.rest.isEmpty }

    mutating func next() -> Element? {
        let start = self.rest.startIndex
        var body = self.rest
        guard let tag = body.popFirst(), tag & 0x1F != 0x1F, let first = body.popFirst() else { return nil }
        var length = Int(first)
        if first >= 0x80 {
            let count = Int(first & 0x7F)
            guard (1...4).contains(count), body.count >= count, body.first != 0 else { return nil }
            length = body.prefix(count).reduce(0) { $0 << 8 | Int($1) }
            body = body.dropFirst(count)
            guard length >= 0x80 else { return nil }
        }
        guard length <= body.count else { return nil }
        let end = body.startIndex + length
        let element = Element(tag: tag, whole: self.rest[start..<end], content: body[..<end])
        self.rest = self.rest[end...]
        return element
    }
}
