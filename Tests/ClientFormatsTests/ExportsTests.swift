import ClientFormats
import PinWire
import Pinning
import Testing

@Suite struct `An export` {
    @Test(arguments: ExportFormat.allCases.filter { $0 != .pem })
    func `an export has its expected text, and lists what it leaves out`(format: ExportFormat) throws {
        let export = try Export.render(format, of: try ExportsSample.view(validUntil: ExportsSample.until))
        #expect(export.format == format)
        #expect(export.text == ExportsGolden.texts[format])
        #expect(export.notes == ExportsGolden.notes[format])
    }

    @Test(arguments: ExportFormat.allCases.filter { $0 != .pem })
    func `an export is the same for the same pins in another order, at another time and with another key served`(
        format: ExportFormat
    ) throws {
        let hosts = try ExportsSample.hosts.map(ExportsSample.host).map { host in
            var host = host
            host.baseline?.pins.reverse()
            return host
        }
        let served = try [HostPattern("api.example.com"): Set([ExportsSample.pin(2)])]
        let export = try Export.render(
            format,
            of: try ExportsSample.view(
                hosts.reversed(), validUntil: ExportsSample.until, served: served,
                at: ExportsSample.now.adding(seconds: 5_000_000)))
        #expect(export.text == ExportsGolden.texts[format])
        #expect(export.notes == ExportsGolden.notes[format])
    }

    static let hostileNames = [
        "*/ fatalError() /*", "--><evil/><!--", "\"; rm -rf / #", "a\nb", "\r\nHost: evil.example", "\u{2028}let x = 1",
        "\u{85}x", "$(id)", "`id`", "${x}", "\\u000a", "]]>", "\u{202E}evil", "-", "\u{0}\u{FFFF}", "",
    ]

    @Test(arguments: ExportFormat.allCases.filter { $0 != .pem }, Self.hostileNames)
    func `an export keeps an app's name within its field, whatever the name is`(format: ExportFormat, name: String)
        throws
    {
        let view = try ExportsSample.view(displayName: name, validUntil: ExportsSample.until)
        let lines = try Export.render(format, of: view).text.split(separator: "\n", omittingEmptySubsequences: false)
        let agreed = ExportsGolden.texts[format] ?? ""
        let agreedLines = agreed.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == agreedLines.count)
        for (line, agreed) in zip(lines, agreedLines) where line != agreed { #expect(agreed.contains("The shop")) }
        switch format.mediaType {
        case "application/json": _ = try JSON(text: lines.joined(separator: "\n"))
        case "application/xml": _ = try XMLReader.read(Array(lines.joined(separator: "\n").utf8))
        default: #expect(!lines.contains { $0.contains("\r") || $0.contains("\u{2028}") || $0.contains("\u{202E}") })
        }
    }

    @Test func `an export of an app whose id has two hyphens is sound XML`() throws {
        let id = try AppID("com.example--shop-")
        let document = Document(
            issuer: "pinledger", app: id, version: 1, pinsValidUntil: nil, killSwitches: [], rollout: nil,
            versionGate: nil, hosts: [], fallback: Fallback(), monitoring: Monitoring())
        let app = App(id: id, displayName: "x", createdAt: ExportsSample.now)
        let export = try Export.render(.androidNSC, of: ClientView(document, of: app, at: ExportsSample.now))
        #expect(try XMLReader.read(export.bytes).children.isEmpty)
        #expect(export.text.contains("pinledger export android_nsc com.example- -shop-  and the option check"))
    }

    @Test(arguments: ExportFormat.allCases)
    func `an export without hosts is refused only where no client could read it`(format: ExportFormat) throws {
        for hosts in [[], ["off.example.org off 7 8", "old.example.net builtin", "*.x.example report_only"]] {
            let view = try ExportsSample.view(hosts)
            switch format {
            case .trustkitIOS, .reactNative, .pem:
                #expect(throws: ExportRefusal.self) { try Export.render(format, of: view) }
            default:
                let export = try Export.render(format, of: view)
                #expect(export.notes.count == hosts.count)
                #expect(!export.text.contains("example.org") && export.text.hasSuffix("\n"))
            }
        }
    }

