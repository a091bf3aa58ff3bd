import PinWire

// What the state knows of keys and certificates are facts. Their bytes are kept elsewhere, under these digests.

extension KeyEvidence {
    /// The digests of the key that was shown and, where it was one, of the certificate.
    package var digests: [[UInt8]] {
        switch self {
        case .certificate(let certificate): [certificate.key.pin.bytes, certificate.sha256]
        case .request(let key, _, _), .publicKey(let key): [key.pin.bytes]
        }
    }
}

extension KeyKnowledge {
    /// The digests of the key and of its certificates.
    package var digests: [[UInt8]] { [self.key.pin.bytes] + self.certificates.map(\.sha256) }
}

extension ClientView {
    /// The digests of all keys and certificates that a rendering may have in it.
    package var digests: Set<[UInt8]> {
        var digests: Set<[UInt8]> = []
        for host in self.hosts {
            for pin in host.pins {
                digests.insert(pin.pin.bytes)
                digests.formUnion(pin.certificates.map(\.sha256))
            }
        }
        return digests
    }
}

extension LedgerState {
    /// Those of `digests` by which no app knows a key or a certificate.
    package func unnamed(_ digests: Set<[UInt8]>) -> Set<[UInt8]> {
        var rest = digests
        for app in self.apps.values where !rest.isEmpty {
            for knowledge in app.keys.values { rest.subtract(knowledge.digests) }
            // Pins of which an app knows no more, since it knows as many keys as it may.
            for host in app.hosts.values {
                for slot in PolicySlot.allCases {
                    for pin in host[slot]?.pins.keys ?? [] { rest.remove(pin.bytes) }
                }
            }
        }
        return rest
    }
}
