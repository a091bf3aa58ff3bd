import ClientFormats
import ClientLiterals
import PinWire
import Pinning
import Testing

private typealias Wultra = WultraExamples

/// What requests come to, and that the ledger takes it.
@Suite struct `A command of Wultra's administration` {
    private static let api = Wultra.pattern("api.example.com")
    private static let one = Wultra.certificate(1, "api.example.com")
    private static let two = Wultra.certificate(2, "api.example.com")
    private static let three = Wultra.certificate(3, "api.example.com")
    private static let authority = Wultra.certificate(4, "Issuing", isAuthority: true)

    private static func new(_ certificate: CertificateFacts, _ role: PinRole) -> AppCommand.NewPin {
        AppCommand.NewPin(pin: certificate.key.pin, role: role, evidence: .certificate(certificate))
    }

    private static func state(_ app: App, _ number: Int) -> PinRecord? {
        app.hosts[self.api]?[.baseline]?.pins[Wultra.pin(number)]
    }

    /// The app with its pins' roles and states as given.
    private static func app(
        _ mode: PinMode?, _ pins: [(CertificateFacts, PinRole, PinState)]
    ) -> App {
        var place = Wultra.Place("api.example.com", mode)
        place.certificates = pins.map(\.0)
        var app = Wultra.app(place)
        for (certificate, role, state) in pins {
            app.hosts[self.api]?[.baseline]?.pins[certificate.key.pin]?.role = role
            app.hosts[self.api]?[.baseline]?.pins[certificate.key.pin]?.state = state
        }
        return app
    }

    @Test func `a Wultra command creates an app with the existing texts`() throws {
        let texts = [ClientText(key: "k", language: "en", text: "Hi")]
        let command = try WultraAdminCommand.creating(displayName: "My App", texts: texts)
        #expect(command.commands == [.create(displayName: "My App")])
        #expect(command.settings == ClientSettings(texts: texts) && command.desired.isEmpty)
        #expect(try Wultra.after(nil, command.commands).displayName == "My App")
        #expect((try? Reason(command.reason)) != nil)
    }

    /// As many texts as an app may have.
    private static func texts() throws -> [ClientText] {
        try (1...ClientSettings.ruleLimit).map { number in
            ClientText(key: try TextKey("key \(number)"), language: "en", text: "Hi")
        }
    }

