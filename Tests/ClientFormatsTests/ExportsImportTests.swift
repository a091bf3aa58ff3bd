import ClientFormats
import PinWire
import Testing

@Suite struct `Imported pins` {
    static let day = "until 2027-01-31T00:00:00Z"

    static let roundTrips: [(ExportFormat, ImportFormat, [String])] = [
        (
            .androidNSC, .androidNSC,
            [
                "api.example.com 1 2 \(day)", "example.org+ 1 3 \(day)", "off.example.org off",
                "shop.example+ 2 4 \(day)", "test.example.org off",
            ]
        ),
        (
            .trustkitAndroid, .androidNSC,
            [
                "api.example.com 1 2 \(day)", "example.org+ 1 3 \(day)", "off.example.org off",
                "shop.example+ 2 4 \(day)", "test.example.org report_only 5 6 \(day)",
            ]
        ),
        (
            .trustkitIOS, .trustkitIOS,
            [
                "api.example.com 1 2 \(day)", "example.org+ 1 3 \(day)", "off.example.org off",
                "shop.example+ 2 4 \(day)", "test.example.org report_only 5 6 \(day)",
            ]
        ),
        // No wildcard alone, no date, no exception, one label, and one kind of keys.
        (
            .appleATS, .appleATS,
            ["*.shop.example 2 4", "api.example.com 1 2", "example.org 1", "shop.example 2 4"]
        ),
        (
            .hpkp, .hpkp,
            ["api.example.com 1 2", "example.org 1 3", "shop.example+ 2 4", "test.example.org report_only 5 6"]
        ),
    ]

    @Test(arguments: Self.roundTrips)
    func `pins imported from an export are the exported ones`(
        export: ExportFormat, format: ImportFormat, hosts: [String]
    ) throws {
        let view = try ExportsSample.view(validUntil: ExportsSample.until)
        let imported = try ImportedPins(try Export.render(export, of: view).bytes, as: format)
        #expect(ExportsSample.words(imported) == hosts)
        #expect(imported.findings.isEmpty)
    }

