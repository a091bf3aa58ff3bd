import Keys
import PinWire
import Testing

@Suite struct `Client signing keys` {
    static let keys: [(ClientKeyAlgorithm, String, String)] = [
        (.ed25519, DynapinsKey.pkcs8, DynapinsKey.publicKey), (.es256, WultraKey.pkcs8, WultraKey.publicKey),
        (.rsaSHA512, OpenSSLRSAKey.pkcs8, OpenSSLRSAKey.publicKey),
    ]

    private let wrapping: KeyEncryptionKey

    init() throws {
        self.wrapping = try KeyEncryptionKey([UInt8](repeating: 7, count: 32))
    }

    private static func label(role: String = "client", id: String = "ck_1", app: String = "app") -> SealingLabel {
        SealingLabel(role: role, algorithm: "PKCS8", keyID: id, publicKey: Array(app.utf8))
    }

    @Test(arguments: keys)
    func `a key is sealed as the PKCS#8 that OpenSSL writes, and opens as what it was`(
        algorithm: ClientKeyAlgorithm, pkcs8: String, publicKey: String
    ) throws {
        let key = try ClientSigningKey(importing: pkcs8.utf8, algorithm: algorithm)
        #expect(key.algorithm == algorithm)
        #expect(Base64.encode(key.subjectPublicKeyInfo) == publicKey)
        let sealed = key.sealed(as: "ck_1", of: "app", with: self.wrapping)
        let inside = try sealed.open(label: Self.label(), with: self.wrapping)
        #expect(inside.withUnsafeBytes { Base64.encode($0) } == pkcs8)
        let opened = try ClientSigningKey(opening: sealed, as: "ck_1", of: "app", with: self.wrapping)
        #expect(opened.algorithm == algorithm)
        #expect(Base64.encode(opened.subjectPublicKeyInfo) == publicKey)
    }

    @Test(arguments: keys)
    func `a sealed key opens under its own name, app, role and key-encryption key only`(
        algorithm: ClientKeyAlgorithm, pkcs8: String, publicKey: String
    ) throws {
        let key = try ClientSigningKey(importing: pkcs8.utf8, algorithm: algorithm)
        let sealed = key.sealed(as: "ck_1", of: "app", with: self.wrapping)
        for (id, app) in [("ck_2", "app"), ("ck_1", "other")] {
            #expect(throws: SealedSecret.Invalid.notAuthentic) {
                try ClientSigningKey(opening: sealed, as: id, of: app, with: self.wrapping)
            }
        }
        #expect(throws: SealedSecret.Invalid.notAuthentic) {
            try TelemetrySecret(opening: sealed, as: "ck_1", of: "app", with: self.wrapping)
        }
        let other = try KeyEncryptionKey([UInt8](repeating: 8, count: 32))
        #expect(throws: SealedSecret.Invalid.otherKeyEncryptionKey(sealedWith: self.wrapping.id, given: other.id)) {
            try ClientSigningKey(opening: sealed, as: "ck_1", of: "app", with: other)
        }
    }

    @Test func `a sealed text under a client's label that is not a key is refused`() throws {
        let inside = SecureBytes(copying: hex(rfcSeed))
        let sealed = SealedSecret(sealing: inside, label: Self.label(), with: self.wrapping)
        #expect(throws: SealedSecret.Invalid.malformed) {
            try ClientSigningKey(opening: sealed, as: "ck_1", of: "app", with: self.wrapping)
        }
        let elsewhere = SealedSecret(sealing: inside, label: Self.label(role: "telemetry"), with: self.wrapping)
        #expect(throws: SealedSecret.Invalid.notAuthentic) {
            try ClientSigningKey(opening: elsewhere, as: "ck_1", of: "app", with: self.wrapping)
        }
    }

    @Test(arguments: ClientKeyAlgorithm.allCases)
    func `generated keys differ, and survive being sealed`(algorithm: ClientKeyAlgorithm) async throws {
        let first = try await ClientSigningKey.generate(algorithm)
        let second = try await ClientSigningKey.generate(algorithm)
        #expect(first.algorithm == algorithm)
        #expect(first.subjectPublicKeyInfo != second.subjectPublicKeyInfo)
        let sealed = first.sealed(as: "ck_1", of: "app", with: self.wrapping)
        let opened = try ClientSigningKey(opening: sealed, as: "ck_1", of: "app", with: self.wrapping)
        #expect(opened.subjectPublicKeyInfo == first.subjectPublicKeyInfo)
        let message: [UInt8] = [1, 2, 3]
        switch (first, opened) {
        case (.ed25519(let key), .ed25519(let opened)):
            #expect(key.publicKey.verifies(try opened.sign(message), over: message))
        case (.es256(let key), .es256(let opened)):
            #expect(key.publicKey.verifies(try opened.sign(message), over: message))
        case (.rsaSHA512(let key), .rsaSHA512(let opened)):
            #expect(key.publicKey.verifies(try opened.sign(message), over: message))
        default: Issue.record("the algorithm changed")
        }
    }

    @Test(arguments: keys)
    func `printing, interpolating and dumping a key shows its algorithm only`(
        algorithm: ClientKeyAlgorithm, pkcs8: String, publicKey: String
    ) throws {
        let key = try ClientSigningKey(importing: pkcs8.utf8, algorithm: algorithm)
        let text = "a client signing key (\(algorithm.rawValue))"
        #expect("\(key)" == text)
        #expect(String(reflecting: key) == text)
        var dumped = ""
        dump(key, to: &dumped)
        #expect(dumped.split(separator: "\n").count == 2)
    }
}
