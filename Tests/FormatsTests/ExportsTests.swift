import Formats
import PinWire
import Pinning
import Testing

@Suite struct `An export` {
    @Test(arguments: ExportFormat.allCases.filter { $0 != .pem })
    func `is the text that was agreed on, and says what it leaves out`(format: ExportFormat) throws {
        let export = try Export.render(format, of: try ExportsSample.view(validUntil: ExportsSample.until))
        #expect(export.format == format)
        #expect(export.text == ExportsGolden.texts[format])
        #expect(export.notes == ExportsGolden.notes[format])
    }

    @Test(arguments: ExportFormat.allCases.filter { $0 != .pem })
    func `is the same for the same pins in another order, at another time and with another key served`(
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
    func `keeps an app's name in its place, whatever it is`(format: ExportFormat, name: String) throws {
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

    @Test func `of an app whose id has two hyphens is sound XML`() throws {
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
    func `of no hosts is refused only where nobody could read it`(format: ExportFormat) throws {
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

    @Test func `that is refused says why, and what was left out before`() throws {
        let view = try ExportsSample.view(["off.example.org off 7 8"])
        #expect(
            performing: { try Export.render(.trustkitIOS, of: view) },
            throws: {
                "\($0)"
                    == "No host is left whose pins could be written for TrustKit for iOS, which takes no empty file. "
                    + "off.example.org: left out. Its mode is off."
            })
    }

    @Test func `leaves out what a kill switch, an end of validity or missing pins keep from being enforced`() throws {
        let killed = try ExportsSample.host("api.example.com 1 2")
        let switches = [
            Document.KillSwitch(
                scope: "app", host: nil, engagedAt: ExportsSample.now, expiresAt: ExportsSample.now.adding(seconds: 60))
        ]
        func notes(_ view: ClientView) throws -> [String] { try Export.render(.json, of: view).notes }
        #expect(
            try notes(try ExportsSample.view([killed], killSwitches: switches))
                == ["api.example.com: left out. A kill switch has turned its pins off."])
        #expect(
            try notes(try ExportsSample.view([killed], validUntil: ExportsSample.now))
                == ["api.example.com: left out. Its pins were valid until a time that is over."])
        #expect(
            try notes(try ExportsSample.view(["api.example.com"])) == ["api.example.com: left out. It has no pins."])
    }

    @Test func `has what installs outside a rollout get, and says that there is a candidate`() throws {
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

    @Test func `takes App Transport Security's authorities alone where all pins are theirs`() throws {
        let export = try Export.render(.appleATS, of: try ExportsSample.view(["api.example.com 3"]))
        #expect(export.text.contains("<key>NSPinnedCAIdentities</key>"))
        #expect(!export.text.contains("NSPinnedLeafIdentities") && export.notes.isEmpty)
    }

    @Test(arguments: [ExportFormat.trustkitIOS, .reactNative])
    func `says nothing of a date that is exact`(format: ExportFormat) throws {
        let midnight = Timestamp(seconds: 1_801_353_600)
        let export = try Export.render(format, of: try ExportsSample.view(["a.example 1 2"], validUntil: midnight))
        #expect(export.text.contains("2027-01-31") && export.notes.isEmpty)
    }

    @Test func `has a name, a title, a file's name and a media type for each format`() {
        let formats = ExportFormat.allCases
        #expect(formats.count == 15)
        #expect(Set(formats.map(\.title)).count == formats.count)
        for format in formats {
            #expect(!format.fileName.isEmpty && !format.fileName.contains("/"))
            #expect(format.rawValue.allSatisfy { $0.isLowercase || $0.isNumber || $0 == "_" })
        }
        #expect(formats.filter { $0.client == nil } == [.hpkp, .swift, .kotlin, .json, .pem])
        #expect(ExportFormat.androidNSC.fileName == ExportFormat.trustkitAndroid.fileName)
        #expect(ExportFormat.json.mediaType == "application/json")
    }
}
