internal import COpenSSL
internal import Glibc
internal import PinWire

/// The subject alternative names (RFC 5280 section 4.2.1.6) that identify hosts: DNS names and IP addresses; and the
/// first e-mail address.
struct AlternativeNames {
    private(set) var dnsNames: [String] = []
    private(set) var ipAddresses: [String] = []
    private(set) var emailAddress: String?

    /// Takes over OpenSSL's decoding of the extension; nil stands for none. Where the extension is there twice, or
    /// unreadable, OpenSSL gives none, and clients find no names in such a certificate either.
    init(_ names: OpaquePointer?) {
        guard let names = unsafe Owned(names, free: { unsafe GENERAL_NAMES_free($0) }) else { return }
        unsafe names.with { names in
            unsafe OpenSSL.each(of: names) { unsafe self.take(UnsafePointer<GENERAL_NAME>($0)) }
        }
    }

    private mutating func take(_ name: UnsafePointer<GENERAL_NAME>) {
        var type: CInt = 0
        guard let value = unsafe GENERAL_NAME_get0_value(name, &type) else { return }
        switch type {
        case GEN_DNS where self.dnsNames.count < CertificateFacts.nameLimit:
            let text = unsafe PrintableText.text(OpenSSL.bytes(of: value.assumingMemoryBound(to: ASN1_STRING.self)))
            self.dnsNames.append(text.lowercased())
        case GEN_IPADD where self.ipAddresses.count < CertificateFacts.nameLimit:
            let bytes = unsafe OpenSSL.bytes(of: value.assumingMemoryBound(to: ASN1_STRING.self))
            if let text = Self.address(bytes) { self.ipAddresses.append(text) }
        case GEN_EMAIL where self.emailAddress == nil:
            let text = unsafe PrintableText.text(OpenSSL.bytes(of: value.assumingMemoryBound(to: ASN1_STRING.self)))
            if !text.isEmpty { self.emailAddress = text }
        default: return
        }
    }

    /// The text of an address; nil unless it has 4 or 16 bytes.
    private static func address(_ bytes: [UInt8]) -> String? {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        let text = unsafe [CChar](unsafeUninitializedCapacity: Int(INET6_ADDRSTRLEN)) { buffer, count in
            let family = bytes.count == 4 ? AF_INET : AF_INET6
            let isWritten = unsafe inet_ntop(family, bytes, buffer.baseAddress, socklen_t(INET6_ADDRSTRLEN)) != nil
            count = unsafe isWritten ? (buffer.firstIndex(of: 0) ?? 0) : 0
        }
        return String(decoding: text.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
