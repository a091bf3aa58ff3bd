internal import COpenSSL

/// Distinguished names as text.
enum NameText {
    /// A name in the form of RFC 4514, in UTF-8; empty for an empty one. If it has a string that does not match its
    /// type, all of its values are in hexadecimal, RFC 4514's form for values without text.
    static func text(of name: OpaquePointer?) -> String {
        guard let name = unsafe name else { return "" }
        let written =
            unsafe self.write(name, flags: pinledger_name_flags())
            ?? self.write(name, flags: pinledger_name_dump_flags())
        return PrintableText.text(written ?? [])
    }

    /// The last common name; nil where there is none, or none that is text.
    static func commonName(of name: OpaquePointer?) -> String? {
        guard let name = unsafe name else { return nil }
        var last: CInt = -1
        var place = unsafe X509_NAME_get_index_by_NID(name, NID_commonName, -1)
        while place >= 0 {
            last = place
            place = unsafe X509_NAME_get_index_by_NID(name, NID_commonName, place)
        }
        guard last >= 0, let entry = unsafe X509_NAME_get_entry(name, last) else { return nil }
        var start: UnsafeMutablePointer<UInt8>?
        let count = unsafe ASN1_STRING_to_UTF8(&start, X509_NAME_ENTRY_get_data(entry))
        guard count >= 0 else { return nil }
        defer { unsafe pinledger_free(start) }
        return unsafe PrintableText.text(OpenSSL.copy(start, count: count))
    }

    /// OpenSSL's text; nil where it fails.
    private static func write(_ name: OpaquePointer, flags: CUnsignedLong) -> [UInt8]? {
        guard let buffer = unsafe Owned(BIO_new(BIO_s_mem()), free: { unsafe _ = BIO_free($0) }) else { return nil }
        return unsafe buffer.with { (buffer) -> [UInt8]? in
            guard unsafe X509_NAME_print_ex(buffer, name, 0, flags) >= 0 else { return nil }
            // One byte more than is shown, which reveals a text that is too long.
            let wanted = PrintableText.limit + 4
            return unsafe [UInt8](unsafeUninitializedCapacity: wanted) { bytes, count in
                count = unsafe max(0, Int(BIO_read(buffer, bytes.baseAddress, CInt(wanted))))
            }
        }
    }
}