    @Test func `a Wultra command creates no app with more texts than it may have`() throws {
        let more = try Self.texts() + [ClientText(key: "k", language: "en", text: "Hi")]
        let error = #expect(throws: WultraAdminError.self) {
            try WultraAdminCommand.creating(displayName: "My App", texts: more)
        }
        #expect(error?.code == .refused)
    }

    struct Addition: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var mode: PinMode?
        var pins: [(CertificateFacts, PinRole, PinState)]
        var certificate: CertificateFacts
        var commands: [AppCommand]
        var enforces: Bool

        init(
            _ description: String, _ mode: PinMode?, _ pins: [(CertificateFacts, PinRole, PinState)],
            adding certificate: CertificateFacts, _ commands: [AppCommand], enforces: Bool = false
        ) {
            self.testDescription = description
            self.mode = mode
            self.pins = pins
            self.certificate = certificate
            self.commands = commands
            self.enforces = enforces
        }
    }

    private static let renewed = Wultra.certificate(1, "api.example.com", edition: 1)
    static let additions: [Addition] = [
        Addition(
            "the first of a host without any", .reportOnly, [], adding: one,
            [.addPin(api, .baseline, new(one, .primary))]),
        Addition(
            "the second", .reportOnly, [(one, .primary, .active)], adding: two,
            [.addPin(api, .baseline, new(two, .backup))], enforces: true),
        Addition(
            "the third", .enforce, [(one, .primary, .active), (two, .backup, .active)], adding: three,
            [.addPin(api, .baseline, new(three, .backup))]),
        Addition(
            "a third where somebody chose to report only", .reportOnly,
            [(one, .primary, .active), (two, .backup, .active)], adding: three,
            [.addPin(api, .baseline, new(three, .backup))]),
        Addition(
            "a second where somebody switched pinning off", .off, [(one, .primary, .active)], adding: two,
            [.addPin(api, .baseline, new(two, .backup))]),
        Addition(
            "one more of a pinned key", .reportOnly, [(one, .primary, .active)], adding: renewed,
            [.describeKeys([.certificate(renewed)])]),
        Addition(
            "one of a key that is not published yet", .reportOnly, [(one, .primary, .active), (two, .backup, .staged)],
            adding: two, [.describeKeys([.certificate(two)]), .activatePin(api, .baseline, two.key.pin)], enforces: true
        ),
        Addition(
            "one of a key that was retired", .reportOnly, [(one, .primary, .active), (two, .backup, .retired)],
            adding: two, [.addPin(api, .baseline, new(two, .backup))], enforces: true),
        Addition(
            "one where only a backup is left", .reportOnly, [(one, .backup, .active)], adding: two,
            [.addPin(api, .baseline, new(two, .primary))], enforces: true),
        Addition(
            "a second primary one", .reportOnly, [(one, .primary, .active), (two, .primary, .staged)], adding: two,
            [.describeKeys([.certificate(two)]), .activatePin(api, .baseline, two.key.pin)]),
    ]

    @Test(arguments: additions)
    func `a Wultra command adds a certificate`(line: Addition) throws {
        let app = Self.app(line.mode, line.pins)
        let command = try WultraAdminCommand.adding(line.certificate, to: Self.api, of: app)
        #expect(command.commands == line.commands && command.settings == nil)
        #expect(command.desired == (line.enforces ? [.setMode(Self.api, .baseline, .enforce)] : []))
        #expect((try? Reason(command.reason)) != nil)
        let alone = try Wultra.after(app, command.commands)
        #expect(alone.keys[line.certificate.key.pin]?.certificates.contains(line.certificate) == true)
        #expect(alone.hosts[Self.api]?[.baseline]?.mode == line.mode)
        let after = try Wultra.after(app, command.commands + command.desired)
        #expect(after.hosts[Self.api]?[.baseline]?.mode == (line.enforces ? .enforce : line.mode))
    }

    @Test func `a Wultra command adds a missing host, which enforces from its second certificate on`() throws {
        let first = try WultraAdminCommand.adding(Self.one, to: Self.api, of: Wultra.app())
        #expect(
            first.commands == [
                .addHost(Self.api, includesSubdomains: false, mode: .reportOnly, pins: [Self.new(Self.one, .primary)])
            ])
        #expect(first.desired.isEmpty)
        let app = try Wultra.after(Wultra.app(), first.commands)
        #expect(throws: Refusal.tooFewPins(Self.api, .baseline, active: 1)) {
            try Wultra.after(app, [.setMode(Self.api, .baseline, .enforce)])
        }
        // Clients before 2.x pin from now on.
        let entries = WultraInitTemplate(Wultra.view(app), ClientSettings()).entries
        #expect(entries.map(\.fingerprint) == [Self.one.sha256])
        let second = try WultraAdminCommand.adding(Self.two, to: Self.api, of: app)
        let done = try Wultra.after(app, second.commands + second.desired)
        #expect(done.hosts[Self.api]?[.baseline]?.mode == .enforce)
        let again = try WultraAdminCommand.adding(Self.two, to: Self.api, of: done)
        #expect(try Wultra.after(done, again.commands) == done)
    }

    @Test func `a Wultra command adds an authority's certificate with its depth only`() throws {
        let command = try WultraAdminCommand.adding(Self.authority, depth: 1, to: Self.api, of: Wultra.app())
        #expect(command.commands.count == 1)
        for (certificate, depth) in [(Self.authority, nil), (Self.authority, 0), (Self.one, 1)]
            as [(CertificateFacts, Int64?)]
        {
            let error = #expect(throws: WultraAdminError.self) {
                try WultraAdminCommand.adding(certificate, depth: depth, to: Self.api, of: Wultra.app())
            }
            #expect(error?.violations.map(\.field) == ["depth"])
        }
    }

    @Test(arguments: [
        (Wultra.certificate(1, "www.example.com"), false), (Wultra.certificate(1, nil), false),
        (Wultra.certificate(1, "x", dnsNames: ["*.example.com"]), true),
        // By its common name alone, which these clients use.
        (Wultra.certificate(1, "api.example.com", dnsNames: []), true),
    ])
    func `a Wultra command adds a server's certificate to the host that it is for`(
        certificate: CertificateFacts, isTaken: Bool
    ) throws {
        do throws(WultraAdminError) {
            _ = try WultraAdminCommand.adding(certificate, to: Self.api, of: Wultra.app())
            #expect(isTaken)
        } catch {
            #expect(!isTaken && error.code == .refused)
        }
    }

    @Test func `a Wultra command leaves the app's built-in pins alone`() {
        let error = #expect(throws: WultraAdminError.self) {
            try WultraAdminCommand.adding(Self.one, to: Self.api, of: Self.app(nil, []))
        }
        #expect(error?.code == .refused)
    }

    @Test func `a Wultra command deletes a certificate, and another key becomes the primary`() throws {
        let app = Self.app(
            .enforce, [(Self.one, .primary, .active), (Self.two, .emergency, .active), (Self.three, .backup, .active)])
        let command = try WultraAdminCommand.deleting(Self.one.sha256, from: Self.api, of: app, at: Wultra.noon)
        #expect(
            command.commands == [
                .retirePin(Self.api, .baseline, Wultra.pin(1)),
                .setPinRole(Self.api, .baseline, Wultra.pin(3), .primary),
            ])
        let after = try Wultra.after(app, command.commands)
        #expect(Self.state(after, 1)?.state == .retired && Self.state(after, 3)?.role == .primary)
        #expect((try? Reason(command.reason)) != nil)
    }

    @Test func `a Wultra command deletes a backup and leaves the rest`() throws {
        let app = Self.app(.reportOnly, [(Self.one, .primary, .active), (Self.two, .backup, .active)])
        let command = try WultraAdminCommand.deleting(Self.two.sha256, from: Self.api, of: app, at: Wultra.noon)
        #expect(command.commands == [.retirePin(Self.api, .baseline, Wultra.pin(2))])
    }

    @Test func `a Wultra command makes the key primary whose certificate ends first`() throws {
        let early = Wultra.certificate(5, "api.example.com", notAfter: Wultra.noon.adding(seconds: 60))
        let app = Self.app(
            .reportOnly, [(Self.one, .primary, .active), (Self.two, .backup, .active), (early, .backup, .active)])
        let command = try WultraAdminCommand.deleting(Self.one.sha256, from: Self.api, of: app, at: Wultra.noon)
        #expect(command.commands.last == .setPinRole(Self.api, .baseline, Wultra.pin(5), .primary))
    }

    @Test func `the ledger refuses a Wultra command that would leave too little to enforce`() throws {
        let app = Self.app(.enforce, [(Self.one, .primary, .active), (Self.two, .backup, .active)])
        let command = try WultraAdminCommand.deleting(Self.one.sha256, from: Self.api, of: app, at: Wultra.noon)
        #expect(throws: Refusal.tooFewPins(Self.api, .baseline, active: 1)) {
            try Wultra.after(app, command.commands)
        }
    }

    /// The app with what was settled for its clients.
    private static func settled(_ app: App, _ settings: ClientSettings?) -> App {
        var app = app
        if let settings { app.clients[.wultra] = Client(settings: settings) }
        return app
    }

    private static func fingerprints(_ app: App) -> Set<[UInt8]> {
        Set(
            WultraInitTemplate(Wultra.view(app), app.clients[.wultra]?.settings ?? ClientSettings()).entries.map(
                \.fingerprint))
    }

    @Test func `a Wultra command deletes one of two certificates of a key, then the key with the other`() throws {
        let app = Self.app(.reportOnly, [(Self.one, .primary, .active), (Self.renewed, .primary, .active)])
        let first = try WultraAdminCommand.deleting(Self.one.sha256, from: Self.api, of: app, at: Wultra.noon)
        #expect(first.commands.isEmpty)
        let after = Self.settled(app, first.settings)
        #expect(Self.fingerprints(app) == [Self.one.sha256, Self.renewed.sha256])
        #expect(Self.fingerprints(after) == [Self.renewed.sha256])
        let shown = Wultra.text(WultraAdminAnswer.app(after, publicKey: nil, material: [:], at: Wultra.noon))
        #expect(!shown.contains(Base64.encode(Self.one.sha256)) && shown.contains(Base64.encode(Self.renewed.sha256)))
        // Once more is no change.
        let again = try WultraAdminCommand.deleting(Self.one.sha256, from: Self.api, of: after, at: Wultra.noon)
        #expect(again.commands.isEmpty && again.settings == nil)
        // Adding it again restores it.
        let added = try WultraAdminCommand.adding(Self.one, to: Self.api, of: after)
        #expect(Self.fingerprints(Self.settled(after, added.settings)) == [Self.one.sha256, Self.renewed.sha256])
        let last = try WultraAdminCommand.deleting(Self.renewed.sha256, from: Self.api, of: after, at: Wultra.noon)
        #expect(last.commands == [.retirePin(Self.api, .baseline, Wultra.pin(1))])
        #expect(last.settings?.withheld == [])
    }

    @Test func `a Wultra command forgets a deleted certificate when it expires, and remembers a bounded number`() throws
    {
        var app = Self.app(.reportOnly, [(Self.one, .primary, .active), (Self.renewed, .primary, .active)])
        let full = (0..<ClientSettings.ruleLimit).map {
            WithheldCertificate(host: Self.api, sha256: sha256(Array("\($0)".utf8)))
        }
        app = Self.settled(app, ClientSettings(withheld: full.sorted()))
        // None of these is a certificate that is still valid.
        let command = try WultraAdminCommand.deleting(Self.one.sha256, from: Self.api, of: app, at: Wultra.noon)
        #expect(command.settings?.withheld == [WithheldCertificate(host: Self.api, sha256: Self.one.sha256)])
        var settings = ClientSettings()
        for one in full { try settings.withhold(one) }
        #expect(throws: ClientSettings.Malformed.self) {
            try settings.withhold(WithheldCertificate(host: Self.api, sha256: Self.one.sha256))
        }
        let read = try ClientSettings(JSONField(settings.json(of: .wultra)), of: .wultra)
        #expect(read == settings)
    }

    @Test func `a Wultra command deletes nothing of a key whose certificate was replaced when it expired`() throws {
        let old = Wultra.certificate(1, "api.example.com", edition: 2, notAfter: Wultra.noon)
        let replaced = Self.app(.reportOnly, [(Self.one, .primary, .active), (old, .primary, .active)])
        let none = try WultraAdminCommand.deleting(old.sha256, from: Self.api, of: replaced, at: Wultra.noon)
        #expect(none.commands.isEmpty && none.settings == nil)
        let last = try WultraAdminCommand.deleting(Self.one.sha256, from: Self.api, of: replaced, at: Wultra.noon)
        #expect(last.commands == [.retirePin(Self.api, .baseline, Wultra.pin(1))])
    }

    @Test func `a Wultra command succeeds where what it deletes is not there`() throws {
        let app = Self.app(.reportOnly, [(Self.one, .primary, .active), (Self.two, .backup, .retired)])
        for (fingerprint, host) in [
            (Self.two.sha256, Self.api), (Self.three.sha256, Self.api),
            (Self.one.sha256, Wultra.pattern("www.example.com")),
        ] {
            let command = try WultraAdminCommand.deleting(fingerprint, from: host, of: app, at: Wultra.noon)
            #expect(command.commands.isEmpty && command.settings == nil)
        }
        let command = WultraAdminCommand.deletingDomain(Wultra.pattern("www.example.com"), of: app)
        #expect(command.commands.isEmpty && command.settings == nil)
    }

    @Test func `a Wultra command deletes a domain`() throws {
        let app = Self.app(.enforce, [(Self.one, .primary, .active), (Self.two, .backup, .active)])
        let command = WultraAdminCommand.deletingDomain(Self.api, of: app)
        #expect(command.commands == [.removeHost(Self.api)])
        #expect(try Wultra.after(app, command.commands).hosts.isEmpty)
    }

    /// What probes have seen of a host's own service: each key, and how many seconds ago.
    private static func facts(_ seen: [(number: Int, seconds: Int64)]) -> EndpointFacts {
        EndpointFacts(
            chains: seen.enumerated().map { place, one in
                let time = Wultra.noon.adding(seconds: -one.seconds)
                return ObservedChain(
                    pins: [Wultra.pin(one.number)], address: "192.0.2.\(place)", vantage: "here", firstSeen: time,
                    lastSeen: time, isCurrent: true)
            })
    }

    private static func deletingExpired(
        from host: String, of app: App, at now: Timestamp = Wultra.noon, seen: [String: EndpointFacts]
    ) -> (command: WultraAdminCommand, kept: [Pin]) {
        WultraAdminCommand.deletingExpired(from: Wultra.pattern(host), of: app, at: now) { seen[$0.host.text] }
    }

    @Test func `a Wultra command deletes keys whose certificates have all expired and that no service presents`() throws
    {
        let over = Wultra.certificate(6, "a.example.com", notAfter: Wultra.noon)
        let older = Wultra.certificate(1, "a.example.com", edition: 3, notAfter: Wultra.noon.adding(seconds: -60))
        let app = Wultra.app(
            // Its first key has another certificate, its last one none that is valid.
            .init("a.example.com", .enforce, Self.one, older, Self.two, over),
            // It could not go on enforcing.
            .init("b.example.com", .enforce, Self.one, over), .init("c.example.com", .reportOnly, over),
            .init("d.example.com", .enforce, Self.one, Self.two), .init("own.example.com", nil))
        let fresh = Self.facts([(1, 60)])
        let seen = Dictionary(uniqueKeysWithValues: ["a", "b", "c", "d", "own"].map { ("\($0).example.com", fresh) })
        func expect(_ host: String, _ commands: [AppCommand], kept: [Pin] = []) {
            let result = Self.deletingExpired(from: host, of: app, seen: seen)
            #expect(result.command.commands == commands && result.kept == kept, "\(host)")
        }
        expect("a.example.com", [.retirePin(Wultra.pattern("a.example.com"), .baseline, Wultra.pin(6))])
        expect("b.example.com", [], kept: [Wultra.pin(6)])
        expect("c.example.com", [.retirePin(Wultra.pattern("c.example.com"), .baseline, Wultra.pin(6))])
        for host in ["d.example.com", "own.example.com", "nobody.example.com"] { expect(host, []) }
        let before = Self.deletingExpired(
            from: "a.example.com", of: app, at: Wultra.noon.adding(seconds: -1), seen: seen)
        #expect(before.command.commands.isEmpty && before.kept.isEmpty)
    }

    @Test(
        arguments: [
            ("nothing", nil, false), ("what is too long ago", facts([(1, 86_400)]), false),
            ("another key", facts([(1, 86_399)]), true),
            ("the key itself, under a certificate that nobody showed", facts([(6, 60)]), false),
            ("the key at one of its addresses", facts([(1, 60), (6, 60)]), false),
            ("the key at an address that has been silent for a day", facts([(1, 60), (6, 90_000)]), false),
            ("the key at an address that has been silent for a week", facts([(1, 60), (6, 604_800)]), true),
        ] as [(String, EndpointFacts?, Bool)])
    func `a Wultra command keeps an expired key unless probes have seen all of the host without it`(
        what: String, facts: EndpointFacts?, isDeleted: Bool
    ) {
        let over = Wultra.certificate(6, "api.example.com", notAfter: Wultra.noon)
        let app = Self.app(
            .enforce, [(Self.one, .primary, .active), (Self.two, .backup, .active), (over, .backup, .active)])
        let seen = facts.map { ["api.example.com": $0] } ?? [:]
        let result = Self.deletingExpired(from: "api.example.com", of: app, seen: seen)
        #expect(
            result.command.commands == (isDeleted ? [.retirePin(Self.api, .baseline, Wultra.pin(6))] : []),
            "seen: \(what)")
        #expect(result.kept == (isDeleted ? [] : [Wultra.pin(6)]), "seen: \(what)")
    }

    @Test func `a Wultra command keeps expired keys of names that no probe examines`() throws {
        let over = Wultra.certificate(6, "api.example.com", notAfter: Wultra.noon)
        var app = Self.app(
            .enforce, [(Self.one, .primary, .active), (Self.two, .backup, .active), (over, .backup, .active)])
        let seen = ["api.example.com": Self.facts([(1, 60)]), "www.example.com": Self.facts([(1, 60)])]
        app.hosts[Self.api]?.includesSubdomains = true
        #expect(Self.deletingExpired(from: "api.example.com", of: app, seen: seen).kept == [Wultra.pin(6)])
        app.hosts[Self.api]?.endpoints = [try Endpoint("api.example.com:443"), try Endpoint("www.example.com:443")]
        #expect(Self.deletingExpired(from: "api.example.com", of: app, seen: seen).kept.isEmpty)
        app.hosts[Self.api]?.endpoints?.append(try Endpoint("new.example.com:443"))
        #expect(Self.deletingExpired(from: "api.example.com", of: app, seen: seen).kept == [Wultra.pin(6)])
        app.hosts[Self.api]?.endpoints = []
        #expect(Self.deletingExpired(from: "api.example.com", of: app, seen: seen).kept == [Wultra.pin(6)])
        app.hosts[Wultra.pattern("*.example.com")] = app.hosts[Self.api]
        app.hosts[Wultra.pattern("*.example.com")]?.includesSubdomains = false
        app.hosts[Wultra.pattern("*.example.com")]?.endpoints = nil
        #expect(Self.deletingExpired(from: "*.example.com", of: app, seen: seen).kept == [Wultra.pin(6)])
    }

    @Test func `a Wultra command gives a version rule an id that no other had`() throws {
        var app = Wultra.app()
        app.version = 7
        let rule = ClientVersionRule(id: 0, platform: .ios, requiredVersion: "2.0.0")
        let command = try WultraAdminCommand.adding(rule, to: ClientSettings(), of: app)
        let settings = try #require(command.settings)
        #expect(settings.versionRules.map(\.id) == [8] && command.commands.isEmpty)
        let error = #expect(throws: WultraAdminError.self) {
            try WultraAdminCommand.adding(rule, to: settings, of: app)
        }
        #expect(error?.code == .malformed)
        var other = rule
        other.majorOSVersion = 12
        #expect(try WultraAdminCommand.adding(other, to: settings, of: app).settings?.versionRules.last?.id == 9)
        #expect(WultraAdminCommand.deletingVersionRule(8, from: settings).settings?.versionRules == [])
        #expect(WultraAdminCommand.deletingVersionRule(9, from: settings).settings == nil)
    }

    @Test func `a Wultra command adds no more version rules than an app may have`() throws {
        var settings = ClientSettings()
        for id in 1...Int64(ClientSettings.ruleLimit - 1) {
            try settings.add(ClientVersionRule(id: id, platform: .ios, majorOSVersion: id, requiredVersion: "2.0.0"))
        }
        let rule = ClientVersionRule(id: 0, platform: .android, requiredVersion: "2.0.0")
        let added = try WultraAdminCommand.adding(rule, to: settings, of: Wultra.app())
        settings = try #require(added.settings)
        #expect(settings.versionRules.last?.id == Int64(ClientSettings.ruleLimit))
        var further = rule
        further.majorOSVersion = 14
        let error = #expect(throws: WultraAdminError.self) {
            try WultraAdminCommand.adding(further, to: settings, of: Wultra.app())
        }
        #expect(error?.code == .refused)
    }

    @Test func `a Wultra command gives no id that could not be read again`() throws {
        var settings = ClientSettings()
        try settings.add(ClientVersionRule(id: JSON.largestInteger, platform: .ios, requiredVersion: "2.0.0"))
        let rule = ClientVersionRule(id: 0, platform: .android, requiredVersion: "2.0.0")
        let error = #expect(throws: WultraAdminError.self) {
            try WultraAdminCommand.adding(rule, to: settings, of: Wultra.app())
        }
        #expect(error?.code == .refused)
    }

    @Test func `a Wultra command sets and deletes texts, which belong to all apps`() throws {
        let (en, cs) = (
            ClientText(key: "k", language: "en", text: "Hi"), ClientText(key: "k", language: "cs", text: "Ahoj")
        )
        let both = try WultraAdminCommand.setting(cs, in: ClientSettings(ttlSeconds: 7, texts: [en]))
        #expect(both.settings == ClientSettings(ttlSeconds: 7, texts: [cs, en]) && both.commands.isEmpty)
        let changed = ClientText(key: "k", language: "en", text: "Hello")
        let set = try WultraAdminCommand.setting(changed, in: ClientSettings(texts: [cs, en]))
        #expect(set.settings?.texts == [cs, changed])
        let all = [ClientSettings(texts: [en]), ClientSettings(texts: [changed, cs])]
        #expect(WultraAdminCommand.texts(of: all) == [cs, en])
        #expect(WultraAdminCommand.deletingText("k", "en", from: all[1]).settings?.texts == [cs])
        #expect(WultraAdminCommand.deletingText("k", "de", from: all[1]).settings == nil)
        // Another text takes no one's place, and of as many as may be there is no room for it.
        let full = ClientSettings(texts: try Self.texts())
        #expect(throws: WultraAdminError.self) { try WultraAdminCommand.setting(en, in: full) }
        let changedAgain = ClientText(key: "key 7", language: "en", text: "Hello")
        #expect(try WultraAdminCommand.setting(changedAgain, in: full).settings?.texts.count == full.texts.count)
    }
}
