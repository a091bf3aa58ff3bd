import ClientFormats
import PinWire
import Pinning
import Testing

@testable import PinledgerServer

/// Plans of files that have pins built in.
@Suite struct `A file with pins` {
    private static let now = Timestamp(seconds: 1_769_860_800)  // 2026-01-31T12:00:00Z

    private func pin(_ text: String) throws -> Pin { try #require(Pin(bytes: sha256(Array(text.utf8)))) }

    /// A network security configuration of hosts, each with the pins of some texts.
    private func file(_ hosts: [(String, [String])], until day: String? = nil) throws -> [UInt8] {
        let blocks = try hosts.map { name, pins in
            let expiration = day.map { " expiration=\"\($0)\"" } ?? ""
            let list = try pins.map { "<pin digest=\"SHA-256\">\(try self.pin($0).base64)</pin>" }.joined()
            return "<domain-config>\n<domain>\(name)</domain><pin-set\(expiration)>\(list)</pin-set></domain-config>\n"
        }
        return Array("<network-security-config>\n\(blocks.joined())</network-security-config>".utf8)
    }

    private func plan(
        _ bytes: [UInt8], as name: String = "android_nsc", _ app: App? = nil, host: HostPattern? = nil
    ) throws -> ImportPlan {
        let format = try #require(ImportedFile.Format(name))
        let id = try AppID("com.example.app")
        let file = ImportedFile(bytes, as: format, for: id, host: host)
        return file.plan(for: id, app, at: Self.now, isPublicSuffix: { $0 == "co.uk" })
    }

    private func app(with host: String, pins: [String]) throws -> App {
        let id = try AppID("com.example.app")
        let start = Timestamp(seconds: 0)
        var app = try #require(App(first: .appCreated(displayName: "x"), id: id, at: start))
        let pattern = try HostPattern(host)
        app.evolve(.hostAdded(pattern, includesSubdomains: false, mode: .enforce), at: start)
        for text in pins {
            let pin = try self.pin(text)
            app.evolve(.pinStaged(pattern, .baseline, pin, .backup, note: nil), at: start)
            app.evolve(.pinActivated(pattern, .baseline, pin), at: start)
        }
        return app
    }

    @Test func `a file with pins makes an app with its hosts, the first pin of each as the primary one`() throws {
        let plan = try self.plan(
            try self.file([("b.example.com", ["3", "4"]), ("a.example.com", ["1", "2"])], until: "2026-03-01"))
        #expect(plan.fatal.isEmpty)
        let hosts = try [("a.example.com", ["1", "2"]), ("b.example.com", ["3", "4"])].map { name, pins in
            AppCommand.addHost(
                try HostPattern(name), includesSubdomains: false, mode: .enforce,
                pins: [
                    .init(pin: try self.pin(pins[0]), role: .primary), .init(pin: try self.pin(pins[1]), role: .backup),
                ])
        }
        let builtIn = try [("a.example.com", ["1", "2"]), ("b.example.com", ["3", "4"])].map { name, pins in
            BuiltInHost(try HostPattern(name), pins: try pins.map { try self.pin($0) }, isEnforced: true)
        }
        let end = try #require(Timestamp(rfc3339: "2026-03-01T00:00:00Z"))
        #expect(
            plan.commands == [.create(displayName: "com.example.app")] + hosts + [
                .setPinsValidUntil(end), .setClient(.androidNSC, ClientSettings()),
                .noteBuiltIn(.androidNSC, builtIn, .imported),
            ])
        #expect(plan.steps.count == plan.commands.count)
        #expect(plan.findings.map(\.severity) == [.note], "\(plan.findings)")
    }

    @Test func `a file with one pin for a host makes that host report-only`() throws {
        let plan = try self.plan(try self.file([("a.example.com", ["1"])]))
        let warned = plan.findings.filter { $0.severity == .warning }
        #expect(warned.map(\.place) == [.text(line: 3, column: 1)])
        guard case .addHost(_, _, let mode, let pins)? = plan.commands.dropLast(2).last else {
            Issue.record("no host is added: \(plan.commands)")
            return
        }
        #expect(mode == .reportOnly && pins.map(\.role) == [.primary])
    }

