import ClientFormats
import PinWire
import Pinning
import Testing

private typealias Wultra = WultraExamples

@Suite struct `An answer to Wultra's clients` {
    private static let modern = ClientSettings(understandsDomains: true)

    private func entries(_ app: App, _ settings: ClientSettings = ClientSettings()) -> [WultraEntry] {
        WultraInitTemplate(Wultra.view(app), settings).entries
    }

    private func domains(_ template: WultraInitTemplate) throws -> JSON? {
        try JSON(parsing: template.body(at: Wultra.noon))["domainsConfig"]
    }

    @Test func `an answer to Wultra's clients has an entry for every certificate of every pin`() {
        let one = Wultra.certificate(1, "api.example.com")
        let renewed = Wultra.certificate(1, "api.example.com", edition: 1, notAfter: Wultra.end.adding(seconds: 1))
        let backup = Wultra.certificate(2, "api.example.com")
        let other = Wultra.certificate(3, "*.example.org", dnsNames: ["*.example.org"])
        let app = Wultra.app(
            .init("api.example.com", .enforce, one, renewed, backup), .init("www.example.org", .enforce, other))
        let expected = [
            WultraEntry(name: "api.example.com", fingerprint: renewed.sha256, expires: 4_102_444_801),
            WultraEntry(name: "api.example.com", fingerprint: one.sha256, expires: 4_102_444_800),
            WultraEntry(name: "api.example.com", fingerprint: backup.sha256, expires: 4_102_444_800),
            WultraEntry(name: "*.example.org", fingerprint: other.sha256, expires: 4_102_444_800),
            WultraEntry(name: "www.example.org", fingerprint: other.sha256, expires: 4_102_444_800),
        ]
        #expect(self.entries(app) == expected)
    }

    @Test func `an answer to Wultra's clients has the served key first`() {
        let (one, two) = (Wultra.certificate(1, "api.example.com"), Wultra.certificate(2, "api.example.com"))
        let app = Wultra.app(.init("api.example.com", .enforce, one, two))
        let view = Wultra.view(app, served: [Wultra.pattern("api.example.com"): [Wultra.pin(2)]])
        let entries = WultraInitTemplate(view, ClientSettings()).entries
        #expect(entries.map(\.fingerprint) == [two.sha256, one.sha256])
    }

    @Test func `an answer to Wultra's clients has no entry twice`() {
        let shared = Wultra.certificate(1, "*.example.com", dnsNames: ["*.example.com"])
        let app = Wultra.app(.init("a.example.com", .enforce, shared), .init("b.example.com", .enforce, shared))
        #expect(self.entries(app).map(\.name) == ["*.example.com", "a.example.com", "b.example.com"])
        #expect(self.entries(app).allSatisfy { $0.fingerprint == shared.sha256 })
    }

    /// A certificate's common name, e-mail address, DNS names and subject, the host, and the names it is found under.
    @Test(
        arguments: [
            ("api.example.com", nil, ["api.example.com"], "CN=api.example.com", ["api.example.com"]),
            ("Shop Front", nil, ["api.example.com"], "CN=Shop Front", ["Shop Front", "api.example.com"]),
            ("*.example.com", nil, ["*.example.com"], "CN=*.example.com", ["*.example.com", "api.example.com"]),
            (
                "Shop", "ops@example.com", ["www.example.com"], "emailAddress=it@example.com,CN=Shop",
                ["Shop", "api.example.com"]
            ),
            (
                nil, "ops@example.com", ["www.example.com", "api.example.com"], "",
                ["ops@example.com", "www.example.com", "api.example.com"]
            ),
            (nil, nil, ["www.example.com", "api.example.com"], "", ["www.example.com", "api.example.com"]),
            ("", nil, ["api.example.com"], "CN=", ["api.example.com"]), (nil, nil, [], "", ["api.example.com"]),
            (
                nil, nil, ["api.example.com"], "OU=Second,OU=First,O=Example\\, Ltd.,emailAddress=it@example.com",
                ["First", "Example, Ltd.", "it@example.com", "api.example.com"]
            ),
        ] as [(String?, String?, [String], String, [String])])
    func `an answer to Wultra's clients has an entry under each name that a client may look up`(
        commonName: String?, email: String?, dnsNames: [String], subject: String, names: [String]
    ) {
        var certificate = Wultra.certificate(1, commonName, dnsNames: dnsNames)
        certificate.emailAddress = email
        certificate.subject = subject
        let app = Wultra.app(.init("api.example.com", .enforce, certificate))
        #expect(self.entries(app).map(\.name) == names)
        #expect(self.entries(app).allSatisfy { $0.fingerprint == certificate.sha256 && $0.depth == 0 })
        let file = WultraStaticFile(Wultra.view(app), ClientSettings())
        #expect(Set(file.entries.map(\.name)) == Set(names) && file.notes.isEmpty)
    }

