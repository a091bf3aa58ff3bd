import ClientFormats
import ClientLiterals
import PinWire
import Pinning
import Testing

private typealias Wultra = WultraExamples

@Suite struct `A request to Wultra's administration` {
    private static let api = Wultra.pattern("api.example.com")
    private static let fingerprint = "nu1DOBz31Y5FY6lRNkJV/HdnB6BDVCp7mX0nxkbub7Y="

    /// Whose base64 begins with a plus.
    private static let plusses = Array(repeating: UInt8(0xFB), count: 32)

    /// Which reader is meant.
    enum Reader: Sendable {
        case app, auto, pem, rule, text, certificate, domain

        func read(_ text: String) throws(WultraAdminError) -> WultraAdminRequest? {
            let bytes = Array(text.utf8)
            let parts = text.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
            switch self {
            case .app: return try .createApp(bytes)
            case .auto: return try .addServedCertificate(bytes)
            case .pem: return try .addCertificate(bytes)
            case .rule: return try .addVersionRule(bytes)
            case .text: return try .setText(bytes)
            case .certificate:
                return try WultraAdminRequest.deleteCertificate(domain: parts.first, fingerprint: parts.last)
            case .domain: return try WultraAdminRequest.deleteDomain(text)
            }
        }
    }

    @Test(
        arguments: [
            (.app, #"{"name":"mobile-app","displayName":"My App"}"#, .createApp(Wultra.shop, displayName: "My App")),
            (.app, #"{"name":"9_","displayName":"x","id":7}"#, .createApp(Wultra.appID("9_"), displayName: "x")),
            (.auto, #"{"domain":"API.example.com"}"#, .addServedCertificate(api)),
            (.pem, #"{"domain":"api.example.com","pem":"x"}"#, .addCertificate(api, pem: "x", depth: nil)),
            (.pem, #"{"domain":"api.example.com","pem":"x","depth":1}"#, .addCertificate(api, pem: "x", depth: 1)),
            (
                .certificate, "api.example.com|\(fingerprint)",
                .deleteCertificate(api, fingerprint: Wultra.bytes(fingerprint))
            ),
            (
                .certificate, "api.example.com|\(Base64.encode(plusses).replacing("+", with: " "))",
                .deleteCertificate(api, fingerprint: plusses)
            ),
            (.domain, "api.example.com", .deleteDomain(api)),
            (
                .rule, #"{"platform":"IOS","majorOsVersion":12,"suggestedVersion":"2.0.0","messageKey":"k"}"#,
                .addVersionRule(
                    ClientVersionRule(
                        id: 0, platform: .ios, majorOSVersion: 12, suggestedVersion: "2.0.0", messageKey: "k"))
            ),
            (
                .rule, #"{"id":5,"platform":"ANDROID","majorOsVersion":null,"requiredVersion":"2.0.0-beta 1"}"#,
                .addVersionRule(ClientVersionRule(id: 0, platform: .android, requiredVersion: "2.0.0-beta 1"))
            ),
            (
                .text, #"{"messageKey":"k","language":"CS","text":"Ahoj\n\"světe\""}"#,
                .setText(ClientText(key: "k", language: "cs", text: "Ahoj\n\"světe\""))
            ),
        ] as [(Reader, String, WultraAdminRequest)])
    func `a Wultra admin request is read`(reader: Reader, text: String, request: WultraAdminRequest) throws {
        #expect(try reader.read(text) == request)
    }

    @Test(
        arguments: [
            (.app, #"{"displayName":"x"}"#, "name"), (.app, #"{"name":""}"#, "name"), (.app, #"{"name":"a"}"#, "name"),
            (.app, #"{"name":"-ab"}"#, "name"), (.app, #"{"name":"_ab"}"#, "name"), (.app, #"{"name":"a.b"}"#, "name"),
            (.app, #"{"name":"a b"}"#, "name"), (.app, #"{"name":"ahé"}"#, "name"), (.app, #"{"name":7}"#, "name"),
            (.app, #"{"name":"ab\n"}"#, "name"), (.app, "{\"name\":\"\(String(repeating: "a", count: 256))\"}", "name"),
            (.app, "{\"name\":\"\(String(repeating: "a", count: 255))\"}", "name"),
            (.app, #"{"name":"ab"}"#, "displayName"), (.app, #"{"name":"ab","displayName":null}"#, "displayName"),
            (.app, #"{"name":"ab","displayName":" "}"#, "displayName"),
            (.app, #"{"name":"ab","displayName":"a\u0007"}"#, "displayName"),
            (.auto, #"{}"#, "domain"), (.auto, #"{"domain":"https://api.example.com"}"#, "domain"),
            (.auto, #"{"domain":"127.0.0.1"}"#, "domain"), (.auto, #"{"domain":null}"#, "domain"),
            (.pem, #"{"pem":"x"}"#, "domain"), (.pem, #"{"domain":"api.example.com"}"#, "pem"),
            (.pem, #"{"domain":"api.example.com","pem":"x","depth":-1}"#, "depth"),
            (.pem, #"{"domain":"api.example.com","pem":"x","depth":"1"}"#, "depth"),
            (.rule, #"{"requiredVersion":"1.0.0"}"#, "platform"),
            (.rule, #"{"platform":"WINDOWS","requiredVersion":"1.0.0"}"#, "platform"),
            (.rule, #"{"platform":"IOS","requiredVersion":"one"}"#, "requiredVersion"),
            (.rule, #"{"platform":"IOS","requiredVersion":"2.0"}"#, "requiredVersion"),
            (.rule, #"{"platform":"IOS","suggestedVersion":7}"#, "suggestedVersion"),
            (.rule, #"{"platform":"IOS"}"#, "suggestedVersion"),
            (.rule, #"{"platform":"IOS","requiredVersion":"1.0.0","majorOsVersion":"12"}"#, "majorOsVersion"),
            (.rule, #"{"platform":"IOS","requiredVersion":"1.0.0","messageKey":""}"#, "messageKey"),
            (.text, #"{"language":"en","text":"x"}"#, "messageKey"),
            (.text, #"{"messageKey":"k","language":"eng","text":"x"}"#, "language"),
            (.text, #"{"messageKey":"k","language":"1_","text":"x"}"#, "language"),
            (.text, #"{"messageKey":"k\u00e9y","language":"en","text":"x"}"#, "messageKey"),
            (.text, #"{"messageKey":"k","language":"en"}"#, "text"),
            (
                .text, "{\"messageKey\":\"k\",\"language\":\"en\",\"text\":\"\(String(repeating: "é", count: 1001))\"}",
                "text"
            ),
        ] as [(Reader, String, String)])
    func `a Wultra admin request is refused with the name of its wrong member`(
        reader: Reader, text: String, field: String
    ) {
        let error = #expect(throws: WultraAdminError.self) { try reader.read(text) }
        #expect(error?.code == .malformed && error?.status == 400)
        #expect(error?.violations.map(\.field) == [field])
    }

    @Test(
        arguments: [
            (.certificate, "|\(fingerprint)"), (.certificate, "api.example.com|"), (.certificate, "a b|\(fingerprint)"),
            (.certificate, "api.example.com|AAAA"), (.domain, ""), (.domain, "192.0.2.1"), (.domain, "a b"),
        ] as [(Reader, String)])
    func `a Wultra admin request to delete what no app can have does nothing`(reader: Reader, text: String) throws {
        #expect(try reader.read(text) == nil)
    }

    @Test func `a Wultra admin request to delete must name its object`() {
        for (domain, fingerprint) in [(nil, nil), ("api.example.com", nil), (nil, Self.fingerprint)]
            as [(String?, String?)]
        {
            let error = #expect(throws: WultraAdminError.self) {
                try WultraAdminRequest.deleteCertificate(domain: domain, fingerprint: fingerprint)
            }
            #expect(error?.code == .malformed && error?.violations.isEmpty == true)
        }
        #expect(throws: WultraAdminError.self) { try WultraAdminRequest.deleteDomain(nil) }
    }

    /// The member that is wrong, and what is repeated of it.
    @Test(
        arguments: [
            (.app, #"{"name":"a b","displayName":"x"}"#, #","invalidValue":"a b""#),
            (.app, #"{"name":7,"displayName":"x"}"#, #","invalidValue":7"#), (.app, #"{"displayName":"x"}"#, ""),
            (.app, #"{"name":["x"],"displayName":"x"}"#, ""), (.app, #"{"name":null,"displayName":"x"}"#, ""),
            (.rule, #"{"platform":"IOS","requiredVersion":"2.0"}"#, #","invalidValue":"2.0""#),
            (.pem, #"{"domain":"api.example.com","pem":"x","depth":false}"#, #","invalidValue":false"#),
            (
                .text, "{\"messageKey\":\"\(String(repeating: "k", count: 256))\",\"language\":\"en\",\"text\":\"x\"}",
                ""
            ),
        ] as [(Reader, String, String)])
    func `the refusal of a Wultra admin request quotes the wrong member's value`(
        reader: Reader, text: String, repeated: String
    ) throws {
        let error = try #require(throws: WultraAdminError.self) { try reader.read(text) }
        let field = try #require(error.violations.first?.field)
        #expect(
            Wultra.text(error.body).contains(#""violations":[{"fieldName":"\#(field)"\#(repeated),"hint":""#),
            "\(Wultra.text(error.body))")
    }

    /// Every value read here is recorded, and every entry of the ledger must stay readable.
    @Test(
        arguments: [
            (.rule, #"{"platform":"IOS","requiredVersion":"3.1.2- ~b+c!","majorOsVersion":999999999}"#),
            (.rule, #"{"platform":"android","suggestedVersion":"999999999.0.01","messageKey":"two words"}"#),
            (.rule, "{\"platform\":\"IOS\",\"requiredVersion\":\"1.0.0-\(String(repeating: "x", count: 122))\"}"),
            (
                .rule,
                "{\"platform\":\"IOS\",\"requiredVersion\":\"1.0.0\",\"messageKey\":\"\(String(repeating: "k", count: 255))\"}"
            ),
            (
                .text,
                "{\"messageKey\":\"k\",\"language\":\"EN\",\"text\":\"\(String(repeating: "\u{10FFFF}", count: 1000))\"}"
            ),
            (.text, #"{"messageKey":"k","language":"en","text":"\u0000\u202e"}"#),
        ] as [(Reader, String)])
    func `a Wultra admin request's values are stored in settings that can be read again`(reader: Reader, text: String)
        throws
    {
        var settings = ClientSettings()
        switch try reader.read(text) {
        case .addVersionRule(let rule):
            settings = try #require(
                try WultraAdminCommand.adding(rule, to: settings, of: Wultra.app()).settings)
            // The gate uses it, too.
            let device = WultraDevice(
                appVersion: Wultra.version("0.0.1"), platform: rule.platform, majorOSVersion: rule.majorOSVersion ?? 1)
            let result = WultraVersionGate(settings).result(for: device, in: WultraLanguages(acceptLanguage: nil))
            #expect(result.update != .notRequired)
        case .setText(let text):
            settings = try #require(try WultraAdminCommand.setting(text, in: settings).settings)
        default: Issue.record("only rules and texts are kept in settings")
        }
        let json = settings.json(of: .wultra)
        let read = try ClientSettings(JSONField(try JSON(parsing: json.canonicalBytes)), of: .wultra)
        #expect(read == settings)
    }

    @Test(arguments: [("k", "EN"), ("two words", "cs")])
    func `a Wultra admin request names a text in its path`(key: String, language: String) throws {
        let name = try WultraAdminRequest.textName(key: key, language: language)
        #expect(name.key.text == key && name.language.text == language.lowercased())
    }

    @Test(arguments: [
        ("", "en", "messageKey"), (" k", "en", "messageKey"), ("k", "eng", "language"), ("k", "", "language"),
    ])
    func `a Wultra admin path that names no text is refused`(key: String, language: String, field: String) {
        let error = #expect(throws: WultraAdminError.self) {
            try WultraAdminRequest.textName(key: key, language: language)
        }
        #expect(error?.violations.map(\.field) == [field])
    }

    @Test func `a Wultra admin request with a name too long to store is refused`() {
        let error = #expect(throws: WultraAdminError.self) {
            try WultraAdminRequest.createApp(
                Array("{\"name\":\"\(String(repeating: "a", count: 129))\",\"displayName\":\"x\"}".utf8))
        }
        #expect(error?.message == "name must have at most 128 characters: longer names cannot be kept here.")
    }

    @Test(arguments: ["", "[]", "{", "7", #"{"name":"a","name":"b"}"#])
    func `a Wultra admin request must be an object`(text: String) {
        let error = #expect(throws: WultraAdminError.self) { try Reader.app.read(text) }
        #expect(error?.code == .malformed && error?.violations.isEmpty == true)
    }

    @Test(
        arguments: [
            (
                WultraAdminError("name", "is \"required\""), 400,
                #"{"status":"ERROR","responseObject":{"code":"ERROR_REQUEST","message":"name is \"required\".","#
                    + #""violations":[{"fieldName":"name","hint":"is \"required\""}]}}"#
            ),
            (
                .appNotFound("shop"), 404,
                #"{"status":"ERROR","responseObject":{"code":"APP_NOT_FOUND","message":"There is no app shop."}}"#
            ),
            (
                WultraAdminError(.unauthenticated, "Authentication failed."), 401,
                #"{"status":"ERROR","responseObject":{"code":"ERROR_AUTHENTICATION","message":"Authentication failed."}}"#
            ),
            (
                .unmet("There is no version rule 7."), 400,
                #"{"status":"ERROR","responseObject":{"code":"ERROR_REQUEST","message":"There is no version rule 7.","#
                    + #""violations":[]}}"#
            ),
            (
                .unforeseen, 500,
                #"{"status":"ERROR","responseObject":{"code":"INTERNAL_ERROR","message":"An unexpected error occurred."}}"#
            ),
        ] as [(WultraAdminError, Int, String)])
    func `a failed Wultra admin request gets the reason`(error: WultraAdminError, status: Int, body: String) {
        #expect(error.status == status)
        #expect(Wultra.text(error.body) == body)
    }
}

@Suite struct `An answer of Wultra's administration` {
    private static let one = Wultra.certificate(1, "api.example.com")
    private static let old = Wultra.certificate(1, "api.example.com", edition: 1, notAfter: Wultra.noon)
    private static let two = Wultra.certificate(2, "api.example.com", notAfter: Wultra.noon)

    @Test func `an answer of Wultra's administration lists apps by name`() throws {
        let body = WultraAdminAnswer.apps([
            (Wultra.appID("web"), "Web"), (Wultra.shop, "My \"App\""),
        ])
        let expected =
            #"{"applications":[{"name":"mobile-app","displayName":"My \"App\""},{"name":"web","displayName":"Web"}]}"#
        #expect(Wultra.text(body) == expected)
    }

    @Test func `an answer of Wultra's administration shows an app with what its clients trust`() {
        let app = Wultra.app(
            .init("api.example.com", .enforce, Self.one, Self.old, Self.two), .init("own.example.com", nil))
        let body = WultraAdminAnswer.app(
            app, publicKey: [4, 1, 2], material: [Self.one.sha256: [1, 2, 3]], at: Wultra.noon)
        // For a key with a valid certificate the expired one is not shown; for one without, the last.
        let expected =
            #"{"name":"mobile-app","displayName":"Mobile \"App\"","publicKey":"BAEC","domains":["#
            + #"{"name":"api.example.com","certificates":["#
            + #"{"pem":"-----BEGIN CERTIFICATE-----\nAQID\n-----END CERTIFICATE-----\n","#
            + #""fingerprint":"\#(Base64.encode(Self.one.sha256))","expires":4102444800},"#
            + #"{"fingerprint":"\#(Base64.encode(Self.two.sha256))","expires":1760697600}]},"#
            + #"{"name":"own.example.com","certificates":[]}]}"#
        #expect(Wultra.text(body) == expected)
        let bare = WultraAdminAnswer.app(Wultra.app(), publicKey: nil, material: [:], at: Wultra.noon)
        #expect(Wultra.text(bare) == #"{"name":"mobile-app","displayName":"Mobile \"App\"","domains":[]}"#)
    }

    @Test func `an answer of Wultra's administration shows an added certificate`() {
        let body = WultraAdminAnswer.certificate(Self.one, der: [1, 2, 3], of: Wultra.pattern("api.example.com"))
        let expected =
            #"{"name":"api.example.com","pem":"-----BEGIN CERTIFICATE-----\nAQID\n-----END CERTIFICATE-----\n","#
            + #""fingerprint":"\#(Base64.encode(Self.one.sha256))","expires":4102444800}"#
        #expect(Wultra.text(body) == expected)
        let bare = WultraAdminAnswer.certificate(Self.one, der: nil, of: Wultra.pattern("api.example.com"))
        #expect(!Wultra.text(bare).contains("pem"))
    }

    @Test func `an answer of Wultra's administration shows version rules and texts`() {
        let rules = [
            ClientVersionRule(id: 9, platform: .android, requiredVersion: "2.0.0"),
            ClientVersionRule(
                id: 3, platform: .ios, majorOSVersion: 12, suggestedVersion: "2.1.0", requiredVersion: "2.0.0",
                messageKey: "k"),
        ]
        let one = #"{"id":9,"platform":"ANDROID","requiredVersion":"2.0.0"}"#
        let two =
            #"{"id":3,"platform":"IOS","majorOsVersion":12,"suggestedVersion":"2.1.0","requiredVersion":"2.0.0","#
            + #""messageKey":"k"}"#
        #expect(Wultra.text(WultraAdminAnswer.versionRules(rules)) == #"{"applicationVersions":[\#(two),\#(one)]}"#)
        #expect(Wultra.text(WultraAdminAnswer.versionRule(rules[0])) == one)
        let text = ClientText(key: "k", language: "en", text: "Hi")
        let shown = #"{"messageKey":"k","language":"en","text":"Hi"}"#
        #expect(Wultra.text(WultraAdminAnswer.texts([text])) == #"{"texts":[\#(shown)]}"#)
        #expect(Wultra.text(WultraAdminAnswer.text(text)) == shown)
        #expect(Wultra.text(WultraAdminAnswer.ok) == #"{"status":"OK"}"#)
    }
}