    /// The end, and how many warnings there are.
    @Test(
        arguments: [
            ("2026-01-31", nil, 1), ("2020-01-01", nil, 1), ("2026-02-01", "2026-02-01T00:00:00Z", 0),
            ("2026-04-01", "2026-04-01T00:00:00Z", 0), ("2026-04-02", nil, 1), ("2031-01-01", nil, 1),
            ("27-01-05", nil, 2), ("2026-3-1", "2026-03-01T00:00:00Z", 1), (nil, nil, 0),
        ] as [(String?, String?, Int)])
    func `a file with pins sets its end where a document may have it`(day: String?, end: String?, warnings: Int) throws
    {
        let plan = try self.plan(try self.file([("a.example.com", ["1", "2"])], until: day))
        let ends = plan.commands.compactMap { command -> Timestamp? in
            guard case .setPinsValidUntil(let end) = command else { return nil }
            return end
        }
        #expect(ends == (end.map { [Timestamp(rfc3339: $0)] } ?? []).compactMap { $0 })
        #expect(plan.findings.count { $0.severity == .warning } == warnings, "\(plan.findings)")
        #expect(plan.fatal.isEmpty)
    }

    /// The day of the first host and of the second, and what each of the warnings begins with.
    @Test(
        arguments: [
            ("2020-01-01", nil, ["The pins of a.example.com were valid until 2020-01-01"]),
            ("2020-01-01", "2020-01-01", ["The pins were valid until 2020-01-01"]),
            (
                "2020-01-01", "2021-01-01",
                [
                    "The pins of a.example.com were valid until 2020-01-01",
                    "The pins of b.example.com were valid until 2021",
                ]
            ),
            (
                "2026-02-10", "2020-01-01",
                [
                    "The pins of b.example.com were valid until 2020-01-01",
                    "The pins of a.example.com are valid until 2026-02-10T00:00:00Z, but those of b.example.com",
                ]
            ),
        ] as [(String?, String?, [String])])
    func `a file with pins that are over says of which hosts clients check none`(
        one: String?, two: String?, warnings: [String]
    ) throws {
        let files = try [("a.example.com", one), ("b.example.com", two)].map { name, day in
            String(decoding: try self.file([(name, ["1", "2"])], until: day), as: UTF8.self)
        }
        let text = files.joined().replacing("</network-security-config><network-security-config>", with: "")
        let plan = try self.plan(Array(text.utf8))
        let warned = plan.findings.filter { $0.severity == .warning }.map(\.message)
        #expect(warned.count == warnings.count && zip(warned, warnings).allSatisfy { $0.hasPrefix($1) }, "\(warned)")
        #expect(warned.first?.contains("so that clients check them again") == true)
        #expect(!plan.commands.contains { if case .setPinsValidUntil = $0 { true } else { false } })
        // An install whose pins are over enforces none.
        guard case .noteBuiltIn(_, let hosts, _)? = plan.commands.last else {
            Issue.record("no built-in pins: \(plan.commands)")
            return
        }
        #expect(hosts.map(\.isEnforced) == [one, two].map { ($0 ?? "2026-02-10") >= "2026" })
    }

    @Test func `a file with an end that Android refuses is refused`() throws {
        let plan = try self.plan(try self.file([("a.example.com", ["1", "2"])], until: "05/01/2027"))
        #expect(plan.fatal.map(\.place) == [.text(line: 3, column: 31)])
    }

    @Test func `a file with a placeholder is refused for it, whether or not the app has the host`() throws {
        let typed = String(repeating: "B", count: 43) + "="
        let text = String(decoding: try self.file([("a.example.com", ["1", "2"])]), as: UTF8.self)
            .replacing(try self.pin("2").base64, with: typed)
        for app in [nil, try self.app(with: "a.example.com", pins: ["1", "3"])] {
            let plan = try self.plan(Array(text.utf8), app)
            #expect(plan.fatal.map(\.place) == [.text(line: 3, column: 112)])
            #expect(plan.fatal.map { $0.message.hasPrefix("\(typed) is a typed pattern") } == [true])
        }
    }

    @Test func `a file with a pin that cannot be read says nothing of hosts with one pin`() throws {
        let text = String(decoding: try self.file([("a.example.com", ["1", "2"])]), as: UTF8.self)
            .replacing(try self.pin("2").base64, with: "short")
        let plan = try self.plan(Array(text.utf8))
        #expect(plan.findings.map(\.severity) == [.fatal], "\(plan.findings)")
    }

