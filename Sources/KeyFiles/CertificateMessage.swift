internal import COpenSSL
internal import PinWire

/// A PKCS#7 message (RFC 2315), of which only the certificates are read.
enum CertificateMessage {
    /// Gives `take` the certificates of the message in their order.
    static func read(
        _ bytes: ArraySlice<UInt8>, _ place: UploadPlace,
        _ take: (Described<CertificateFacts>) throws(UploadError) -> Void
    ) throws(UploadError) {
        let decoded = unsafe OpenSSL.decode(bytes) { unsafe d2i_PKCS7(nil, $0, $1).map { OpaquePointer($0) } }
        guard let (pointer, count) = unsafe decoded,
            let message = unsafe Owned(pointer, free: { unsafe PKCS7_free($0.map { unsafe UnsafeMutablePointer($0) }) })
        else { throw .malformed(place, kind: .message, detail: OpenSSL.takeError()) }
        guard count == bytes.count else { throw .trailingBytes(place, count: bytes.count - count) }
        try unsafe message.with { (message) throws(UploadError) in
            let certificates = unsafe self.certificates(of: UnsafeMutablePointer(message))
            switch unsafe OpenSSL.count(of: certificates) {
            case 0: throw .noCertificates(place, kind: .message)
            case ...Upload.maximumCount: break
            default: throw .tooMany
            }
            var number = 0
            try unsafe OpenSSL.each(of: certificates) { (pointer) throws(UploadError) in
                number += 1
                guard let certificate = unsafe Certificate(sharing: pointer) else { return }
                try take(certificate.described(.certificate(number)))
            }
        }
    }

    /// The stack of the message's certificates, which the message owns.
    private static func certificates(of message: UnsafeMutablePointer<PKCS7>) -> OpaquePointer? {
        switch unsafe OBJ_obj2nid(message.pointee.type) {
        case NID_pkcs7_signed: unsafe message.pointee.d.sign?.pointee.cert
        case NID_pkcs7_signedAndEnveloped: unsafe message.pointee.d.signed_and_enveloped?.pointee.cert
        default: nil
        }
    }
}