    @Test func `pins imported from Android are inherited, excepted, and limited to the elements that are understood`()
        throws
    {
        let one = try ExportsSample.pin(1).base64
        let two = try ExportsSample.pin(2).base64
        let text = """
            <?xml version="1.0" encoding="utf-8"?>
            <network-security-config xmlns:tools="http://schemas.android.com/tools">
                <base-config cleartextTrafficPermitted="false">
                    <trust-anchors><certificates src="system" overridePins="true"/></trust-anchors>
                </base-config>
                <domain-config>
                    <domain includeSubdomains="true">Example.com</domain>
                    <domain>
                        example.org
                    </domain>
                    <pin-set expiration="2026-13-01">
                        <pin digest="SHA-256">\(one)</pin>
                        <pin digest="SHA-1">x</pin>
                        <pin digest="SHA-256">\(one)</pin>
                        <pin digest="SHA-256">short</pin>
                    </pin-set>
                    <domain-config>
                        <domain includeSubdomains="yes">*.example.net</domain>
                        <domain>sub.example.com</domain>
                        <pin-set><pin digest="SHA-256">\(two)</pin></pin-set>
                    </domain-config>
                    <domain-config>
                        <domain>inherits.example</domain>
                    </domain-config>
                </domain-config>
                <domain-config cleartextTrafficPermitted="true">
                    <domain>off.example.com</domain>
                    <domain>localhost</domain>
                </domain-config>
                <domain-config>
                    <domain>example.org</domain>
                    <pin-set><pin digest="SHA-256">\(two)</pin></pin-set>
                </domain-config>
                <debug-overrides><trust-anchors/></debug-overrides>
                <domain-config>
                    <domain>broken.example.com</domain>
                    <pin-set><pin digest="SHA-256">\(one.dropLast(3))</pin></pin-set>
                </domain-config>
                <unknown/>
            </network-security-config>
            """
        let imported = try ImportedPins(Array(text.utf8), as: .androidNSC)
        #expect(
            ExportsSample.words(imported) == [
                "example.com+ 1", "example.org 1", "inherits.example 1", "off.example.com off", "sub.example.com 2",
            ])
        #expect(imported.findings.map(\.line) == [3, 4, 11, 13, 15, 18, 18, 26, 28, 31, 34, 36, 37, 39])
        #expect(imported.findings[1].description.hasPrefix("line 4, column 24: Pins do not hold") == true)
    }

    @Test func `the examples in Android's own documentation are imported`() throws {
        let text = """
            <?xml version="1.0" encoding="utf-8"?>
            <network-security-config>
                <domain-config>
                    <domain includeSubdomains="true">example.com</domain>
                    <pin-set expiration="2018-01-01">
                        <pin digest="SHA-256">7HIpactkIAq2Y49orFOOQKurWxmmSFZhBCoQYcRhJ3Y=</pin>
                        <!-- backup pin -->
                        <pin digest="SHA-256">fwza0LRMXouZHRC8Ei+4PyuldPDcf3UKgO/04cDM1oE=</pin>
                    </pin-set>
                </domain-config>
            </network-security-config>
            """
        let imported = try ImportedPins(Array(text.utf8), as: .androidNSC)
        let host = try #require(imported.hosts.first)
        #expect(host.pattern.text == "example.com" && host.includesSubdomains && host.mode == .enforce)
        #expect(
            host.pins.map(\.base64) == [
                "7HIpactkIAq2Y49orFOOQKurWxmmSFZhBCoQYcRhJ3Y=", "fwza0LRMXouZHRC8Ei+4PyuldPDcf3UKgO/04cDM1oE=",
            ])
        #expect(host.validUntil == Timestamp(rfc3339: "2018-01-01T00:00:00Z"))
        #expect(imported.hosts.count == 1 && imported.findings.isEmpty)
    }

    private func plist(_ text: String) -> [UInt8] { Array("<plist version=\"1.0\">\n\(text)\n</plist>".utf8) }

    @Test func `pins imported from TrustKit have its defaults, and findings for settings that are not taken over`()
        throws
    {
        let one = try ExportsSample.pin(1).base64
        let imported = try ImportedPins(
            self.plist(
                """
                <dict><key>TSKPinnedDomains</key><dict>
                <key>a.example</key><dict><key>TSKPublicKeyHashes</key><array><string>\(one)</string></array></dict>
                <key>b.example</key><dict>
                <key>TSKPublicKeyHashes</key><array><string>\(one)</string><string>x</string></array>
                <key>TSKEnforcePinning</key><string>NO</string><key>TSKIncludeSubdomains</key><true/>
                <key>TSKReportUris</key><array><string>https://example.com/</string></array>
                <key>TSKPublicKeyAlgorithms</key><array><string>TSKAlgorithmRsa2048</string></array>
                <key>TSKExpirationDate</key><string>2027-02-29</string>
                <key>Other</key><true/></dict>
                <key>c.b.example</key><dict><key>kSKExcludeSubdomainFromParentPolicy</key><true/></dict>
                <key>c.a.example</key><dict><key>kSKExcludeSubdomainFromParentPolicy</key><true/></dict>
                <key>d.example</key><dict><key>kSKExcludeSubdomainFromParentPolicy</key><false/></dict>
                <key>*.e.example</key><dict/>
                <key>E.example</key><dict/>
                </dict></dict>
                """), as: .trustkitIOS)
        #expect(
            ExportsSample.words(imported) == ["a.example 1", "b.example+ report_only 1", "c.b.example off"])
        #expect(imported.findings.map(\.line) == [5, 7, 9, 10, 12, 13, 14, 15])
    }

    /// `initWithBase64EncodedString:options:0`, which TrustKit decodes with, takes neither; it raises at the app's start.
    @Test(arguments: ["unpadded", "wrapped", "indented"])
    func `pins imported from TrustKit for iOS are in base64 that it decodes`(form: String) throws {
        let one = try ExportsSample.pin(1).base64
        let two = try ExportsSample.pin(2).base64
        let text =
            switch form {
            case "unpadded": String(two.dropLast())
            case "wrapped": "\(two.prefix(20))\n\(two.dropFirst(20))"
            default: " \(two)"
            }
        let imported = try ImportedPins(
            self.plist(
                """
                <dict><key>TSKPinnedDomains</key><dict><key>a.example</key><dict><key>TSKPublicKeyHashes</key>
                <array><string>\(one)</string>
                <string>\(text)</string></array></dict></dict></dict>
                """), as: .trustkitIOS)
        #expect(imported.findings.map(\.isDefect) == [true] && imported.findings.map(\.line) == [4])
    }

    @Test func `pins imported from a property list for two readers are noted for the other one`() throws {
        let one = try ExportsSample.pin(1).base64
        let bytes = self.plist(
            """
            <dict><key>TSKConfiguration</key><dict><key>TSKPinnedDomains</key>
            <dict><key>a.example</key><dict><key>TSKPublicKeyHashes</key>
            <array><string><![CDATA[\(one)]]></string></array></dict></dict></dict>
            <key>NSAppTransportSecurity</key><dict><key>NSPinnedDomains</key>
            <dict><key>b.example</key><dict><key>NSPinnedLeafIdentities</key>
            <array><dict><key>SPKI-SHA256-BASE64</key><string>\(one)</string></dict></array></dict></dict></dict></dict>
            """)
        for (format, hosts, line, other) in [
            (ImportFormat.trustkitIOS, "a.example 1", 6, "apple_ats"), (.appleATS, "b.example 1", 3, "trustkit_ios"),
        ] {
            let imported = try ImportedPins(bytes, as: format)
            #expect(ExportsSample.words(imported) == [hosts])
            #expect(imported.findings.map(\.isDefect) == [false] && imported.findings.map(\.line) == [line])
            #expect(imported.findings.first?.advice?.contains(other) == true)
        }
    }

    @Test func `pins imported from App Transport Security are the servers' where both kinds are given`() throws {
        func identities(_ bytes: UInt8...) throws -> String {
            try bytes.map {
                "<dict><key>SPKI-SHA256-BASE64</key><string>\(try ExportsSample.pin($0).base64)</string></dict>"
            }.joined()
        }
        let imported = try ImportedPins(
            self.plist(
                """
                <dict><key>CFBundleName</key><string>x</string><key>NSAppTransportSecurity</key><dict>
                <key>NSAllowsArbitraryLoads</key><false/><key>NSPinnedDomains</key><dict>
                <key>a.example</key><dict>
                <key>NSPinnedLeafIdentities</key><array>\(try identities(1, 2))</array>
                <key>NSPinnedCAIdentities</key><array>\(try identities(3))</array></dict>
                <key>b.example</key><dict><key>NSIncludesSubdomains</key><true/>
                <key>NSPinnedCAIdentities</key><array>\(try identities(3, 3))</array></dict>
                <key>c.example</key><dict><key>NSIncludesSubdomains</key><true/></dict>
                </dict></dict></dict>
                """), as: .appleATS)
        #expect(ExportsSample.words(imported) == ["*.b.example 3", "a.example 1 2", "b.example 3"])
        #expect(imported.findings.map(\.line) == [6, 9])
    }

    @Test(
        arguments: [
            (ImportFormat.trustkitIOS, "<plist><dict/></plist>", "there is no TSKPinnedDomains here"),
            (.appleATS, "<plist><dict/></plist>", "there is no NSPinnedDomains here"),
            (.appleATS, "<plist><dict/><dict/></plist>", "a property list has exactly one value"),
            (.appleATS, "<dict/>", "the root element should be plist, and is dict"),
            (.androidNSC, "<plist/>", "the root element should be network-security-config, and is plist"),
            (.androidNSC, "{}", "an element should begin here"),
            (
                .trustkitIOS, "<plist><dict><key>TSKPinnedDomains</key><array/></dict></plist>",
                "a dict should be here, and array is"
            ),
        ] as [(ImportFormat, String, String)])
    func `pins are not imported from a file of another kind`(format: ImportFormat, text: String, message: String) {
        #expect(
            performing: { try ImportedPins(Array(text.utf8), as: format) },
            throws: { ($0 as? TextDefect)?.message == message })
    }

    static let first = "d6qzRu9zOECb90Uez27xWltNsj0e1Md7GkYYkVoZWmM="
    static let second = "E9CZ9INDbd+2eRQozYqqbQ2yXLVKB9+xcprMF+44U1g="
    static let third = "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="

    /// RFC 7469 section 2.1.5, with its folded lines put together.
    @Test(
        arguments: [
            (
                #"Public-Key-Pins: max-age=3000; pin-sha256="\#(Self.first)"; pin-sha256="\#(Self.second)""#,
                [Self.first, Self.second], false, PinMode.enforce, 0
            ),
            (
                #"Public-Key-Pins: max-age=2592000; pin-sha256="\#(Self.second)"; pin-sha256="\#(Self.third)""#,
                [Self.second, Self.third], false, .enforce, 0
            ),
            (
                #"Public-Key-Pins: max-age=2592000; pin-sha256="\#(Self.second)"; pin-sha256="\#(Self.third)"; "#
                    + #"report-uri="http://example.com/pkp-report""#, [Self.second, Self.third], false, .enforce, 1
            ),
            (
                #"Public-Key-Pins-Report-Only: max-age=2592000; pin-sha256="\#(Self.second)"; "#
                    + #"pin-sha256="\#(Self.third)"; report-uri="https://other.example.net/pkp-report""#,
                [Self.second, Self.third], false, .reportOnly, 1
            ),
            (
                #"Public-Key-Pins: pin-sha256="\#(Self.first)"; pin-sha256="\#(Self.third)"; max-age=259200"#,
                [Self.first, Self.third], false, .enforce, 0
            ),
            (
                #"public-key-pins:pin-sha256="\#(Self.first)";pin-sha256="\#(Self.second)" ; "#
                    + #"pin-sha256="\#(Self.third)"; max-age=10000; includeSubDomains"#,
                [Self.first, Self.second, Self.third], true, .enforce, 0
            ),
        ] as [(String, [String], Bool, PinMode, Int)])
    func `pins imported from headers are read as RFC 7469 has them`(
        header: String, pins: [String], isDeep: Bool, mode: PinMode, findings: Int
    ) throws {
        let imported = try ImportedPins(Array(header.utf8), as: .hpkp, host: try HostPattern("example.com"))
        let host = try #require(imported.hosts.first)
        #expect(host.pattern.text == "example.com" && host.includesSubdomains == isDeep && host.mode == mode)
        #expect(host.pins.map(\.base64) == pins)
        #expect(imported.findings.count == findings)
    }

    @Test(
        arguments: [
            "Public-Key-Pins: pin-sha256=\"\(Self.first)\"", "Public-Key-Pins: max-age=0; pin-sha256=\"\(Self.first)\"",
            "Public-Key-Pins: max-age=1", "Public-Key-Pins: max-age=1; max-age=2; pin-sha256=\"\(Self.first)\"",
            "Public-Key-Pins: max-age=1; pin-sha256=\"\(Self.first)",
            "Public-Key-Pins: max-age=1, pin-sha256=\"\(Self.first)\"",
            "Public-Key-Pins: max-age=; pin-sha256=\"\(Self.first)\"", "Strict-Transport-Security: max-age=1",
            "nothing",
            "Host: *.example.com\nHost: example.com", "Host: Example.com",
            "Host: \nPublic-Key-Pins: max-age=1; pin-sha256=\"\(Self.first)\"",
        ])
    func `a header that has no effect gives no imported pins and a finding`(text: String) throws {
        let imported = try ImportedPins(Array(text.utf8), as: .hpkp, host: try HostPattern("example.com"))
        #expect(imported.hosts.isEmpty)
        #expect(!imported.findings.isEmpty)
    }

    @Test func `a header without a known sender gives no imported pins`() throws {
        let text = "Public-Key-Pins: max-age=1; pin-sha256=\"\(Self.first)\""
        let imported = try ImportedPins(Array(text.utf8), as: .hpkp)
        #expect(imported.hosts.isEmpty)
        #expect(imported.findings.map(\.message) == ["Nothing says which host sends this header."])
    }

    @Test func `pins imported from a header leave out single pins and unknown directives`() throws {
        let text =
            "# x\n\nHost: a.example\r\nPublic-Key-Pins: max-age=\"5\";; pin-sha256=\"x\"; "
            + "pin-sha256=\"d6qz\\Ru9zOECb90Uez27xWltNsj0e1Md7GkYYkVoZWmM=\"; pin-sha256=\"\(Self.first)\"; strict\n"
            + "Public-Key-Pins: max-age=5; pin-sha256=\"\(Self.second)\""
        let imported = try ImportedPins(Array(text.utf8), as: .hpkp)
        #expect(imported.hosts.map { $0.pins.map(\.base64) } == [[Self.first]])
        #expect(imported.findings.map(\.line) == [4, 4, 5])
    }

    @Test(arguments: ImportFormat.allCases)
    func `a file that is too long or not text is refused on import`(format: ImportFormat) {
        #expect(throws: TextDefect.self) { try ImportedPins([0xFF], as: format) }
        let long = Array(repeating: UInt8(ascii: "#"), count: XMLReader.sizeLimit + 1)
        #expect(throws: TextDefect.self) { try ImportedPins(long, as: format) }
    }

    @Test func `an import reports what keeps a file from meaning what its author wanted`() throws {
        let one = try ExportsSample.pin(1).base64
        let text = """
            <network-security-config>
            <domain-config cleartextTrafficPermitted="true"><domain>10.0.2.2</domain></domain-config>
            <domain-config><domain>10.0.2.3</domain>
            <pin-set expiration="soon"><pin digest="SHA-256">\(one)</pin>
            <pin digest="SHA-256">\(one.dropLast(2))</pin></pin-set></domain-config>
            <other/>
            </network-security-config>
            """
        let imported = try ImportedPins(Array(text.utf8), as: .androidNSC)
        #expect(imported.findings.map(\.line) == [2, 2, 3, 4, 5, 6])
        #expect(imported.findings.map(\.isDefect) == [false, false, true, true, true, false])
    }

    @Test func `an import knows where each host stands in the file`() throws {
        let view = try ExportsSample.view()
        let imported = try ImportedPins(try Export.render(.trustkitIOS, of: view).bytes, as: .trustkitIOS)
        #expect(Set(imported.hosts.map(\.line)).count == imported.hosts.count)
        #expect(imported.hosts.allSatisfy { $0.line > 1 && $0.column > 1 })
    }

    /// For each format, the most that a short text can ask for.
    static let excessive: [(ImportFormat, String, String)] = {
        let pin = "<pin digest='SHA-256'>\(Base64.encode(Array(repeating: 9, count: 32)))</pin>"
        func config(_ contents: String) -> String {
            "<network-security-config>\(contents)</network-security-config>"
        }
        func block(_ range: Range<Int>, _ pins: String) -> String {
            let domains = range.map { "<domain>h\($0).example</domain>" }.joined()
            return "<domain-config>\(domains)<pin-set>\(pins)</pin-set></domain-config>"
        }
        func pins(_ count: Int) -> String {
            (0..<count).map { number in
                let bytes = Array(repeating: UInt8(7), count: 30) + [UInt8(number / 256), UInt8(number % 256)]
                return "<pin digest='SHA-256'>\(Base64.encode(bytes))</pin>"
            }.joined()
        }
        return [
            (.androidNSC, config(block(0..<1001, pin)), "at most 1000 hosts"),
            (.androidNSC, config(block(0..<1, pins(101))), "at most 100 pins"),
            (.androidNSC, config(block(0..<101, pins(100))), "at most 10000 pins of all hosts"),
            (.androidNSC, config(String(repeating: "<x/>", count: 501)), "more than 500 things"),
            (.hpkp, String(repeating: "x\n", count: 501), "more than 500 things"),
            (
                .androidNSC, "<network-security-config \((0..<65).map { "a\($0)=''" }.joined(separator: " "))/>",
                "at most 64 attributes"
            ),
        ]
    }()

    @Test(arguments: Self.excessive)
    func `a file that asks for too much is refused on import`(format: ImportFormat, text: String, words: String) {
        #expect(
            performing: { try ImportedPins(Array(text.utf8), as: format) },
            throws: { ($0 as? TextDefect)?.message.contains(words) == true })
    }

    /// Files as they are exported, cut off and damaged anywhere: read or refused, and nothing else.
    @Test(arguments: Self.roundTrips)
    func `a damaged file gives no imported pins, or some, and no crash`(
        export: ExportFormat, format: ImportFormat, hosts: [String]
    ) throws {
        let view = try ExportsSample.view(validUntil: ExportsSample.until)
        let bytes = try Export.render(export, of: view).bytes
        var refused = 0
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        func next(_ bound: Int) -> Int {
            // xorshift64: any numbers will do, the same each time.
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int(state % UInt64(bound))
        }
        for round in 0..<400 {
            var damaged = bytes
            if round % 2 == 0 {
                damaged.removeLast(next(damaged.count) + 1)
            } else {
                for _ in 0...next(3) { damaged[next(damaged.count)] = UInt8(next(256)) }
            }
            do throws(TextDefect) {
                let imported = try ImportedPins(damaged, as: format)
                #expect(imported.hosts.count <= bytes.count)
            } catch {
                #expect(error.line >= 1 && error.column >= 1 && !error.message.isEmpty)
                refused += 1
            }
        }
        #expect(format == .hpkp || refused > 100, "XML that is cut off is none")
    }
}
