import ClientFormats
import ClientLiterals
import PinWire
import Pinning
import Testing

private typealias Wultra = WultraExamples

@Suite struct `A request of Wultra's clients` {
    @Test func `a Wultra request needs no more than the app's name`() throws {
        let request = try WultraInitRequest(appName: "mobile-app")
        #expect(request.app == Wultra.shop && request.device == nil && request.languages.codes.isEmpty)
        #expect(request.facts == Device())
    }

    @Test(
        arguments: [
            ("3.1.2", "14.5.1", "IOS", "3.1.2", 14, .ios),
            ("3.1.2", "17.4", "IOS", "3.1.2", 17, .ios), ("3.1.0", "13", "ANDROID", "3.1.0", 13, .android),
            ("3.1.2-beta.1", "14-rc", "android", "3.1.2-beta.1", 14, .android),
            ("3.1.2-beta 4", "9", "Ios", "3.1.2-beta-4", 9, .ios), ("3.1.2-", "9", "IOS", "3.1.2--", 9, .ios),
            ("03.1.2", "14.5.1.2 (API 34)", "IOS", "3.1.2", 14, .ios),
        ] as [(String, String, String, String, Int64, WultraPlatform)])
    func `a Wultra request asks the version gate with all three of its parameters`(
        appVersion: String, osVersion: String, platform: String, version: String, major: Int64, known: WultraPlatform
    ) throws {
        let request = try WultraInitRequest(
            appName: "mobile-app", appVersion: appVersion, osVersion: osVersion, platform: platform)
        let expected = WultraDevice(appVersion: Wultra.version(version), platform: known, majorOSVersion: major)
        #expect(request.device == expected)
        #expect(request.facts == Device(appVersion: request.appVersion?.text))
    }

    @Test(
        arguments: [
            ("3.1.2", nil, "IOS"), ("3.1.2", "17", nil), (nil, "17", "IOS"), ("", "17", "IOS"), ("3.1.2", "", "IOS"),
            ("3.1.2", "17", ""), ("3.1.2", nil, "WINDOWS"), (nil, nil, "WINDOWS"), (nil, "iOS 17", nil),
        ] as [(String?, String?, String?)])
    func `a Wultra request with fewer than the three parameters does not ask the version gate`(
        appVersion: String?, osVersion: String?, platform: String?
    )
        throws
    {
        let request = try WultraInitRequest(
            appName: "mobile-app", appVersion: appVersion, osVersion: osVersion, platform: platform)
        #expect(request.device == nil)
    }

