import PinWire
import Pinning
import Testing

@Suite struct `Clients of an app` {
    private func key(_ byte: UInt8, _ algorithm: ClientKeyAlgorithm = .es256) -> ClientKey {
        ClientKey(algorithm: algorithm, publicKey: [byte])
    }

    /// The app after commands that are each insisted on, and the last one's events.
    private func after(_ commands: [AppCommand]) throws -> (app: App, events: [Event]) {
        var state = LedgerState()
        var events: [Event] = []
        for command in [.create(displayName: "Shop")] + commands {
            events = try state.decide(.app(shop, [command]), in: context("why", isForced: true)).events
            for event in events { _ = state.apply(event, of: .app(shop), at: noon) }
        }
        return (try #require(state.apps[shop]), events)
    }

    @Test func `clients of an app are declared with settings, which are recorded once`() throws {
        let settings = ClientSettings(ttlSeconds: 600)
        let (app, _) = try self.after([.setClient(.dynapins, settings)])
        #expect(app.clients[.dynapins]?.settings == settings)
        #expect(try self.after([.setClient(.dynapins, settings), .setClient(.dynapins, settings)]).events.isEmpty)
        #expect(try self.after([.setClient(.dynapins, settings), .removeClient(.dynapins)]).app.clients.isEmpty)
    }

    @Test func `clients of an app keep their key when settings change, and lose it with their declaration`() throws {
        let first: [AppCommand] = [.setClient(.wultra, ClientSettings()), .setClientKey(.wultra, self.key(1))]
        let changed = try self.after(first + [.setClient(.wultra, ClientSettings(entryDays: 9))]).app
        #expect(changed.clients[.wultra]?.key == self.key(1))
        let anew = try self.after(first + [.removeClient(.wultra), .setClient(.wultra, ClientSettings())]).app
        #expect(anew.clients[.wultra] == Client(settings: ClientSettings(), key: nil))
    }

    @Test func `clients of an app get another key only with force`() throws {
        let commands: [AppCommand] = [.setClient(.wultra, ClientSettings()), .setClientKey(.wultra, self.key(1))]
        #expect(try self.after(commands + [.setClientKey(.wultra, self.key(1))]).events.isEmpty)
        let replaced = try self.after(commands + [.setClientKey(.wultra, self.key(2))]).app
        #expect(replaced.clients[.wultra]?.key == self.key(2))
        let app = try self.after(commands).app
        #expect(throws: Refusal.clientKeyInUse(.wultra)) {
            try App.decide([.setClientKey(.wultra, self.key(2))], app, id: shop, in: context("why"))
        }
    }

