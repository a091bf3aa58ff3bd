import Keys
import PinWire
import Testing

@Suite struct `Sealed secrets` {
    private let key: Ed25519PrivateKey
    private let wrapping: KeyEncryptionKey
    private let sealed: SealedSecret

    init() throws {
        self.key = try Ed25519PrivateKey(seed: rfcSeed)
        self.wrapping = try KeyEncryptionKey([UInt8](repeating: 7, count: 32))
        self.sealed = SealedSecret(sealing: self.key, role: "document", with: self.wrapping)
    }

    @Test func `a sealed key opens and signs as before`() throws {
        let opened = try self.sealed.open(role: "document", publicKey: self.key.publicKey, with: self.wrapping)
        #expect(try opened.sign([1, 2, 3]) == self.key.sign([1, 2, 3]))
        #expect(self.sealed.ciphertext.count == 48)
        #expect(self.sealed.nonce.count == 24)
        #expect(self.sealed.keyEncryptionKeyID == self.wrapping.id)
    }

    @Test func `sealing twice gives two nonces and two ciphertexts`() {
        let again = SealedSecret(sealing: self.key, role: "document", with: self.wrapping)
        #expect(again.nonce != self.sealed.nonce)
        #expect(again.ciphertext != self.sealed.ciphertext)
    }

    @Test func `the label is bound as canonical JSON`() {
        let label = SealingLabel(role: "document", publicKey: self.key.publicKey)
        #expect(
            String(decoding: label.associatedData(of: .derivedKey), as: UTF8.self)
                == #"{"alg":"EdDSA","kid":"kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k","#
                + #""public":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","role":"document","v":2}"#
        )
    }

    @Test func `a tampered ciphertext or nonce is refused`() throws {
        for bit in 0..<48 * 8 {
            var ciphertext = self.sealed.ciphertext
            ciphertext[bit / 8] ^= 1 << UInt8(bit % 8)
            try self.refuses(nonce: self.sealed.nonce, ciphertext: ciphertext)
        }
        for bit in 0..<24 * 8 {
            var nonce = self.sealed.nonce
            nonce[bit / 8] ^= 1 << UInt8(bit % 8)
            try self.refuses(nonce: nonce, ciphertext: self.sealed.ciphertext)
        }
        for count in 17..<48 {
            try self.refuses(nonce: self.sealed.nonce, ciphertext: Array(self.sealed.ciphertext.prefix(count)))
        }
    }

    private func refuses(nonce: [UInt8], ciphertext: [UInt8]) throws {
        let forged = try SealedSecret(keyEncryptionKeyID: self.wrapping.id, nonce: nonce, ciphertext: ciphertext)
        #expect(throws: SealedSecret.Invalid.notAuthentic) {
            try forged.open(role: "document", publicKey: self.key.publicKey, with: self.wrapping)
        }
    }

    @Test func `a key in another role is refused`() {
        #expect(throws: SealedSecret.Invalid.notAuthentic) {
            try self.sealed.open(role: "checkpoint", publicKey: self.key.publicKey, with: self.wrapping)
        }
    }

    @Test func `a key under another public key is refused`() throws {
        let other = try Ed25519PrivateKey.generate().publicKey
        #expect(throws: SealedSecret.Invalid.notAuthentic) {
            try self.sealed.open(role: "document", publicKey: other, with: self.wrapping)
        }
        // A holder of the key-encryption key can label a seed wrongly; the seed itself shows it.
        let mislabelled = SealedSecret(
            sealing: SecureBytes(copying: hex(rfcSeed)),
            label: SealingLabel(role: "document", publicKey: other),
            with: self.wrapping
        )
        #expect(throws: SealedSecret.Invalid.otherPublicKey) {
            try mislabelled.open(role: "document", publicKey: other, with: self.wrapping)
        }
        let short = SealedSecret(
            sealing: SecureBytes(copying: [1]),
            label: SealingLabel(role: "document", publicKey: other),
            with: self.wrapping
        )
        #expect(throws: SealedSecret.Invalid.malformed) {
            try short.open(role: "document", publicKey: other, with: self.wrapping)
        }
    }

    @Test func `another key-encryption key is refused by name, and by force`() throws {
        let other = try KeyEncryptionKey([UInt8](repeating: 8, count: 32))
        #expect(
            throws: SealedSecret.Invalid.otherKeyEncryptionKey(sealedWith: self.wrapping.id, given: other.id)
        ) {
            try self.sealed.open(role: "document", publicKey: self.key.publicKey, with: other)
        }
        let renamed = try SealedSecret(
            keyEncryptionKeyID: other.id,
            nonce: self.sealed.nonce,
            ciphertext: self.sealed.ciphertext
        )
        #expect(throws: SealedSecret.Invalid.notAuthentic) {
            try renamed.open(role: "document", publicKey: self.key.publicKey, with: other)
        }
    }

    @Test func `a secret sealed with the key-encryption key itself still opens, and is rewrapped`() throws {
        // Made apart, in C: crypto_aead_xchacha20poly1305_ietf_encrypt with 32 bytes of 7, and `"v":1` in the label.
        let old = try SealedSecret(
            keyEncryptionKeyID: self.wrapping.id, nonce: (0..<24).map { UInt8($0) },
            ciphertext: hex(
                "35761a1815e101c59f43cbb3740e83681b9ffd7e6fc55e6883261b828662ebf789421ca55fa04eeedcb91f41e1fa95af"))
        let publicKey = self.key.publicKey
        #expect(
            try old.open(role: "document", publicKey: publicKey, with: self.wrapping).publicKey == publicKey)
        #expect(throws: SealedSecret.Invalid.notAuthentic) {
            try old.open(role: "checkpoint", publicKey: publicKey, with: self.wrapping)
        }
        let newKey = try KeyEncryptionKey([UInt8](repeating: 9, count: 32))
        let label = SealingLabel(role: "document", publicKey: publicKey)
        let rewrapped = try old.rewrapped(label: label, from: self.wrapping, to: newKey)
        #expect(try rewrapped.open(role: "document", publicKey: publicKey, with: newKey).publicKey == publicKey)
    }

    @Test(arguments: [
        SealedSecret.Invalid.otherKeyEncryptionKey(sealedWith: "a", given: "b"), .notAuthentic, .otherPublicKey,
        .malformed,
    ])
    func `a reason for failing to open a secret is a sentence for people`(reason: SealedSecret.Invalid) {
        #expect("\(reason)".hasPrefix("it ") && !"\(reason)".contains("KeyEncryption"))
    }

    @Test func `a rewrapped key opens with the new key only`() throws {
        let newKey = try KeyEncryptionKey([UInt8](repeating: 9, count: 32))
        let label = SealingLabel(role: "document", publicKey: self.key.publicKey)
        let rewrapped = try self.sealed.rewrapped(label: label, from: self.wrapping, to: newKey)
        #expect(rewrapped.keyEncryptionKeyID == newKey.id)
        #expect(rewrapped.nonce != self.sealed.nonce)
        let opened = try rewrapped.open(role: "document", publicKey: self.key.publicKey, with: newKey)
        #expect(opened.publicKey == self.key.publicKey)
        #expect(throws: SealedSecret.Invalid.self) {
            try rewrapped.open(role: "document", publicKey: self.key.publicKey, with: self.wrapping)
        }
    }

    @Test func `the stored form of a secret is read back, and a defective one is refused`() throws {
        #expect(try SealedSecret(JSON(parsing: self.sealed.json.canonicalBytes)) == self.sealed)
        guard case .object(let members) = self.sealed.json else { return }
        for name in members.keys {
            var changed = members
            changed[name] = nil
            #expect(throws: SealedSecret.Invalid.malformed) { try SealedSecret(.object(changed)) }
        }
        #expect(throws: SealedSecret.Invalid.malformed) {
            try SealedSecret(keyEncryptionKeyID: "", nonce: [], ciphertext: self.sealed.ciphertext)
        }
        #expect(throws: SealedSecret.Invalid.malformed) {
            try SealedSecret(keyEncryptionKeyID: "", nonce: self.sealed.nonce, ciphertext: Random.bytes(16))
        }
    }
}