    @Test func `a file with pins whose ends differ sets no end`() throws {
        let one = try self.pin("1").base64
        let two = try self.pin("2").base64
        let pins = "<pin digest='SHA-256'>\(one)</pin><pin digest='SHA-256'>\(two)</pin>"
        let text = """
            <network-security-config>
            <domain-config><domain>a.example.com</domain><pin-set expiration="2026-02-10">\(pins)</pin-set></domain-config>
            <domain-config><domain>b.example.com</domain><pin-set>\(pins)</pin-set></domain-config>
            </network-security-config>
            """
        let plan = try self.plan(Array(text.utf8))
        #expect(plan.commands.count == 5)
        #expect(plan.findings.filter { $0.severity == .warning }.map(\.place) == [.text(line: 2, column: 16)])
    }

    @Test(
        arguments: [
            (["1"], ["the app lacks 1 pin: sha256/"]), (["1", "2", "3"], ["the file lacks 1 pin: sha256/"]),
            (["3", "4"], ["the app lacks 2 pins: sha256/", "the file lacks 2 pins: sha256/"]),
        ] as [([String], [String])])
    func `a file with pins is refused where the app's host differs, with all differences`(
        present: [String], parts: [String]
    ) throws {
        let app = try self.app(with: "a.example.com", pins: present)
        let plan = try self.plan(
            try self.file([("a.example.com", ["1", "2"]), ("b.example.com", ["1", "2"])]), app)
        #expect(plan.fatal.map(\.place) == [.text(line: 3, column: 1)])
        let message = try #require(plan.fatal.first?.message)
        #expect(parts.allSatisfy(message.contains))
        for text in Set(present).symmetricDifference(["1", "2"]) {
            #expect(message.contains(try self.pin(text).description), "\(message)")
        }
        #expect(plan.fatal.first?.defect.message.hasPrefix("line 3, column 1: ") == true)
    }

