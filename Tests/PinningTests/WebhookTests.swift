import PinWire
import Pinning
import Testing

@Suite struct `Webhooks of the ledger` {
    private let settings = WebhookSettings(url: webhookURL("https://hooks.example.com/a"))

    private func state(_ commands: [WebhookCommand], at now: Timestamp = noon) throws -> Pinning.Webhooks {
        var state = Pinning.Webhooks()
        for command in commands {
            for event in try state.decide(command, in: context(at: now)) { state.evolve(event, at: now) }
        }
        return state
    }

    private var created: WebhookCommand { .create(id: "whk_1", self.settings, secretID: "whs_1") }

    @Test func `webhooks exist from their creation to their removal`() throws {
        let state = try self.state([self.created])
        let hook = try #require(state.hooks["whk_1"])
        #expect(hook.settings == self.settings && hook.createdAt == noon && hook.createdVersion == 1 && !hook.isPaused)
        #expect(throws: Refusal.webhookExists("whk_1")) { try state.decide(self.created, in: context()) }
        let gone = try self.state([self.created, .remove(id: "whk_1")])
        #expect(gone.hooks.isEmpty && gone.version == 2)
        for command: WebhookCommand in [
            .remove(id: "whk_1"), .pause(id: "whk_1", .gone), .rotateSecret(id: "whk_1", secretID: "whs_2"),
            .change(id: "whk_1", WebhookChange()),
        ] {
            #expect(throws: Refusal.webhookUnknown("whk_1")) { try gone.decide(command, in: context()) }
        }
    }

    @Test func `webhooks are changed in the named settings, and in nothing else`() throws {
        let state = try self.state([
            .create(
                id: "whk_1",
                WebhookSettings(
                    url: webhookURL("https://a.example/"), types: ["PinRevoked"], apps: [shop], description: "d"),
                secretID: "whs_1")
        ])
        #expect(try state.decide(.change(id: "whk_1", WebhookChange()), in: context()) == [])
        var change = WebhookChange()
        change.types = []
        change.description = .some(nil)
        change.isPaused = true
        let expected = WebhookSettings(url: webhookURL("https://a.example/"), apps: [shop])
        #expect(
            try state.decide(.change(id: "whk_1", change), in: context())
                == [.changed(id: "whk_1", expected), .paused(id: "whk_1", .requested)])
    }

    @Test func `webhooks are paused and resumed once`() throws {
        var (pause, resume) = (WebhookChange(), WebhookChange())
        (pause.isPaused, resume.isPaused) = (true, false)
        let active = try self.state([self.created])
        #expect(try active.decide(.change(id: "whk_1", resume), in: context()) == [])
        let paused = try self.state([self.created, .pause(id: "whk_1", .failing)])
        #expect(paused.hooks["whk_1"]?.pause == .failing && paused.hooks["whk_1"]?.pausedAt == noon)
        #expect(try paused.decide(.pause(id: "whk_1", .gone), in: context()) == [])
        #expect(try paused.decide(.change(id: "whk_1", pause), in: context()) == [])
        let resumed = try self.state([self.created, .pause(id: "whk_1", .gone), .change(id: "whk_1", resume)])
        #expect(resumed.hooks["whk_1"]?.isPaused == false && resumed.hooks["whk_1"]?.resumedAt == noon)
    }

    @Test func `webhooks sign with the old secret beside the new one for a day`() throws {
        var state = try self.state([self.created])
        let later = noon.adding(seconds: 10)
        state.evolve(.secretRotated(id: "whk_1", secretID: "whs_2"), at: later)
        let hook = try #require(state.hooks["whk_1"])
        #expect(hook.secretIDs(at: later) == ["whs_2", "whs_1"])
        #expect(hook.secretIDs(at: later.adding(seconds: 86_399)) == ["whs_2", "whs_1"])
        #expect(hook.secretIDs(at: later.adding(seconds: 86_400)) == ["whs_2"])
        state.evolve(.secretRotated(id: "whk_1", secretID: "whs_3"), at: later.adding(seconds: 1))
        let twice = try #require(state.hooks["whk_1"])
        #expect(twice.secretRotatedAt == later.adding(seconds: 1))
        // The promised day counts for each of them, also where one answer was lost and the secret rotated again.
        #expect(twice.secretIDs(at: later.adding(seconds: 2)) == ["whs_3", "whs_2", "whs_1"])
        #expect(twice.secretIDs(at: later.adding(seconds: 86_400)) == ["whs_3", "whs_2"])
        #expect(twice.secretIDs(at: later.adding(seconds: 86_401)) == ["whs_3"])
    }

    @Test func `webhooks sign with four replaced secrets at the most`() throws {
        var state = try self.state([self.created])
        for number in 2...9 { state.evolve(.secretRotated(id: "whk_1", secretID: "whs_\(number)"), at: noon) }
        let hook = try #require(state.hooks["whk_1"])
        #expect(hook.secretIDs(at: noon) == ["whs_9", "whs_8", "whs_7", "whs_6", "whs_5"])
        // What signs no more is not kept.
        state.evolve(.secretRotated(id: "whk_1", secretID: "whs_10"), at: noon.adding(seconds: 86_400))
        #expect(state.hooks["whk_1"]?.replacedSecrets.map(\.id) == ["whs_9"])
    }

    @Test func `webhooks are shown without any secret`() throws {
        let state = try self.state([self.created, .rotateSecret(id: "whk_1", secretID: "whs_2")])
        let text = try #require(state.hooks["whk_1"]).json.canonicalText
        #expect(!text.contains("whs_") && text.contains("secret_rotated_at"))
    }

    @Test func `a ledger has fifty webhooks at the most`() throws {
        let many = (0..<50).map { WebhookCommand.create(id: "whk_\($0)", self.settings, secretID: "whs_\($0)") }
        let state = try self.state(many)
        #expect(throws: Refusal.tooManyWebhooks(limit: 50)) {
            try state.decide(.create(id: "whk_50", self.settings, secretID: "whs_50"), in: context())
        }
    }
}