    @Test func `a refused export says why, and what it had left out`() throws {
        let view = try ExportsSample.view(["off.example.org off 7 8"])
        #expect(
            performing: { try Export.render(.trustkitIOS, of: view) },
            throws: {
                "\($0)"
                    == "No host is left whose pins could be written for TrustKit for iOS, which takes no empty file. "
                    + "off.example.org: left out. Its mode is off."
            })
    }

    @Test(arguments: ExportFormat.allCases.filter { $0 != .pem })
    func `an export is the same under a kill switch and after the end of validity, and says so`(format: ExportFormat)
        throws
    {
        let hosts = try ExportsSample.hosts.map(ExportsSample.host)
        func killed(_ scope: String, _ host: HostPattern?) throws -> Export {
            let one = Document.KillSwitch(
                scope: scope, host: host, engagedAt: ExportsSample.now,
                expiresAt: ExportsSample.now.adding(seconds: 60))
            return try Export.render(
                format, of: try ExportsSample.view(hosts, validUntil: ExportsSample.until, killSwitches: [one]))
        }
        let agreed = ExportsGolden.notes[format] ?? []
        let wide = try killed("everything", nil)
        #expect(wide.text == ExportsGolden.texts[format])
        #expect(wide.notes.filter { !agreed.contains($0) }.count == 1)
        let own = try killed("host", HostPattern("api.example.com"))
        #expect(own.text == ExportsGolden.texts[format])
        #expect(
            own.notes.filter { !agreed.contains($0) } == [
                "A kill switch has turned off the pins of api.example.com for now. The file still has them: it outlives "
                    + "the switch, and installs that use it do not receive a kill switch."
            ])
        let over = try Export.render(
            format, of: try ExportsSample.view(hosts, validUntil: ExportsSample.until, at: ExportsSample.until))
        #expect(over.text == ExportsGolden.texts[format])
        #expect(
            over.notes.contains(
                "The end of the pins' validity, 2027-01-31T12:00:00Z, is over. The file has them all the same: set a "
                    + "later one before an app is built with it."))
        #expect(!over.notes.contains { $0.hasPrefix("The pins are valid") })
    }

    @Test func `an export leaves out hosts without pins`() throws {
        let export = try Export.render(.json, of: try ExportsSample.view(["api.example.com"]))
        #expect(export.notes == ["api.example.com: left out. It has no pins."])
    }

    @Test(arguments: ExportFormat.allCases.filter { $0 != .pem })
    func `an export with one pin is refused where the app would not start with it`(format: ExportFormat) throws {
        let view = try ExportsSample.view(["b.example 1", "a.example 1 2", "c.example+ 1"])
        switch format {
        case .trustkitIOS, .trustkitAndroid, .reactNative:
            let refusal = #expect(throws: ExportRefusal.self) { try Export.render(format, of: view) }
            #expect(refusal == .singlePin(format, hosts: ["b.example", "c.example"]))
            let text = refusal.map { "\($0)" } ?? ""
            #expect(text.hasPrefix("With one pin alone (b.example, c.example), \(format.title) "))
            #expect(text.contains("Add a backup pin of another key to each"))
        default: #expect(try !Export.render(format, of: view).text.isEmpty)
        }
    }

    @Test(arguments: [ExportFormat.trustkitIOS, .trustkitAndroid])
    func `an export may have one pin where TrustKit only reports`(format: ExportFormat) throws {
        let export = try Export.render(format, of: try ExportsSample.view(["a.example report_only 1"]))
        #expect(export.text.contains(try ExportsSample.pin(1).base64))
    }

    @Test func `an export has an RFC 7469 header for each covered name, and says where one would be ignored`()
        throws
    {
        let view = try ExportsSample.view(["a.example+ 1 2", "b.example 1 2", "c.example 1", "d.example report_only 1"])
        let export = try Export.render(.hpkp, of: view)
        let lines = export.text.split(separator: "\n").filter { $0.hasPrefix("Public-Key-Pins") }
        #expect(lines.count == 4 && lines.allSatisfy { $0.contains("; max-age=5184000") })
        #expect(lines.map { $0.hasSuffix("; includeSubDomains") } == [true, false, false, false])
        #expect(lines.map { $0.hasPrefix("Public-Key-Pins-Report-Only: ") } == [false, false, false, true])
        #expect(
            export.notes == ["c.example has one pin: RFC 7469 has clients pass over a header without a backup pin."])
    }

    @Test func `an export has what installs outside a rollout get, and says that there is a candidate`() throws {
        var host = try ExportsSample.host("api.example.com 1 2")
        host.candidate = try ExportsSample.host("api.example.com 1 4").baseline
        host.rollout = Rollout(basisPoints: 5000)
        let export = try Export.render(.curl, of: try ExportsSample.view([host]))
        #expect(export.text.contains(try ExportsSample.pin(2).base64))
        #expect(!export.text.contains(try ExportsSample.pin(4).base64))
        #expect(
            export.notes == [
                "api.example.com: a candidate is on its way to some installs; the file has what all others get."
            ])
    }

    @Test(arguments: [ExportFormat.trustkitIOS, .reactNative])
    func `an export has no remark about a date that is exact`(format: ExportFormat) throws {
        let midnight = Timestamp(seconds: 1_801_353_600)
        let export = try Export.render(format, of: try ExportsSample.view(["a.example 1 2"], validUntil: midnight))
        #expect(export.text.contains("2027-01-31") && export.notes.isEmpty)
    }

    @Test func `every export format has a name, a title, a file name and a media type`() {
        let formats = ExportFormat.allCases
        #expect(formats.count == 15)
        #expect(Set(formats.map(\.title)).count == formats.count)
        for format in formats {
            #expect(!format.fileName.isEmpty && !format.fileName.contains("/"))
            #expect(format.rawValue.allSatisfy { $0.isLowercase || $0.isNumber || $0 == "_" })
        }
        #expect(formats.filter { ClientKind(rawValue: $0.rawValue) == nil } == [.hpkp, .swift, .kotlin, .json, .pem])
        #expect(ExportFormat.androidNSC.fileName == ExportFormat.trustkitAndroid.fileName)
        #expect(ExportFormat.json.mediaType == "application/json")
    }

    @Test(arguments: ClientKind.allCases)
    func `every kind of client with built-in pins has a format, as its profile says`(kind: ClientKind) {
        let profile = kind.profile()
        let format = ExportFormat(rawValue: kind.rawValue)
        #expect(profile.file?.name == format?.fileName && profile.file?.mediaType == format?.mediaType)
        #expect(profile.isServed || format != nil)
        #expect(format == nil || format?.title == profile.title)
    }
}
