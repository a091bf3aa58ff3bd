import ClientLiterals
import PinWire
import Pinning
import Testing

@Suite struct `Settings of Wultra's clients` {
    @Test(arguments: [
        ("3.1.2", true), ("0.0.0", true), ("03.1.2", true), ("999999999.999999999.999999999", true), ("3.1.2-", true),
        ("3.1.2-rc.1", true), ("3.1.2-rc 1", true), ("3.1.2-a-b+c!", true),
        ("3.1.2-" + String(repeating: "x", count: 122), true),
        ("3.1.2-" + String(repeating: "x", count: 123), false), ("", false), ("3", false), ("3.1", false),
        ("3.1.2.4", false), ("3.1.", false), ("3..2", false), ("v3.1.2", false), ("3.1.x", false), (" 3.1.2", false),
        ("3.1.2 ", false), ("3.1.2+5", false), ("1000000000.1.2", false), ("-3.1.2", false), ("3.1.2-é", false),
        ("3.1.2-\n", false), ("٣.1.2", false),
    ])
    func `settings of Wultra's clients have versions of three numbers`(text: String, isVersion: Bool) {
        #expect(((try? ClientVersion(text))?.text == text) == isVersion)
    }

    @Test(arguments: [
        ("k", true), ("update.required", true), ("two words", true), ("~!\"/", true),
        (String(repeating: "k", count: 255), true), (String(repeating: "k", count: 256), false), ("", false),
        (" ", false), (" k", false), ("k ", false), ("k\n", false), ("k\u{7F}", false), ("ké", false),
        ("k\u{202E}", false),
    ])
    func `settings of Wultra's clients name messages in printable ASCII`(text: String, isKey: Bool) {
        #expect(((try? TextKey(text))?.text == text) == isKey)
    }

    @Test(arguments: [
        ("en", true), ("zz", true), ("EN", false), ("e", false), ("eng", false), ("e1", false), ("é", false),
        ("", false), ("e ", false),
    ])
    func `settings of Wultra's clients name languages by two letters`(text: String, isLanguage: Bool) {
        #expect(((try? TextLanguage(text))?.text == text) == isLanguage)
    }

    @Test(arguments: [
        ("x", true), (" ", true), ("\u{0}\n\u{202E}", true), (String(repeating: "é", count: 1000), true),
        (String(repeating: "\u{1F600}", count: 1000), true), ("", false), (String(repeating: "x", count: 1001), false),
        (String(repeating: "\u{1F600}", count: 1001), false),
    ])
    func `settings of Wultra's clients have texts of up to a thousand characters`(text: String, isText: Bool) {
        #expect(((try? MessageText(text))?.text == text) == isText)
    }

    @Test(arguments: [("IOS", WultraPlatform.ios), ("ANDROID", .android), ("ios", nil), ("WEB", nil), ("", nil)])
    func `settings of Wultra's clients know two platforms`(text: String, platform: WultraPlatform?) {
        #expect((try? WultraPlatform(text)) == platform)
    }

    @Test(arguments: [
        (#"{"id":1,"platform":"IOS","major_os_version":0}"#, true),
        (#"{"id":1,"platform":"IOS","major_os_version":999999999}"#, true),
        (#"{"id":1,"platform":"IOS","major_os_version":1000000000}"#, false),
        (#"{"id":1,"platform":"IOS","major_os_version":-1}"#, false),
        (#"{"id":9007199254740991,"platform":"IOS"}"#, true), (#"{"id":0,"platform":"IOS"}"#, false),
    ])
    func `settings of Wultra's clients have readable rules`(text: String, isRule: Bool) throws {
        let field = JSONField(try JSON(parsing: Array(text.utf8)))
        #expect(((try? ClientVersionRule(field)) != nil) == isRule)
    }

    @Test func `settings of Wultra's clients keep rules in the order of their ids, each once`() throws {
        var settings = ClientSettings()
        for id in [5, 2, 9] as [Int64] { try settings.add(ClientVersionRule(id: id, platform: .ios)) }
        #expect(settings.versionRules.map(\.id) == [2, 5, 9])
        for id in [5, 0, -1, JSON.largestInteger + 1] {
            #expect(throws: ClientSettings.Malformed.self) {
                try settings.add(ClientVersionRule(id: id, platform: .android))
            }
        }
        #expect(settings.versionRules.map(\.id) == [2, 5, 9])
    }

    @Test func `settings of Wultra's clients keep texts in the order of their keys and languages, each once`() throws {
        var settings = ClientSettings()
        let texts: [ClientText] = [
            ClientText(key: "b", language: "en", text: "1"), ClientText(key: "b", language: "cs", text: "2"),
            ClientText(key: "a", language: "en", text: "3"),
        ]
        for text in texts { try settings.add(text) }
        #expect(settings.texts == [texts[2], texts[1], texts[0]])
        #expect(throws: ClientSettings.Malformed.self) {
            try settings.add(ClientText(key: "b", language: "cs", text: "4"))
        }
    }

    @Test func `settings of Wultra's clients keep no more than the limit of each`() throws {
        var settings = ClientSettings()
        for number in 1...ClientSettings.ruleLimit {
            try settings.add(ClientVersionRule(id: Int64(number), platform: .ios))
            try settings.add(ClientText(key: try TextKey("\(number)"), language: "en", text: "x"))
        }
        #expect(throws: ClientSettings.Malformed.self) {
            try settings.add(ClientVersionRule(id: Int64(ClientSettings.ruleLimit + 1), platform: .ios))
        }
        #expect(throws: ClientSettings.Malformed.self) {
            try settings.add(ClientText(key: "k", language: "en", text: "x"))
        }
    }
}