@Suite struct `The URL of a webhook` {
    @Test(arguments: [
        ("https://hooks.example.com/a?b=c", "hooks.example.com", 443, "/a?b=c", "hooks.example.com"),
        ("https://hooks.example.com", "hooks.example.com", 443, "/", "hooks.example.com"),
        ("https://hooks.example.com?b", "hooks.example.com", 443, "/?b", "hooks.example.com"),
        ("HTTPS://Hooks.Example.COM:8443/A", "hooks.example.com", 8443, "/A", "hooks.example.com:8443"),
        ("http://hooks.example.com:80/", "hooks.example.com", 80, "/", "hooks.example.com"),
        ("https://192.0.2.1:444/", "192.0.2.1", 444, "/", "192.0.2.1:444"),
        ("https://[2001:DB8::1]/x", "2001:db8::1", 443, "/x", "[2001:db8::1]"),
        ("https://[::ffff:192.0.2.1]:8443/", "::ffff:192.0.2.1", 8443, "/", "[::ffff:192.0.2.1]:8443"),
        (
            "https://a_b.xn--bcher-kva.example/%20", "a_b.xn--bcher-kva.example", 443, "/%20",
            "a_b.xn--bcher-kva.example"
        ),
    ])
    func `the URL of a webhook says where to connect to and what to ask for`(
        text: String, host: String, port: Int, target: String, authority: String
    ) throws {
        let url = try OutgoingURL(text)
        #expect(url.host == host && url.port == port && url.target == target && url.authority == authority)
        #expect(try OutgoingURL(url.text) == url)
    }

    @Test(arguments: [
        "", "https://", "hooks.example.com", "ftp://hooks.example.com/", "https:/hooks.example.com",
        "//hooks.example.com",
        "https://user@hooks.example.com/", "https://user:secret@hooks.example.com/", "https://hooks.example.com/#a",
        "https://hooks.example.com/a b", "https://hooks.example.com/ä", "https://bücher.example/",
        "https://hooks.example.com:0/", "https://hooks.example.com:65536/", "https://hooks.example.com:/",
        "https://hooks.example.com:+1/", "https://hooks..example.com/", "https://.example.com/",
        "https://example.com./",
        "https://-a.example/", "https://a-.example/", "https://127.1/", "https://2130706433/", "https://0x7f000001/",
        "https://0177.0.0.1/", "https://127.0.0.01/", "https://1.2.3.4.5/", "https://256.0.0.1/", "https://a.0x1/",
        "https://[::1/", "https://::1/", "https://[::1%25lo]/", "https://[1:2:3:4:5:6:7]/", "https://[1::2::3]/",
        "https://[1:2:3:4:5:6:7:8:9]/", "https://[12345::]/", "https://[1:2:3:4:5:6:7::8]/", "https://[]/",
        "https://a\\b.example/", "https://a.example/{x}", "https://a.example/\"", "https://a.example\n/",
        "https://hooks.example.com/" + String(repeating: "a", count: 2030),
    ])
    func `the URL of a webhook is refused where it could mean another place`(text: String) {
        #expect(throws: OutgoingURL.Malformed.self) { try OutgoingURL(text) }
    }
}