    @Test(
        arguments: [
            (nil, "3.1.2", "17", "IOS", "ERROR_REQUEST", 400), ("", "3.1.2", "17", "IOS", "ERROR_REQUEST", 400),
            ("..", "3.1.2", "17", "IOS", "APP_NOT_FOUND", 404), ("a app", "3.1.2", "17", "IOS", "APP_NOT_FOUND", 404),
            ("app", "three", "17", "IOS", "ERROR_REQUEST", 400),
            ("app", "3.1.2beta", "17", "IOS", "ERROR_REQUEST", 400),
            ("app", "-1", "17", "IOS", "ERROR_REQUEST", 400), ("app", "3.1.2", "iOS 17", "IOS", "ERROR_REQUEST", 400),
            ("app", "3.1.2", "1234567890", "IOS", "ERROR_REQUEST", 400),
            ("app", "3.1.2", "17", "WINDOWS", "ERROR_REQUEST", 400),
        ] as [(String?, String, String, String, String, Int)])
    func `a malformed Wultra request is refused`(
        name: String?, appVersion: String, osVersion: String, platform: String, code: String, status: Int
    ) {
        let error = #expect(throws: WultraError.self) {
            try WultraInitRequest(appName: name, appVersion: appVersion, osVersion: osVersion, platform: platform)
        }
        #expect(error?.code.rawValue == code && error?.status == status)
    }

    /// What is asked, and the body of the refusal, in the envelope that Wultra's server has for such requests.
    @Test(
        arguments: [
            (nil, nil, nil, #""message":"The parameter appName is required."}}"#),
            (
                "app", "3.1", nil,
                #""violations":[{"fieldName":"appInit.applicationVersion","invalidValue":"3.1","hint":""#
            ),
            ("app", "3.1.2.4", nil, #""fieldName":"appInit.applicationVersion","invalidValue":"3.1.2.4","#),
            ("app", "three", nil, #""invalidValue":"three","#),
            ("app", "3.1.2", "WEB", #""fieldName":"appInit.platform","invalidValue":"WEB","#),
        ] as [(String?, String?, String?, String)])
    func `the refusal of a Wultra request names the wrong parameter`(
        name: String?, appVersion: String?, platform: String?, part: String
    ) throws {
        let error = try #require(throws: WultraError.self) {
            try WultraInitRequest(appName: name, appVersion: appVersion, osVersion: "17", platform: platform)
        }
        let body = Wultra.text(error.body)
        #expect(body.hasPrefix(#"{"status":"ERROR","responseObject":{"code":"ERROR_REQUEST","#) && body.contains(part))
    }

    @Test(
        arguments: [
            (nil, []), ("", []), ("en", ["en"]), ("de-CH", ["de"]), ("DE", ["de"]), ("de_DE", ["de"]),
            ("fr;q=0.3, cs;q=0.9, en", ["en", "cs", "fr"]), ("fr, cs, en", ["fr", "cs", "en"]),
            ("fr;q=0.5,cs;q=0.5", ["fr", "cs"]), ("de-AT, de;q=0.9, en;q=0.8", ["de", "en"]),
            ("de;q=0, en;q=0.001", ["en"]), ("*;q=0.5, en;q=0.1", ["en"]), ("de ; q=0.7 ,\tfr", ["fr", "de"]),
            ("de;q=1.001, fr", ["fr"]), ("de;q=2, fr", ["fr"]), ("de;q=, fr", ["fr"]), ("de;q=0.1234, fr", ["fr"]),
            ("de;x=1, fr", ["fr"]), ("de;q=0x5, fr", ["fr"]), ("de;Q=0.5, fr;q=0.6", ["fr", "de"]),
            ("de;q=1., fr", ["de", "fr"]), ("deu, e, 12, é, fr", ["fr"]), (",,;,", []),
            (String(repeating: "xx,", count: 32) + "en", ["xx"]),
        ] as [(String?, [String])])
    func `a Wultra request names languages in order of preference`(header: String?, codes: [String]) {
        #expect(WultraLanguages(acceptLanguage: header).codes == codes)
    }
}

@Suite struct `Wultra's version gate` {
    private static let settings = ClientSettings(
        versionRules: [
            ClientVersionRule(
                id: 1, platform: .ios, suggestedVersion: "3.2.0", requiredVersion: "2.0.0", messageKey: "update"),
            ClientVersionRule(
                id: 2, platform: .ios, majorOSVersion: 12, suggestedVersion: "2.9.9", messageKey: "old-system"),
            ClientVersionRule(id: 3, platform: .android, majorOSVersion: 14, requiredVersion: "4.0.0"),
            // A second rule for the place of the first.
            ClientVersionRule(id: 4, platform: .ios, requiredVersion: "9.0.0"),
            ClientVersionRule(
                id: 5, platform: .android, majorOSVersion: 15, requiredVersion: "4.0.0", messageKey: "unknown"),
        ],
        texts: [
            ClientText(key: "update", language: "en", text: "Please update."),
            ClientText(key: "update", language: "cs", text: "Aktualizujte, \"prosím\"."),
            ClientText(key: "old-system", language: "cs", text: "Starý systém."),
        ])

    @Test(
        arguments: [
            ("1.9.9", "17", "IOS", "en", "FORCED", "Please update."),
            ("2.0.0-rc1", "17", "IOS", "en", "FORCED", "Please update."),
            ("2.0.0", "17", "IOS", "en", "SUGGESTED", "Please update."),
            ("3.1.9", "17.4", "IOS", nil, "SUGGESTED", "Please update."),
            ("3.1.9", "17", "IOS", "cs-CZ", "SUGGESTED", "Aktualizujte, \"prosím\"."),
            ("3.1.9", "17", "IOS", "de, cs;q=0.5, en;q=0.1", "SUGGESTED", "Aktualizujte, \"prosím\"."),
            ("3.1.9", "17", "IOS", "de, fr", "SUGGESTED", "Please update."),
            ("3.2.0", "17", "IOS", "en", "NOT_REQUIRED", nil), ("3.10.0", "17", "IOS", "en", "NOT_REQUIRED", nil),
            // The rule for the system's version holds alone.
            ("1.0.0", "12", "IOS", "cs", "SUGGESTED", "Starý systém."),
            ("1.0.0", "12", "IOS", "en", "SUGGESTED", nil),
            ("2.9.9", "12.5.7", "IOS", "cs", "NOT_REQUIRED", nil),
            ("3.9.9", "14", "ANDROID", "en", "FORCED", nil), ("4.0.0", "14", "ANDROID", "en", "NOT_REQUIRED", nil),
            ("3.9.9", "15", "ANDROID", "en", "FORCED", nil),
            // No rule is for it.
            ("0.0.1", "13", "ANDROID", "en", "NOT_REQUIRED", nil),
        ] as [(String, String, String, String?, String, String?)])
    func `Wultra's version gate says which versions should update`(
        appVersion: String, osVersion: String, platform: String, languages: String?, update: String, message: String?
    ) throws {
        let request = try WultraInitRequest(
            appName: "app", appVersion: appVersion, osVersion: osVersion, platform: platform, acceptLanguage: languages)
        let device = try #require(request.device)
        let result = WultraVersionGate(Self.settings).result(for: device, in: request.languages)
        #expect(result.update.rawValue == update && result.message == message)
    }

    @Test func `Wultra's version gate answers within the answer`() throws {
        let app = Wultra.app(.init("api.example.com", .enforce, Wultra.certificate(1, "api.example.com")))
        let template = WultraInitTemplate(Wultra.view(app), Self.settings)
        func body(_ osVersion: String?, _ language: String) throws -> String {
            let request = try WultraInitRequest(
                appName: "mobile-app", appVersion: "2.5.0", osVersion: osVersion, platform: "IOS",
                acceptLanguage: language)
            return Wultra.text(template.body(for: request, at: Wultra.noon))
        }
        let plain = Wultra.text(template.body(at: Wultra.noon))
        #expect(try body(nil, "en") == plain)
        let asked = String(plain.dropLast())
        #expect(
            try body("17.4", "cs")
                == asked
                + #","verifyVersionResult":{"update":"SUGGESTED","message":"Aktualizujte, \"prosím\"."}}"#)
        #expect(try body("12", "en") == asked + #","verifyVersionResult":{"update":"SUGGESTED"}}"#)
    }
}
