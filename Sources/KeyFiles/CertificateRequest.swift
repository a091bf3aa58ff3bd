internal import COpenSSL
internal import PinWire

/// A certificate request (PKCS#10, RFC 2986) in OpenSSL's form.
struct CertificateRequest {
    private let object: Owned

    /// The request at the beginning of `bytes`, and the number of its bytes; nil where there is none.
    static func decode(_ bytes: ArraySlice<UInt8>) -> (CertificateRequest, count: Int)? {
        let decoded = unsafe OpenSSL.decode(bytes) { unsafe d2i_X509_REQ(nil, $0, $1) }
        guard let (pointer, count) = unsafe decoded,
            let object = unsafe Owned(pointer, free: { unsafe X509_REQ_free($0) })
        else { return nil }
        return (CertificateRequest(object: object), count)
    }

    /// All facts that are stored of it, if its signature shows that the sender has the key.
    func described(_ place: UploadPlace) throws(UploadError) -> Described<RequestFacts> {
        try unsafe self.object.with { (request) throws(UploadError) in
            let key = try unsafe PublicKey.described(X509_REQ_get_X509_PUBKEY(request), place)
            guard unsafe X509_REQ_verify(request, X509_REQ_get0_pubkey(request)) == 1 else {
                throw .unprovenRequest(place)
            }
            let subject = unsafe X509_REQ_get_subject_name(request)
            let extensions = unsafe X509_REQ_get_extensions(request)
            defer { unsafe pinledger_free_extensions(extensions) }
            let names = unsafe AlternativeNames(
                X509V3_get_d2i(extensions, NID_subject_alt_name, nil, nil).map { OpaquePointer($0) })
            let facts = unsafe RequestFacts(
                key: key.facts, subject: NameText.text(of: subject), commonName: NameText.commonName(of: subject),
                dnsNames: names.dnsNames, ipAddresses: names.ipAddresses)
            return Described(facts: facts, material: key.material)
        }
    }
}