    @Test func `an answer to Wultra's clients leaves out a deleted certificate, for its host alone`() throws {
        let one = Wultra.certificate(1, "api.example.com", dnsNames: ["api.example.com", "www.example.com"])
        let renewed = Wultra.certificate(1, "api.example.com", edition: 1)
        let app = Wultra.app(
            .init("api.example.com", .enforce, one, renewed), .init("www.example.com", .enforce, one))
        let settings = ClientSettings(
            withheld: [WithheldCertificate(host: Wultra.pattern("api.example.com"), sha256: one.sha256)])
        let entries = WultraInitTemplate(Wultra.view(app), settings).entries
        #expect(
            Set(entries.map { "\($0.name) \($0.fingerprint == one.sha256)" }) == [
                "api.example.com false", "api.example.com true", "www.example.com true",
                // The key is the other host's too, and so is what is known of it.
                "www.example.com false",
            ])
        let own = Wultra.app(.init("api.example.com", .enforce, one, renewed))
        #expect(WultraInitTemplate(Wultra.view(own), settings).entries.map(\.fingerprint) == [renewed.sha256])
    }

    @Test func `an answer to Wultra's clients leaves out what these clients cannot find`() {
        let expired = Wultra.certificate(3, "api.example.com", notAfter: Wultra.noon)
        let authority = Wultra.certificate(4, "Issuing", isAuthority: true)
        var app = Wultra.app(.init("api.example.com", .enforce, expired, authority))
        // A key of which nobody showed a certificate.
        app.hosts[Wultra.pattern("api.example.com")]?[.baseline]?.pins[Wultra.pin(9)] = PinRecord(
            role: .backup, state: .active, note: nil, since: Wultra.noon)
        #expect(self.entries(app).isEmpty)
        let body = WultraInitTemplate(Wultra.view(app), ClientSettings()).body(at: Wultra.noon)
        #expect(Wultra.text(body) == #"{"timestamp":1760697600,"fingerprints":[]}"#)
    }

    @Test func `an answer to Wultra's clients leaves out pins that are not published`() {
        let (one, two) = (Wultra.certificate(1, "api.example.com"), Wultra.certificate(2, "api.example.com"))
        for state in [PinState.staged, .retired, .revoked] {
            var app = Wultra.app(.init("api.example.com", .enforce, one, two))
            app.hosts[Wultra.pattern("api.example.com")]?[.baseline]?.pins[Wultra.pin(2)]?.state = state
            #expect(self.entries(app).map(\.fingerprint) == [one.sha256])
        }
    }

    @Test func `an answer to Wultra's clients takes a self-signed server's certificate for a server's`() {
        let own = Wultra.certificate(1, "api.example.com", isAuthority: true, isSelfSigned: true)
        let app = Wultra.app(.init("api.example.com", .enforce, own))
        #expect(self.entries(app).map(\.depth) == [0])
        #expect(self.entries(app).map(\.name) == ["api.example.com"])
    }

    @Test func `an answer to Wultra's clients escapes names, which anyone may have chosen`() throws {
        let name = "a\",\"x\":\"\\\n</é"
        let app = Wultra.app(.init("api.example.com", .enforce, Wultra.certificate(1, name)))
        let template = WultraInitTemplate(Wultra.view(app), ClientSettings())
        let json = try JSON(parsing: template.body(at: Wultra.noon))
        #expect(json["fingerprints"]?.arrayValue?.map { $0["name"] } == [.string(name), "api.example.com"])
        #expect(json.objectValue?.keys.sorted() == ["fingerprints", "timestamp"])
    }

    @Test func `an answer to Wultra's clients gives the depth of authorities where clients understand it`() {
        let leaf = Wultra.certificate(1, "api.example.com", issuer: "CN=Issuing")
        let issuing = Wultra.certificate(2, "Issuing", isAuthority: true, issuer: "CN=Root")
        let root = Wultra.certificate(3, "Root", isAuthority: true, issuer: "CN=Root", isSelfSigned: true)
        let all = Wultra.app(.init("api.example.com", .enforce, leaf, issuing, root))
        #expect(
            Set(self.entries(all, Self.modern).map { [$0.name, "\($0.depth)"] }) == [
                ["api.example.com", "0"], ["api.example.com", "1"], ["api.example.com", "2"],
            ])
        #expect(self.entries(all).map(\.depth) == [0])
        // Without the authority between, or without any server's certificate, it is the usual place that is told.
        let gap = Wultra.app(.init("api.example.com", .enforce, leaf, root))
        #expect(self.entries(gap, Self.modern).map(\.depth) == [0, 2])
        let alone = Wultra.app(.init("api.example.com", .enforce, issuing))
        #expect(
            self.entries(alone, Self.modern) == [
                WultraEntry(
                    name: "api.example.com", fingerprint: issuing.sha256, expires: 4_102_444_800, depth: 1)
            ])
        let body = WultraInitTemplate(Wultra.view(alone), Self.modern).body(at: Wultra.noon)
        #expect(Wultra.text(body).contains(#""expires":4102444800,"depth":1}]"#))
    }

    @Test func `an answer to Wultra's clients gives an entry no more than its days, in steps`() throws {
        let certificate = Wultra.certificate(1, "api.example.com")
        let soon = Wultra.certificate(2, "api.example.com", notAfter: Wultra.noon.adding(seconds: 5 * Wultra.day))
        let app = Wultra.app(.init("api.example.com", .enforce, certificate, soon))
        let settings = ClientSettings(entryDays: 28)
        var ends: Set<Int64> = []
        for hour in Int64(0)..<(28 * 24) {
            let now = Wultra.noon.adding(seconds: hour * 3600)
            let template = WultraInitTemplate(Wultra.view(app, at: now), settings)
            let end = try #require(template.entries.first { $0.fingerprint == certificate.sha256 }?.expires)
            #expect((21 * Wultra.day...28 * Wultra.day).contains(end - now.seconds))
            ends.insert(end)
            let short = template.entries.first { $0.fingerprint == soon.sha256 }
            #expect(short?.expires == (hour < 120 ? soon.notAfter.seconds : nil))
        }
        #expect(ends.count == 5)
    }

    @Test func `an answer to Wultra's clients stays the same until the time it states`() throws {
        let (one, two) = (
            Wultra.certificate(1, "api.example.com"),
            Wultra.certificate(2, "api.example.com", notAfter: Wultra.noon.adding(seconds: 3 * Wultra.day))
        )
        var app = Wultra.app(.init("api.example.com", .enforce, one, two))
        app.killSwitch = Wultra.killSwitch(until: Wultra.noon.adding(seconds: 5 * Wultra.day))
        app.pinsValidUntil = Wultra.noon.adding(seconds: 40 * Wultra.day)
        let settings = ClientSettings(understandsDomains: true, entryDays: 28)
        var now = Wultra.noon
        var changes = 0
        while now < Wultra.noon.adding(seconds: 41 * Wultra.day) {
            let template = WultraInitTemplate(Wultra.view(app, at: now), settings)
            let next = try #require(template.changesAt)
            try #require(now < next)
            let before = WultraInitTemplate(Wultra.view(app, at: next.adding(seconds: -1)), settings)
            #expect(before.body(at: Wultra.noon) == template.body(at: Wultra.noon))
            let after = WultraInitTemplate(Wultra.view(app, at: next), settings)
            #expect(after.body(at: Wultra.noon) != template.body(at: Wultra.noon))
            now = next
            changes += 1
        }
        // The certificate's end, the kill switch's, that of the pins, and the steps.
        #expect(changes > 5)
    }

    @Test func `an answer to Wultra's clients is the same forever where nothing ends`() {
        let template = WultraInitTemplate(Wultra.view(Wultra.app()), ClientSettings())
        #expect(template.changesAt == nil)
    }

    @Test func `an answer to Wultra's clients has no domains while all pins are enforced`() throws {
        let app = Wultra.app(
            .init("api.example.com", .enforce, Wultra.certificate(1, "api.example.com")), .init("own.example.com", nil))
        #expect(try self.domains(WultraInitTemplate(Wultra.view(app), Self.modern)) == nil)
    }

    @Test(arguments: [PinMode.off, .reportOnly])
    func
        `an answer to Wultra's clients names domains without pinning to clients that understand it, with their entries`(
            mode: PinMode
        ) throws
    {
        let wildcard = Wultra.certificate(1, "*.example.com", dnsNames: ["*.example.com"])
        let shared = Wultra.certificate(2, "www.example.com", dnsNames: ["www.example.com", "api.example.com"])
        let app = Wultra.app(
            .init("api.example.com", mode, wildcard, shared), .init("www.example.com", .enforce, shared))
        let template = WultraInitTemplate(Wultra.view(app), Self.modern)
        // The certificate that a host with pinning shares keeps its name out.
        let expected =
            #","domainsConfig":{"sslPinningRequiredForUnlisted":true,"domains":["#
            + #"{"name":"api.example.com","sslPinningRequired":false},"#
            + #"{"name":"*.example.com","sslPinningRequired":false}]}}"#
        #expect(Wultra.text(template.body(at: Wultra.noon)).hasSuffix(expected))
        #expect(Set(template.entries.map(\.fingerprint)) == [wildcard.sha256, shared.sha256])
        let old = WultraInitTemplate(Wultra.view(app), ClientSettings())
        #expect(try self.domains(old) == nil && old.entries == template.entries)
    }

    @Test func `an answer to Wultra's clients requires no pins while a kill switch of the app or fleet is engaged`()
        throws
    {
        let app = Wultra.app(.init("api.example.com", .enforce, Wultra.certificate(1, "api.example.com")))
        let expected: JSON = [
            "sslPinningRequiredForUnlisted": false,
            "domains": [["name": "api.example.com", "sslPinningRequired": false]],
        ]
        var off = app
        off.killSwitch = Wultra.killSwitch()
        var stale = app
        stale.pinsValidUntil = Wultra.noon
        for view in [
            Wultra.view(off), Wultra.view(app, everythingOff: Wultra.killSwitch()), Wultra.view(stale),
        ] { #expect(try self.domains(WultraInitTemplate(view, Self.modern)) == expected) }
        let over = Wultra.view(off, at: Wultra.noon.adding(seconds: Wultra.day))
        #expect(try self.domains(WultraInitTemplate(over, Self.modern)) == nil)
    }

    @Test func `an answer to Wultra's clients requires other hosts' pins while a host's kill switch is engaged`() throws
    {
        var app = Wultra.app(.init("api.example.com", .enforce, Wultra.certificate(1, "api.example.com")))
        app.hosts[Wultra.pattern("api.example.com")]?.killSwitch = Wultra.killSwitch()
        let domains = try self.domains(WultraInitTemplate(Wultra.view(app), Self.modern))
        #expect(domains?["sslPinningRequiredForUnlisted"] == true)
        #expect(domains?["domains"] == [["name": "api.example.com", "sslPinningRequired": false]])
    }
}

