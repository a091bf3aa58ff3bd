import Keys
import PinWire
import Pinning
import Testing
import Webhooks

@Suite struct `A webhook's signature` {
    /// The example of the Standard Webhooks libraries.
    @Test func `a webhook's signature is that of the convention's own example`() throws {
        let secret = try WebhookSecret(parsing: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        let signature = secret.signature(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330, body: Array(#"{"test": 2432232314}"#.utf8)
        )
        #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test func `a webhook's signature is an HMAC of id, time and body`() throws {
        let secret = WebhookSecret.generate()
        let key = try #require(Base64.decode(String(secret.revealedText.dropFirst(6))))
        #expect(key.count == 32)
        let expected = hmacSHA256(key: key, Array("a.17.{}".utf8))
        #expect(secret.signature(id: "a", timestamp: 17, body: Array("{}".utf8)) == "v1,\(Base64.encode(expected))")
    }

    @Test(arguments: [
        "", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_AAAA", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS",
    ])
    func `a webhook's signature needs a secret of 24 to 64 bytes`(text: String) {
        #expect(throws: WebhookSecret.Malformed.self) { try WebhookSecret(parsing: text) }
    }

    @Test func `a webhook's signature is made with a secret that shows itself only on purpose`() throws {
        let secret = WebhookSecret.generate()
        var dumped = ""
        dump(secret, to: &dumped)
        #expect(!"\(secret) \(String(reflecting: secret)) \(dumped)".contains(secret.revealedText.dropFirst(6)))
        #expect(try WebhookSecret(parsing: secret.revealedText).revealedText == secret.revealedText)
    }

    @Test func `a webhook's signature is made with a secret that is bound to its webhook at rest`() throws {
        let key = try KeyEncryptionKey(Random.bytes(32))
        let secret = WebhookSecret.generate()
        let sealed = secret.sealed(as: "whs_1", of: "whk_1", with: key)
        let opened = try WebhookSecret(opening: sealed, as: "whs_1", of: "whk_1", with: key)
        #expect(opened.revealedText == secret.revealedText)
        for (id, webhook) in [("whs_2", "whk_1"), ("whs_1", "whk_2")] {
            #expect(throws: SealedSecret.Invalid.notAuthentic) {
                try WebhookSecret(opening: sealed, as: id, of: webhook, with: key)
            }
        }
    }
}

@Suite struct `A webhook's message` {
    private let time = Timestamp(microseconds: 1_770_000_000_250_000)

    @Test func `a webhook's message carries the entry's very bytes, and is the same each time`() throws {
        let entry = Entry(
            position: 42, stream: .fleet, streamVersion: 7, time: self.time, event: .fleet(.killSwitchReleased),
            origin: Origin(actor: .system, reason: try Reason("Grün \"2\""))
        )
        let message = WebhookMessage(webhook: "whk_0123456789abcdef", entry: entry, bytes: entry.bytes, epoch: 0)
        #expect(message.id == "whd_0123456789abcdef_42")
        let json = try JSON(parsing: message.body)
        #expect(json.canonicalBytes == message.body)
        #expect(json["entry"]?.canonicalBytes == entry.bytes)
        #expect(json["id"] == .string(message.id) && json["webhook_id"] == "whk_0123456789abcdef")
        #expect(json["type"] == "FleetKillSwitchReleased" && json["timestamp"] == .string(self.time.rfc3339))
        #expect(message == WebhookMessage(webhook: "whk_0123456789abcdef", entry: entry, bytes: entry.bytes, epoch: 0))
    }

    @Test func `a webhook's test message has no entry and an id of its own`() throws {
        let message = WebhookMessage(testOf: "whk_0123456789abcdef", nonce: "ab", at: self.time)
        #expect(message.id == "whd_0123456789abcdef_test_ab")
        let json = try JSON(parsing: message.body)
        #expect(json.canonicalBytes == message.body && json["entry"] == nil && json["type"] == "WebhookTest")
    }

    @Test func `a webhook's message is signed with every secret, the newest first`() {
        let message = WebhookMessage(testOf: "whk_0123456789abcdef", nonce: "ab", at: self.time)
        let secrets = [WebhookSecret.generate(), .generate()]
        let fields = Dictionary(
            uniqueKeysWithValues: message.fields(signedWith: secrets, at: self.time).map { ($0.name, $0.value) })
        #expect(fields["webhook-id"] == message.id && fields["webhook-timestamp"] == "1770000000")
        let expected = secrets.map { $0.signature(id: message.id, timestamp: 1_770_000_000, body: message.body) }
        #expect(fields["webhook-signature"] == expected.joined(separator: " "))
    }
}