    @Test func `clients of an app are removed without force only while they have no key`() throws {
        let declared = try self.after([.setClient(.wultra, ClientSettings())]).app
        #expect(
            try App.decide([.removeClient(.wultra)], declared, id: shop, in: context()) == [.clientRemoved(.wultra)])
        let keyed = try self.after([.setClient(.wultra, ClientSettings()), .setClientKey(.wultra, self.key(1))]).app
        #expect(throws: Refusal.clientKeyInUse(.wultra)) {
            try App.decide([.removeClient(.wultra)], keyed, id: shop, in: context("why"))
        }
    }

    @Test func `clients of an app do not change to a protocol that their key does not fit`() throws {
        let app = try self.after([
            .setClient(.dynapins, ClientSettings(dynapins: .es256)), .setClientKey(.dynapins, self.key(1)),
        ]).app
        #expect(throws: Refusal.clientKeyUnfit(.dynapins, .es256)) {
            try App.decide(
                [.setClient(.dynapins, ClientSettings(dynapins: .ed25519))], app, id: shop,
                in: context("why", isForced: true))
        }
    }

    @Test func `clients of an app name a Firebase project, and one app of it, only where there is one`() throws {
        let text =
            #"{"firebase_app":"1:12:ios:0a","firebase_project":"shop-prod","hash":"spki","parameter":"pins","schema":"simple"}"#
        let settings = try ClientSettings(JSONField(try JSON(text: text)), of: .remoteConfig)
        #expect(settings.firebaseProject == "shop-prod" && settings.firebaseApp?.text == "1:12:ios:0a")
        #expect(settings.json(of: .remoteConfig).canonicalText == text)
        #expect(
            ClientSettings().json(of: .remoteConfig).canonicalText
                == #"{"hash":"spki","parameter":"ssl_pinning_config","schema":"advanced"}"#)
    }

    @Test(arguments: [
        "", "1:1:ios:a' || app.id != '", "a b", "1:1:ios:\u{e4}", "1:1:windows:aa", "1:1:ios", "x:1:ios:aa",
        "1:1:ios:AA",
        "1:1:ios:\(String(repeating: "a", count: 73))",
    ])
    func `clients of an app name no Firebase app by a malformed id`(text: String) {
        #expect(throws: FirebaseAppID.Malformed.self) { try FirebaseAppID(text) }
    }

    /// What the other app has, what this one wants, and whether that may be.
    @Test(
        arguments: [
            ((nil, "pins"), (nil, "pins"), false), ((nil, "pins"), ("1:1:ios:aa", "pins"), false),
            (("1:1:ios:aa", "pins"), ("1:1:ios:aa", "pins"), false),
            (("1:1:ios:aa", "pins"), ("1:1:ios:bb", "pins"), true), ((nil, "pins"), (nil, "pins_2"), true),
            (("1:1:ios:aa", "pins"), ("1:1:ios:aa", "pins_2"), true),
        ] as [((String?, String), (String?, String), Bool)])
    func `clients of an app do not write a parameter of a project that another app's write`(
        first: (String?, String), second: (String?, String), isTaken: Bool
    ) throws {
        let till = try AppID("com.example.till")
        func settings(_ place: (String?, String), project: String = "shop-prod") throws -> ClientSettings {
            ClientSettings(
                parameter: place.1, firebaseProject: project, firebaseApp: try place.0.map(FirebaseAppID.init(_:)))
        }
        var state = LedgerState()
        func decide(_ app: AppID, _ settings: ClientSettings) throws -> [Event] {
            try state.decide(.app(app, [.setClient(.remoteConfig, settings)]), in: context()).events
        }
        func apply(_ events: [Event], _ app: AppID) {
            for event in events { _ = state.apply(event, of: .app(app), at: noon) }
        }
        for app in [shop, till] {
            apply(try state.decide(.app(app, [.create(displayName: "A")]), in: context()).events, app)
        }
        apply(try decide(till, settings(first)), till)
        // In another project no app blocks it.
        #expect(try !decide(shop, settings(second, project: "shop-test")).isEmpty)
        if isTaken {
            #expect(try !decide(shop, settings(second)).isEmpty)
        } else {
            let refusal = Refusal.firebaseParameterTaken(till, parameter: second.1, project: "shop-prod")
            #expect(throws: refusal) { try decide(shop, settings(second)) }
        }
        // Its own place is left to it, whatever else of its settings changes.
        var other = try settings(first)
        other.hash = .rawKey
        #expect(try !decide(till, other).isEmpty)
    }

    @Test(arguments: [
        (ClientKind.dynapins, #"{"ttl_seconds":59}"#, "/ttl_seconds"),
        (.dynapins, #"{"schema":"simple"}"#, "/schema"),
        (.wultra, #"{"entry_days":0}"#, "/entry_days"),
        (.wultra, #"{"version_rules":[{"id":1,"platform":"ios"}]}"#, "/version_rules/0/platform"),
        (.wultra, #"{"version_rules":[{"id":1,"platform":"IOS"},{"id":1,"platform":"IOS"}]}"#, "/version_rules/1"),
        (
            .wultra, #"{"version_rules":[{"id":1,"platform":"IOS","required_version":"3.1"}]}"#,
            "/version_rules/0/required_version"
        ),
        (.wultra, #"{"texts":[{"message_key":"a","language":"EN","text":"x"}]}"#, "/texts/0/language"),
        (.remoteConfig, #"{"parameter":"1st"}"#, "/parameter"),
        (.remoteConfig, #"{"parameter":""}"#, "/parameter"),
        (.remoteConfig, #"{"parameter":"a-b"}"#, "/parameter"),
        (.remoteConfig, #"{"parameter":"a b"}"#, "/parameter"),
        (.remoteConfig, #"{"parameter":"a.b"}"#, "/parameter"),
        (.remoteConfig, #"{"parameter":"é"}"#, "/parameter"),
        (.remoteConfig, #"{"parameter":"\#(String(repeating: "a", count: 257))"}"#, "/parameter"),
        (.remoteConfig, #"{"hash":"sha1"}"#, "/hash"),
        (.dynapins, #"{"hash":"spki"}"#, "/hash"),
        (.remoteConfig, #"{"firebase_project":"prod"}"#, "/firebase_project"),
        (.remoteConfig, #"{"firebase_app":"1:1:ios:"}"#, "/firebase_app"),
        (.curl, #"{"ttl_seconds":60}"#, "/ttl_seconds"),
    ])
    func `clients of an app have no settings without an effect`(kind: ClientKind, text: String, pointer: String) throws
    {
        let json = try JSON(parsing: Array(text.utf8))
        let defect = #expect(throws: JSONDefect.self) { try ClientSettings(JSONField(json), of: kind) }
        #expect(defect?.pointer.description == pointer)
    }

    /// As they were recorded before there were several hashes.
    @Test(arguments: [#"{"parameter":"pins_2","schema":"simple"}"#, "{}"])
    func `clients of a remote configuration hash the SubjectPublicKeyInfo unless set otherwise`(text: String) throws {
        let settings = try ClientSettings(JSONField(JSON(parsing: Array(text.utf8))), of: .remoteConfig)
        #expect(settings.hash == .spki)
        #expect(settings.json(of: .remoteConfig)["hash"] == "spki")
        let raw = try ClientSettings(JSONField(["hash": "raw_key"]), of: .remoteConfig)
        #expect(raw == ClientSettings(hash: .rawKey))
        #expect(try ClientSettings(JSONField(raw.json(of: .remoteConfig)), of: .remoteConfig) == raw)
    }
}
