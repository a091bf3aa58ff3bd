package import PinWire

extension KeyEvidence {
    /// The uploaded object, as the ledger keeps it: one member, named after its kind.
    var members: [String: JSON] {
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

    /// Reads ``members``.
    init(_ members: inout JSONMembers) throws(JSONDefect) {
        if let certificate = members.optional("certificate") {
            self = .certificate(try CertificateFacts(certificate))
        } else if let request = members.optional("request") {
            self = try request.object { (m) throws(JSONDefect) in
                var names: [String] = []
                for name in try m.required("dns_names").elements(atMost: 1000) { names.append(try name.string()) }
                return .request(
                    try KeyFacts(try m.required("key")), subject: try m.required("subject").string(),
                    dnsNames: names
                )
            }
        } else {
            self = .publicKey(try KeyFacts(try members.required("public_key")))
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
