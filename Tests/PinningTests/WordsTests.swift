import PinWire
import Pinning
import Testing

/// Reasons, notes, names and the names of streams.
@Suite struct `Words` {
    @Test(arguments: [
        "w", "Schlüssel verloren", "鍵を紛失", "a b", " a ", "😀", "e\u{301}", String(repeating: "é", count: 1000),
    ])
    func `a reason is plain text`(text: String) throws {
        #expect(try Reason(text).text == text)
        #expect(try Reason(text).description == text)
    }

    @Test(arguments: [
        "", " ", "\t", "\u{A0}\u{3000}", "a\nb", "a\0", "\u{7F}", "\u{85}", "a\u{202E}b", "a\u{200B}b", "\u{FEFF}a",
        "a\u{2028}b",
        "\u{E000}", "a\u{AD}b", "\u{FFFE}", String(repeating: "a", count: 1001),
        String(repeating: "a", count: 1_000_000),
        "a" + String(repeating: "\u{301}", count: 3000),
    ])
    func `a reason that hides, reorders or fills is refused`(text: String) {
        #expect(throws: Reason.Malformed.self) { try Reason(text) }
        #expect(!PlainText.isAcceptable(text, atMost: 1000))
    }

    @Test func `plain text in a field has a limit of its own`() throws {
        #expect(try JSONField("abc").plainText(atMost: 3) == "abc")
        #expect(throws: JSONDefect.self) { try JSONField("abcd").plainText(atMost: 3) }
        #expect(throws: JSONDefect.self) { try JSONField(3).plainText(atMost: 3) }
    }

    @Test func `a stream's name leads back to it`() {
        for stream: StreamID in [.app(shop), .app(appID("fleet")), .watch(shop), .fleet, .keys, .access, .webhooks] {
            #expect(StreamID(text: stream.text) == stream)
            #expect(stream.description == stream.text)
        }
        #expect(StreamID.app(shop).text == "app/com.example.shop" && StreamID.app(shop).app == shop)
        #expect(StreamID.watch(shop).text == "watch/com.example.shop" && StreamID.watch(shop).app == shop)
        #expect(StreamID.fleet.app == nil)
        for text in [
            "", "app", "app/", "app/../x", "apps/x", "App/x", "fleet/", "Fleet", "keys ", "change/1", "app/a/b",
            "watch", "watch/", "watch/a/b",
        ] {
            #expect(StreamID(text: text) == nil)
        }
    }

    @Test func `a command changes the stream it is about`() {
        #expect(Command.app(shop, []).stream == .app(shop))
        #expect(Command.fleet(.releaseKillSwitch).stream == .fleet)
        #expect(Command.keys(.retire(kid: "k")).stream == .keys)
        #expect(Command.access(.revokeToken(id: "t")).stream == .access)
        #expect(Command.webhooks(.remove(id: "w")).stream == .webhooks)
    }

    @Test(arguments: Actor.Kind.allCases) func `an actor is read back`(kind: Actor.Kind) throws {
        let actor = Actor(kind: kind, id: "id", name: "Ann \"A\"")
        #expect(try Actor(JSONField(actor.json)) == actor)
        #expect(Actor.system.json.canonicalText == #"{"id":"pinledger","kind":"system","name":"Pinledger"}"#)
    }
}
