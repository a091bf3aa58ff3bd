import Formats
import PinWire
import Testing

@Suite struct `Merging into a Firebase project` {
    private static let parameter = "ssl_pinning_config"

    private static func app(_ name: String = "shop") throws -> AppID { try AppID("com.example.\(name)") }

    private static func condition(
        _ number: Int, _ expression: String, of app: String = "shop", isKill: Bool = false
    ) -> RemoteConfigPart.Condition {
        .init(
            name: "pinledger com.example.\(app) \(number) \(isKill ? "kill switch" : "candidate")",
            expression: expression, value: #"{"enabled":\#(!isKill),"number":\#(number)}"#, isKill: isKill)
    }

    private static func part(
        _ conditions: [RemoteConfigPart.Condition] = [], otherwise: String? = #"{"enabled":true}"#,
        of app: String = "shop", parameter: String = Self.parameter, firebaseApp: String? = nil
    ) throws -> RemoteConfigPart {
        RemoteConfigPart(
            app: try Self.app(app), parameter: parameter, conditions: conditions, otherwise: otherwise,
            firebaseApp: firebaseApp)
    }

    private static func merge(
        _ parts: [RemoteConfigPart], _ text: String, position: Int64 = 7, sparing: [RemoteConfigOwner] = [],
        isForced: Bool = false
    ) throws -> RemoteConfigMerge {
        try RemoteConfigMerge(
            parts, into: Array(text.utf8), position: position, sparing: sparing, isForced: isForced)
    }

    /// What a project has after a merge, which must change something.
    private static func merged(
        _ parts: [RemoteConfigPart], _ text: String, position: Int64 = 7, sparing: [RemoteConfigOwner] = []
    ) throws -> String {
        String(
            decoding: try #require(try Self.merge(parts, text, position: position, sparing: sparing).body),
            as: UTF8.self)
    }

    private static func names(_ text: String) throws -> [String] {
        try JSON(text: text)["conditions"]?.arrayValue?.compactMap { $0["name"]?.stringValue } ?? []
    }

    @Test func `an empty project gets the parts, the kill switch first`() throws {
        let part = try Self.part([Self.condition(1, "a", isKill: true), Self.condition(2, "b")])
        let text = try Self.merged([part], "{}")
        #expect(
            try JSON(text: text)
                == JSON(
                    text: #"""
                        {"conditions":[
                          {"name":"pinledger com.example.shop 1 kill switch","expression":"a"},
                          {"name":"pinledger com.example.shop 2 candidate","expression":"b"}],
                         "parameters":{"ssl_pinning_config":{
                          "defaultValue":{"value":"{\"enabled\":true}"},"valueType":"JSON",
                          "description":"TLS pins at position 7 of the ledger, by Pinledger; edits here are lost.",
                          "conditionalValues":{
                           "pinledger com.example.shop 1 kill switch":{"value":"{\"enabled\":false,\"number\":1}"},
                           "pinledger com.example.shop 2 candidate":{"value":"{\"enabled\":true,\"number\":2}"}}}},
                         "version":{"description":"Pinledger, position 7: com.example.shop"}}
                        """#))
        #expect(try Self.merge([part], text).body == nil)
        #expect(try Self.merge([part], text, position: 8).differences == [])
    }

    /// Spelled as nobody here would spell it: with unknown members, white space, escapes and long numbers.
    private static let foreign = #"""
        {"future": {"x": 1.50, "y":[ ]},
         "conditions": [{"tagColor":"BLUE", "name":"iOS","expression":"device.os == 'ios'", "new":12345678901234567890},
          {"name":"Beta \u00fcsers","expression":"percent <= 10"}],
         "parameters": {"zeta":{"defaultValue":{"value":"1"},"conditionalValues":{"iOS":{"value":"\/2"}}},
          "alpha":{"defaultValue":{"personalizationValue":{"personalizationId":"p"}},"valueType":"NUMBER"}},
         "parameterGroups": {"New menu":{"description":"d","parameters":{"menu":{"defaultValue":{"value":"m"}}}}},
         "version":{"versionNumber":"6","updateUser":{"email":"somebody@example.com"}}}
        """#

    @Test func `what is other people's stays byte for byte and in its order`() throws {
        let text = try Self.merged([try Self.part([Self.condition(1, "a")])], Self.foreign)
        for kept in [
            #""future":{"x": 1.50, "y":[ ]}"#,
            #"{"tagColor":"BLUE", "name":"iOS","expression":"device.os == 'ios'", "new":12345678901234567890},"#
                + #"{"name":"Beta \u00fcsers","expression":"percent <= 10"}"#,
            #""parameters":{"zeta":{"defaultValue":{"value":"1"},"conditionalValues":{"iOS":{"value":"\/2"}}},"alpha":"#
                + #"{"defaultValue":{"personalizationValue":{"personalizationId":"p"}},"valueType":"NUMBER"}"#,
            #""parameterGroups":{"New menu":{"description":"d","parameters":{"menu":{"defaultValue":{"value":"m"}}}}}"#,
        ] {
            #expect(text.contains(kept), "\(kept) is not in \(text)")
        }
        #expect(try Self.names(text) == ["pinledger com.example.shop 1 candidate", "iOS", "Beta üsers"])
        #expect(!text.contains("somebody@example.com"))
    }

    /// A project in step, with a value of ours under somebody else's condition.
    private static func present(_ order: [String], description: String = "", group: Bool = false) -> String {
        let conditions = [
            "kill": #"{"name":"pinledger com.example.shop 1 kill switch","expression":"a","tagColor":"RED"}"#,
            "candidate": #"{"expression":"b","name":"pinledger com.example.shop 2 candidate"}"#,
            "testers": #"{"name":"testers","expression":"t"}"#, "others": #"{"name":"others","expression":"o"}"#,
        ]
        let parameter = #"""
            "ssl_pinning_config":{"description":"\#(description)","valueType":"JSON","state":"kept",
             "defaultValue":{"value":"{ \"enabled\": true }"},"conditionalValues":{"testers":{"value":"off"},
             "pinledger com.example.shop 2 candidate":{"value":"{\"number\":2,\"enabled\":true}"},
             "pinledger com.example.shop 1 kill switch":{"value":"{\"enabled\":false,\"number\":1}"}}}
            """#
        let list = order.compactMap { conditions[$0] }.joined(separator: ",")
        let place =
            group ? #""parameterGroups":{"g":{"parameters":{\#(parameter)}}}"# : #""parameters":{\#(parameter)}"#
        return #"{"conditions":[\#(list)],\#(place)}"#
    }

    private static func inStep() throws -> RemoteConfigPart {
        try Self.part([Self.condition(1, "a", isKill: true), Self.condition(2, "b")])
    }

    @Test(arguments: [
        (["kill", "candidate", "testers", "others"], true),
        (["others", "kill", "candidate", "testers"], true),
        (["kill", "others", "candidate", "testers"], true),
        (["testers", "kill", "candidate", "others"], false),
        (["kill", "testers", "candidate", "others"], false),
        (["candidate", "kill", "testers", "others"], false),
    ])
    func `only an order that lets something else win is changed`(order: [String], isInStep: Bool) throws {
        for group in [false, true] {
            let text = Self.present(order, group: group)
            let merge = try Self.merge([Self.inStep()], text)
            #expect((merge.body == nil) == isInStep)
            #expect(merge.foreignConditions == ["testers"])
            guard let body = merge.body else { continue }
            let mended = String(decoding: body, as: UTF8.self)
            #expect(try Self.names(mended).prefix(2).map { $0.suffix(6) } == ["switch", "didate"])
            #expect(try Self.merge([Self.inStep()], mended).body == nil)
        }
    }

    @Test func `what changes takes along what others have added to it`() throws {
        var part = try Self.part([Self.condition(1, "later", isKill: true), Self.condition(2, "b")])
        let text = try Self.merged([part], Self.present(["kill", "candidate", "testers"], group: true))
        let json = try JSON(text: text)
        #expect(
            json["conditions"]?.arrayValue?.first
                == ["name": "pinledger com.example.shop 1 kill switch", "expression": "later", "tagColor": "RED"])
        // The value alone.
        part = try Self.part([Self.condition(1, "a", isKill: true), Self.condition(2, "b")], otherwise: "{}")
        let other = try JSON(text: Self.merged([part], Self.present(["kill", "candidate", "testers"], group: true)))
        let parameter = try #require(other["parameterGroups"]?["g"]?["parameters"]?[Self.parameter])
        #expect(parameter["state"] == "kept")
        #expect(parameter["defaultValue"] == ["value": "{}"])
        #expect(parameter["conditionalValues"]?["testers"] == ["value": "off"])
        #expect(other["parameters"] == [:])
    }

    @Test func `what is no longer wanted goes, with what others made of it`() throws {
        let text = #"""
            {"conditions":[{"name":"pinledger com.example.shop 1 kill switch","expression":"a"},
              {"name":"pinledger com.example.else 1 candidate","expression":"e"},
              {"name":"pinledger com.example.gone 1 candidate","expression":"g"}],
             "parameters":{"flag":{"defaultValue":{"value":"x"},"conditionalValues":{
               "pinledger com.example.shop 1 kill switch":{"value":"y"},
               "pinledger com.example.else 1 candidate":{"value":"z"}}}}}
            """#
        let json = try JSON(text: Self.merged([try Self.part()], text))
        #expect(
            json["conditions"]?.arrayValue?.compactMap { $0["name"]?.stringValue }
                == ["pinledger com.example.else 1 candidate"])
        #expect(
            json["parameters"]?["flag"]
                == [
                    "defaultValue": ["value": "x"],
                    "conditionalValues": ["pinledger com.example.else 1 candidate": ["value": "z"]],
                ])
    }

    @Test func `two apps share a parameter by their Firebase apps`() throws {
        let first = try Self.part(
            [Self.condition(1, "a"), .init(name: "pinledger 1-1-ios-aa", expression: "i", value: "{}", isKill: false)],
            otherwise: nil, firebaseApp: "1:1:ios:aa")
        let second = try Self.part(
            [Self.condition(1, "b", of: "till", isKill: true)], otherwise: nil, of: "till",
            firebaseApp: "1:1:android:bb")
        let text = try Self.merged([second, first], "{}")
        #expect(
            try Self.names(text) == [
                "pinledger com.example.till 1 kill switch", "pinledger com.example.shop 1 candidate",
                "pinledger 1-1-ios-aa",
            ])
        let value = try JSON(text: text)["parameters"]?[Self.parameter]
        #expect(value?["defaultValue"] == ["useInAppDefault": true])
        #expect(value?["conditionalValues"]?.objectValue?.count == 3)
        #expect(try Self.merge([first, second], text).body == nil)
        // One that there is nothing to put of now keeps what it has.
        #expect(try Self.merge([second], text, sparing: [first.owner]).body == nil)
        #expect(try Self.names(try Self.merged([second], text)) == ["pinledger com.example.till 1 kill switch"])
    }

    @Test func `two apps with one parameter and nothing to tell them apart are refused`() throws {
        let parts = [try Self.part(), try Self.part(of: "till")]
        #expect(RemoteConfigPart.conflicts(in: parts).keys.sorted { $0.text < $1.text } == parts.map(\.app))
        #expect(throws: RemoteConfigMergeRefusal.self) { try Self.merge(parts, "{}") }
        #expect(RemoteConfigPart.conflicts(in: [parts[0], try Self.part(of: "till", parameter: "pins_2")]).isEmpty)
    }

    @Test func `what was written at a later position is left alone unless it is forced`() throws {
        let description = "TLS pins at position 9 of the ledger, by Pinledger; edits here are lost."
        let text = Self.present(["kill", "candidate", "testers"], description: description)
        let refusal = RemoteConfigMergeRefusal.newer(parameter: Self.parameter, position: 9, here: 8)
        #expect(throws: refusal) { try Self.merge([try Self.part()], text, position: 8) }
        #expect(try Self.merge([try Self.part()], text, position: 9).body != nil)
        #expect(try Self.merge([try Self.part()], text, position: 8, isForced: true).body != nil)
        // Nothing differs, so that nobody is in anybody's way.
        #expect(try Self.merge([Self.inStep()], text, position: 8).body == nil)
    }

    @Test func `limits of the service are refusals`() throws {
        let conditions = (0..<2000).map { #"{"name":"c\#($0)","expression":"x"}"# }.joined(separator: ",")
        let part = try Self.part([Self.condition(1, "a")])
        #expect(throws: RemoteConfigMergeRefusal.tooManyConditions(2001, limit: 2000)) {
            try Self.merge([part], #"{"conditions":[\#(conditions)]}"#)
        }
        let parameters = (0..<3000).map { #""p\#($0)":{"defaultValue":{"value":""}}"# }.joined(separator: ",")
        #expect(throws: RemoteConfigMergeRefusal.tooManyParameters(3001, limit: 3000)) {
            try Self.merge([part], #"{"parameters":{\#(parameters)}}"#)
        }
        let long = String(repeating: "x", count: 1_000_000 - 15)
        #expect(throws: RemoteConfigMergeRefusal.tooLarge(1_000_001, limit: 1_000_000)) {
            try Self.merge([try Self.part()], #"{"parameters":{"p":{"defaultValue":{"value":"\#(long)"}}}}"#)
        }
    }

    @Test(arguments: [
        "", "[]", #"{"conditions":{}}"#, #"{"parameters":[]}"#, #"{"conditions":[{}]}"#, #"{"a":1,"a":2}"#,
        #"{"parameterGroups":{"g":1}}"#,
    ])
    func `what is no template is not written over`(text: String) throws {
        let error = #expect(throws: RemoteConfigMergeRefusal.self) { try Self.merge([try Self.part()], text) }
        guard case .unreadable? = error else {
            Issue.record("\(text) is \(String(describing: error))")
            return
        }
    }
}