    @Test func `a file with pins skips hosts that the app has with the same pins and mode`() throws {
        let app = try self.app(with: "a.example.com", pins: ["1", "2"])
        let plan = try self.plan(
            try self.file([("a.example.com", ["2", "1"]), ("b.example.com", ["1", "2"])]), app)
        #expect(plan.fatal.isEmpty)
        #expect(
            plan.steps.map { String($0.prefix(17)) } == ["add b.example.com", "declare clients o", "remember the pins"])
        #expect(plan.findings.contains { $0.severity == .note && $0.message.contains("with the same pins and mode") })
    }

    @Test func `a file with one pin that is imported again changes nothing`() throws {
        let id = try AppID("com.example.app")
        let start = Timestamp(seconds: 0)
        var app = try #require(App(first: .appCreated(displayName: "x"), id: id, at: start))
        let host = try HostPattern("a.example.com")
        for event in [
            .hostAdded(host, includesSubdomains: false, mode: .reportOnly),
            .pinStaged(host, .baseline, try self.pin("1"), .primary, note: nil),
            .pinActivated(host, .baseline, try self.pin("1")), .clientSet(.androidNSC, ClientSettings()),
            // Installs enforce the pin, whatever the app's mode is.
            .builtInPinsNoted(
                .androidNSC, BuiltInHost(host, pins: [try self.pin("1")], isEnforced: true), .imported),
        ] as [AppEvent] { app.evolve(event, at: start) }
        let plan = try self.plan(try self.file([("a.example.com", ["1"])]), app)
        #expect(plan.fatal.isEmpty && plan.commands.isEmpty && plan.steps.isEmpty)
    }

    /// A file, and the kind of clients that it is for.
    @Test(
        arguments: [
            ("android_nsc", "", .androidNSC),
            ("android_nsc", "<trustkit-config enforcePinning='true'/>", .trustkitAndroid),
        ] as [(String, String, ClientKind)])
    func `a file with pins declares the clients that have it built in`(format: String, more: String, kind: ClientKind)
        throws
    {
        let pins = try ["1", "2"].map { "<pin digest='SHA-256'>\(try self.pin($0).base64)</pin>" }.joined()
        let text =
            "<network-security-config><domain-config><domain>a.example.com</domain><pin-set>\(pins)</pin-set>"
            + "\(more)</domain-config></network-security-config>"
        let plan = try self.plan(Array(text.utf8), as: format)
        let declaration = AppCommand.setClient(kind, ClientSettings())
        #expect(plan.commands.contains(declaration))
        #expect(plan.steps.contains("declare clients of the kind \(kind.rawValue)"))
        let host = BuiltInHost(
            try HostPattern("a.example.com"), pins: try ["1", "2"].map { try self.pin($0) }, isEnforced: true)
        #expect(plan.commands.last == .noteBuiltIn(kind, [host], .imported))
        // An existing declaration stays.
        var app = try self.app(with: "b.example.com", pins: ["1", "2"])
        app.evolve(.clientSet(kind, ClientSettings(ttlSeconds: 60)), at: Timestamp(seconds: 0))
        #expect(try !self.plan(Array(text.utf8), as: format, app).commands.contains(declaration))
    }

    @Test func `a file with pins leaves the end of an app with hosts unchanged`() throws {
        let app = try self.app(with: "b.example.com", pins: ["1", "2"])
        let plan = try self.plan(try self.file([("a.example.com", ["1", "2"])], until: "2026-02-10"), app)
        #expect(plan.fatal.isEmpty && plan.commands.count == 3)
        #expect(plan.findings.count { $0.severity == .warning } == 1)
    }

    @Test(arguments: [
        ("android_nsc", "<network-security-config/>"),
        ("android_nsc", "<network-security-config><base-config/></network-security-config>"),
        ("android_nsc", "nothing"),
        ("apple_ats", "bplist00\u{1}\u{2}"),
        ("trustkit_ios", "<plist><dict/></plist>"),
        ("hpkp", ""),
        ("hpkp", "Public-Key-Pins: max-age=1; pin-sha256=\"47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\""),
    ])
    func `a file without pins, or of another format, is refused`(format: String, text: String) throws {
        let plan = try self.plan(Array(text.utf8), as: format)
        #expect(!plan.fatal.isEmpty && plan.commands.isEmpty)
    }

    @Test(arguments: [
        ("a.example.com", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", 3),
        ("co.uk", "", 3), ("*.example.com", "", 3), ("a.example.com", "AAAA", 3),
    ])
    func `a file with an implausible pin or name is refused at its place`(name: String, pin: String, line: Int) throws {
        var text = String(decoding: try self.file([(name, ["1", "2"])]), as: UTF8.self)
        if !pin.isEmpty { text = text.replacing(try self.pin("2").base64, with: pin) }
        let plan = try self.plan(Array(text.utf8))
        #expect(plan.fatal.count == 1, "\(plan.fatal)")
        guard case .text(line, _)? = plan.fatal.first?.place else {
            Issue.record("the place is \(plan.findings)")
            return
        }
    }

    @Test func `a file of headers has the host that was named beside it`() throws {
        let pins = try ["1", "2"].map { "pin-sha256=\"\(try self.pin($0).base64)\"" }.joined(separator: "; ")
        let header = Array("Public-Key-Pins: max-age=600; \(pins)".utf8)
        #expect(try !self.plan(header, as: "hpkp").fatal.isEmpty)
        let plan = try self.plan(header, as: "hpkp", host: try HostPattern("a.example.com"))
        #expect(plan.fatal.isEmpty && plan.commands.count == 2)
    }

    @Test func `a file of Firebase is imported by its default value, found in its place`() throws {
        let pins = #"{"primary": "\#(try self.pin("1"))", "backup": "\#(try self.pin("2"))"}"#
        func template(_ value: String) throws -> [UInt8] {
            let parameter: JSON = ["defaultValue": ["value": .string(value)]]
            return JSON.members(["parameters": ["ssl_pinning_config": parameter]]).canonicalBytes
        }
        let plan = try self.plan(
            try template(#"{"enabled": true, "hosts": {"a.example.com": {"pins": \#(pins)}}}"#),
            as: "firebase_template")
        #expect(plan.fatal.isEmpty && plan.steps.contains { $0.hasPrefix("add a.example.com") })
        let wrong = try self.plan(try template(#"{"enabled": 1}"#), as: "firebase_template")
        #expect(
            wrong.fatal.map(\.pointer.text) == ["/parameters/ssl_pinning_config/defaultValue/value/enabled"])
        let cut = try self.plan([0x7B], as: "firebase_template")
        #expect(cut.fatal.map(\.place) == [.syntax(JSONPointer(), line: 1, column: 2)])
        let none = try self.plan(Array(#"{"parameters": {}}"#.utf8), as: "firebase_template")
        #expect(none.fatal.map(\.pointer.text) == ["/parameters"])
    }
}