@Suite struct `A static file for Wultra's clients` {
    private static let app = Wultra.app(
        .init(
            "www.example.com", .enforce, Wultra.certificate(3, "www.example.com"),
            Wultra.certificate(4, "Issuing", isAuthority: true)),
        .init(
            "api.example.com", .enforce, Wultra.certificate(1, "api.example.com"),
            Wultra.certificate(2, "api.example.com", notAfter: Wultra.end.adding(seconds: 60))))

    @Test func `a static file for Wultra's clients is sorted, and leaves out unsigned entries`() {
        let file = WultraStaticFile(Wultra.view(Self.app), ClientSettings(understandsDomains: true))
        let expected = [
            WultraEntry(
                name: "api.example.com", fingerprint: Wultra.certificate(2, "").sha256, expires: 4_102_444_860),
            WultraEntry(name: "api.example.com", fingerprint: Wultra.certificate(1, "").sha256, expires: 4_102_444_800),
            WultraEntry(name: "www.example.com", fingerprint: Wultra.certificate(3, "").sha256, expires: 4_102_444_800),
        ]
        #expect(file.entries == expected)
        #expect(file.bytes(signatures: [[1], [2]]) == nil)
    }

    @Test
    func `a static file for Wultra's clients lists what it leaves out, and which hosts it has although they are off`()
        throws
    {
        #expect(
            WultraStaticFile(Wultra.view(Self.app), ClientSettings()).notes == [
                "www.example.com: \(Wultra.pin(4)) left out. It is an authority's, and entries of the file are for "
                    + "servers' own certificates."
            ])
        var app = Wultra.app(
            .init("a.example.com", .off, Wultra.certificate(1, "a.example.com")),
            .init("b.example.com", .enforce, Wultra.certificate(2, nil), Wultra.certificate(3, "b.example.com")),
            .init("c.example.com", .enforce, Wultra.certificate(4, "c.example.com", notAfter: Wultra.noon)),
            .init("d.example.com", nil), .init("e.example.com", .enforce),
            .init("f.example.com", .enforce, Wultra.certificate(5, "f.example.com")))
        app.keys[Wultra.pin(5)] = nil
        let file = WultraStaticFile(Wultra.view(app), ClientSettings())
        #expect(Set(file.entries.map(\.name)) == ["a.example.com", "b.example.com", "Example"])
        #expect(
            file.notes == [
                "a.example.com is in the file although its mode is off: clients refuse a server of which they have "
                    + "no entry.",
                "c.example.com: \(Wultra.pin(4)) left out. Its last certificate expired at \(Wultra.noon).",
                "c.example.com: left out. Clients find none of its certificates.",
                "d.example.com: left out. Its pins are those built into the app, which the server does not have.",
                "e.example.com: left out. It has no pins.",
                "f.example.com: \(Wultra.pin(5)) left out. Nobody showed a certificate of its key, and whole "
                    + "certificates are compared.",
                "f.example.com: left out. Clients find none of its certificates.",
            ])
    }

    @Test func `a static file for Wultra's clients is the same under a kill switch, and says so`() throws {
        let app = Wultra.app(.init("a.example.com", .enforce, Wultra.certificate(1, "a.example.com")))
        let file = WultraStaticFile(Wultra.view(app, everythingOff: Wultra.killSwitch()), ClientSettings())
        let before = WultraStaticFile(Wultra.view(app), ClientSettings())
        #expect(file.entries == before.entries && before.notes.isEmpty)
        #expect(file.notes.count == 1)
        #expect(file.notes.first?.hasPrefix("A kill switch has turned off the pins of a.example.com for now.") == true)
    }

    @Test func `a static file for Wultra's clients has a signature in each entry`() throws {
        let app = Wultra.app(.init("a.example.com", .off, Wultra.certificate(1, "a.example.com")))
        let file = WultraStaticFile(Wultra.view(app), ClientSettings(understandsDomains: true))
        let fingerprint = Base64.encode(Wultra.certificate(1, "").sha256)
        let expected =
            #"{"fingerprints":[{"name":"a.example.com","fingerprint":"\#(fingerprint)","expires":4102444800,"#
            + #""signature":"AQID"}]}"#
        #expect(file.bytes(signatures: [[1, 2, 3]]).map(Wultra.text) == expected)
    }
}
