extension KeyFacts {
    /// The form in events and answers. Digests are in lower-case hexadecimal except the pin.
    public var json: JSON {
        .members([
            "pin": .string(self.pin.description),
            "algorithm": .string(self.algorithm),
            "bits": .integer(Int64(self.bits)),
            "curve": self.curve.map { .string($0) },
            "spki_sha512": .string(Hex.encode(self.spkiSHA512)),
            "raw_key_sha256": .string(Hex.encode(self.rawKeySHA256)),
            "weaknesses": JSON.texts(self.weaknesses),
        ])
    }

    /// Reads ``json``.
    public init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (members) throws(JSONDefect) in
            KeyFacts(
                pin: try members.required("pin").parse(Pin.init(text:)),
                algorithm: try members.required("algorithm").string(),
                bits: Int(try members.required("bits").integer(0...1_000_000)),
                curve: try members.optional("curve")?.string(),
                spkiSHA512: try members.required("spki_sha512").digest(count: 64),
                rawKeySHA256: try members.required("raw_key_sha256").digest(count: 32),
                weaknesses: try members.optional("weaknesses")?.texts(atMost: 100) ?? [])
        }
    }
}

extension CertificateFacts {
    /// The form in events and answers. Fingerprints are in lower-case hexadecimal; empty lists are left out.
    public var json: JSON {
        .members([
            "key": self.key.json,
            "sha256": .string(Hex.encode(self.sha256)),
            "sha1": .string(Hex.encode(self.sha1)),
            "subject": .string(self.subject),
            "common_name": self.commonName.map { .string($0) },
            "dns_names": JSON.texts(self.dnsNames),
            "ip_addresses": JSON.texts(self.ipAddresses),
            "email_address": self.emailAddress.map { .string($0) },
            "issuer": .string(self.issuer),
            "serial": .string(self.serial),
            "not_before": .string(self.notBefore.rfc3339),
            "not_after": .string(self.notAfter.rfc3339),
            "ca": .bool(self.isCA),
            "self_signed": .bool(self.isSelfSigned),
        ])
    }

    /// Reads ``json``.
    public init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (members) throws(JSONDefect) in
            CertificateFacts(
                key: try KeyFacts(members.required("key")),
                sha256: try members.required("sha256").digest(count: 32),
                sha1: try members.required("sha1").digest(count: 20),
                subject: try members.required("subject").string(),
                issuer: try members.required("issuer").string(),
                commonName: try members.optional("common_name")?.string(),
                dnsNames: try members.optional("dns_names")?.texts(atMost: CertificateFacts.nameLimit) ?? [],
                ipAddresses: try members.optional("ip_addresses")?.texts(atMost: CertificateFacts.nameLimit) ?? [],
                emailAddress: try members.optional("email_address")?.string(),
                serial: try members.required("serial").string(),
                notBefore: try members.required("not_before").timestamp(),
                notAfter: try members.required("not_after").timestamp(),
                isCA: try members.required("ca").bool(),
                isSelfSigned: try members.required("self_signed").bool())
        }
    }
}

extension JSON {
    /// An array of strings; nil for an empty one.
    fileprivate static func texts(_ texts: [String]) -> JSON? {
        texts.isEmpty ? nil : .array(texts.map { .string($0) })
    }
}

extension JSONField {
    /// A digest of `count` bytes in lower-case hexadecimal.
    fileprivate func digest(count: Int) throws(JSONDefect) -> [UInt8] {
        guard let bytes = Hex.decode(try self.string()), bytes.count == count else {
            throw self.defect("must be \(count) bytes in lower-case hexadecimal")
        }
        return bytes
    }

    /// The strings of an array of at most `limit`.
    fileprivate func texts(atMost limit: Int) throws(JSONDefect) -> [String] {
        var texts: [String] = []
        for element in try self.elements(atMost: limit) { texts.append(try element.string()) }
        return texts
    }
}