@Suite struct `Key-encryption keys` {
    static let bytes = (0..<32).map { UInt8($0) }

    @Test func `the id of a key-encryption key is the documented hash`() throws {
        let expected = Hex.encode(sha256(Array("pinledger/kek/v1".utf8) + Self.bytes).prefix(8))
        #expect(try KeyEncryptionKey(Self.bytes).id == expected)
        #expect(expected.count == 16)
    }

    @Test func `each use has a key of its own, derived by HKDF`() throws {
        let key = try KeyEncryptionKey(Self.bytes)
        // Computed apart: openssl kdf -keylen 32 -kdfopt digest:SHA256 -kdfopt hexkey:… -kdfopt info:… HKDF
        let expected = SecureBytes(
            copying: hex("efc88ebe1332f699ae1f4ea8def6562ce7ce9581ec3484de7493bcea73a20410"))
        #expect(key.derived(for: "seal").isEqual(to: expected))
        #expect(!key.derived(for: "seal").isEqual(to: key.derived(for: "authenticate/snapshot")))
        // And HMAC-SHA-256 under such a key, by Python's hmac.
        let tag = hex("93ae9906fb17b858af65b47adaec016e81e84f4c8c17eb3f5cccb49a338f17a7")
        #expect(key.authenticate(Array("message".utf8), for: "snapshot") == tag)
        #expect(key.authenticate(Array("message".utf8), for: "other") != tag)
    }

    @Test(arguments: [
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        "000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n",
        "  000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f \r\n",
    ])
    func `a key file in base64 or hexadecimal is read`(text: String) throws {
        #expect(try KeyEncryptionKey(text: text.utf8).id == KeyEncryptionKey(Self.bytes).id)
    }

    @Test(arguments: [
        "", " ", "secret",
        // Hexadecimal: too short, too long, not hexadecimal.
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20",
        "g00102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        // Base64: no padding, stray bits, 31 bytes, the other alphabet.
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9=",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg==",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh_=",
    ])
    func `a key file with anything else is refused`(text: String) {
        #expect(throws: KeyEncryptionKey.Invalid.malformedText) { try KeyEncryptionKey(text: text.utf8) }
    }

    @Test(arguments: [UInt8(0x80), 0xC3, 0xFF])
    func `a key file with an octet beyond ASCII is refused, wherever it stands`(octet: UInt8) {
        let text = Array("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=".utf8)
        for place in text.indices {
            var changed = text
            changed[place] = octet
            #expect(throws: KeyEncryptionKey.Invalid.malformedText) { try KeyEncryptionKey(text: changed) }
        }
    }

    @Test func `a key of another length is refused`() {
        for count in [0, 16, 31, 33] {
            #expect(throws: KeyEncryptionKey.Invalid.wrongLength(count)) {
                try KeyEncryptionKey([UInt8](repeating: 1, count: count))
            }
        }
    }
}
