package import PinWire

extension KeyEvidence {
    /// The uploaded object, as the ledger keeps it: one member, named after its kind.
    package var json: JSON {
        switch self {
        case .certificate(let certificate): ["certificate": certificate.json]
        case .request(let key, let subject, let names):
            [
                "request": [
                    "key": key.json, "subject": .string(subject), "dns_names": .array(names.map { .string($0) }),
                ]
            ]
        case .publicKey(let key): ["public_key": key.json]
        }
    }

    init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            if let certificate = m.optional("certificate") { return .certificate(try CertificateFacts(certificate)) }
            if let request = m.optional("request") {
                return try request.object { (m) throws(JSONDefect) in
                    var names: [String] = []
                    for name in try m.required("dns_names").elements(atMost: 1000) { names.append(try name.string()) }
                    return .request(
                        try KeyFacts(try m.required("key")), subject: try m.required("subject").string(),
                        dnsNames: names
                    )
                }
            }
            return .publicKey(try KeyFacts(try m.required("public_key")))
        }
    }
}

extension KeyKnowledge {
    package var json: JSON {
        .members([
            "key": self.key.json,
            "certificates": .array(self.certificates.map(\.json)),
            "request_seen": .bool(self.hasRequest),
        ])
    }

    /// Reads ``json``.
    init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            var knowledge = KeyKnowledge(.publicKey(try KeyFacts(try m.required("key"))))
            for field in try m.required("certificates").elements(atMost: KeyKnowledge.certificateLimit) {
                knowledge.certificates.append(try CertificateFacts(field))
            }
            knowledge.hasRequest = try m.required("request_seen").bool()
            return knowledge
        }
    }
}
