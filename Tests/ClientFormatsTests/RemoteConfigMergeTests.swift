import ClientFormats
import PinWire
import Pinning
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
            firebaseApp: try firebaseApp.map(FirebaseAppID.init(_:)))
    }

    private static func merge(
        _ parts: [RemoteConfigPart], _ text: String, position: Int64 = 7, sparing: Set<AppID> = [],
        holders: Set<AppID> = []
    ) throws -> RemoteConfigMerge {
        try RemoteConfigMerge(parts, into: Array(text.utf8), position: position, sparing: sparing, holders: holders)
    }

    /// What a project has after a merge, which must change something.
    private static func merged(
        _ parts: [RemoteConfigPart], _ text: String, position: Int64 = 7, sparing: Set<AppID> = []
    ) throws -> String {
        String(
            decoding: try #require(try Self.merge(parts, text, position: position, sparing: sparing).body),
            as: UTF8.self)
    }

    private static func names(_ text: String) throws -> [String] {
        try JSON(text: text)["conditions"]?.arrayValue?.compactMap { $0["name"]?.stringValue } ?? []
    }

    @Test func `merging into an empty project adds the parts, the kill switch first`() throws {
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

    @Test func `a merge leaves other people's entries unchanged, byte for byte and in their order`() throws {
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

    /// A project in step, with a value of ours under another team's condition.
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
    func `a merge changes only an order that lets another entry win`(order: [String], isInStep: Bool) throws {
        for group in [false, true] {
            let text = Self.present(order, group: group)
            let merge = try Self.merge([Self.inStep()], text)
            #expect((merge.body == nil) == isInStep)
            #expect(merge.foreignConditions == [Self.parameter: ["testers"]])
            guard let body = merge.body else { continue }
            let mended = String(decoding: body, as: UTF8.self)
            #expect(try Self.names(mended).prefix(2).map { $0.suffix(6) } == ["switch", "didate"])
            #expect(try Self.merge([Self.inStep()], mended).body == nil)
        }
    }

    @Test func `a merge that changes an entry keeps what others have added to it`() throws {
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

    @Test func `a merge removes an entry that is no longer wanted, with what others made of it`() throws {
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
            [
                Self.condition(1, "a"),
                .init(name: "pinledger com.example.shop all installs", expression: "i", value: "{}", isKill: false),
            ], otherwise: nil, firebaseApp: "1:1:ios:aa")
        let second = try Self.part(
            [Self.condition(1, "b", of: "till", isKill: true)], otherwise: nil, of: "till",
            firebaseApp: "1:1:android:bb")
        let text = try Self.merged([second, first], "{}")
        #expect(
            try Self.names(text) == [
                "pinledger com.example.till 1 kill switch", "pinledger com.example.shop 1 candidate",
                "pinledger com.example.shop all installs",
            ])
        let value = try JSON(text: text)["parameters"]?[Self.parameter]
        #expect(value?["defaultValue"] == ["useInAppDefault": true])
        #expect(value?["conditionalValues"]?.objectValue?.count == 3)
        #expect(try Self.merge([first, second], text).body == nil)
        // One that there is nothing to put of now keeps what it has.
        #expect(try Self.merge([second], text, sparing: [first.app]).body == nil)
        #expect(try Self.names(try Self.merged([second], text)) == ["pinledger com.example.till 1 kill switch"])
    }

    @Test func `a merge does not push both of two indistinguishable apps with one parameter`() throws {
        let (first, second) = (try Self.part(), try Self.part(otherwise: "{}", of: "till"))
        func conflict(_ part: RemoteConfigPart) -> RemoteConfigMergeRefusal {
            .conflict(parameter: Self.parameter, apps: [part.app])
        }
        let neither = try Self.merge([first, second], "{}")
        #expect(neither.conflicts == [first.app: conflict(second), second.app: conflict(first)])
        #expect(neither.body == nil)
        // Whose value it has stays, and goes on being put.
        let text = try Self.merged([second], "{}")
        let merge = try Self.merge([first, second], text)
        #expect(merge.conflicts == [first.app: conflict(second)] && merge.body == nil)
        let killed = try Self.part([Self.condition(1, "a", of: "till", isKill: true)], otherwise: "[]", of: "till")
        let known = try Self.merge([first, killed], text, holders: [second.app])
        #expect(known.conflicts.keys.map(\.self) == [first.app])
        let body = String(decoding: try #require(known.body), as: UTF8.self)
        #expect(try Self.names(body) == ["pinledger com.example.till 1 kill switch"])
        // By its conditions too.
        #expect(try Self.merge([first, try Self.part(otherwise: "1", of: "till")], body).conflicts[second.app] == nil)
        #expect(
            try Self.merge([first, try Self.part(of: "till", parameter: "pins_2")], "{}").conflicts.isEmpty)
    }

    @Test func `an app without installs on a shared parameter blocks no other app`() throws {
        let parts = try ["ios:aa", "ios:aa", "android:bb"].enumerated().map { place, id in
            try Self.part(
                [Self.condition(1, "a", of: "app\(place)")], otherwise: nil, of: "app\(place)",
                firebaseApp: "1:1:\(id)")
        }
        let merge = try Self.merge(parts, "{}")
        #expect(Set(merge.conflicts.keys) == [parts[0].app, parts[1].app])
        let text = String(decoding: try #require(merge.body), as: UTF8.self)
        #expect(try Self.names(text) == ["pinledger com.example.app2 1 candidate"])
    }

    @Test func `a merge leaves an entry of a later position alone until its description no longer says so`() throws {
        let description = "TLS pins at position 9 of the ledger, by Pinledger; edits here are lost."
        let text = Self.present(["kill", "candidate", "testers"], description: description)
        let refusal = RemoteConfigMergeRefusal.newer(parameter: Self.parameter, position: 9, here: 8)
        #expect(throws: refusal) { try Self.merge([try Self.part()], text, position: 8) }
        #expect(try Self.merge([try Self.part()], text, position: 9).body != nil)
        // Nothing differs, so that no app blocks another.
        #expect(try Self.merge([Self.inStep()], text, position: 8).body == nil)
        // As the advice has it, for a ledger that was restored.
        #expect(refusal.advice.contains(#"delete "position 9" from the description of ssl_pinning_config"#))
        let mended = text.replacing("position 9", with: "")
        let merged = try Self.merged([try Self.part()], mended, position: 8)
        #expect(merged.contains("TLS pins at position 8 of the ledger"))
    }

    /// The expression of a kill switch alone: its value stays the same when it is extended.
    @Test func `every change of a merge records the ledger's position, so that a lagging node does not revert it`()
        throws
    {
        let other = try Self.part(of: "till", parameter: "zeta_pins")
        let first = try Self.merged([Self.inStep(), other], "{}", position: 10)
        let extended = try Self.part([Self.condition(1, "later", isKill: true), Self.condition(2, "b")])
        let second = try Self.merged([extended, other], first, position: 20)
        let refusal = RemoteConfigMergeRefusal.newer(parameter: Self.parameter, position: 20, here: 15)
        #expect(throws: refusal) { try Self.merge([Self.inStep(), other], second, position: 15) }
        #expect(throws: refusal) { try Self.merge([Self.inStep()], second, position: 15) }
        #expect(try Self.merge([extended, other], second, position: 15).body == nil)
    }

    /// Clients in Dart fail to use `5` as a share.
    @Test(arguments: [
        (#"{ \"b\" : [true, \"\u00e9\"], \"a\":5.0}"#, true), (#"{\"a\":5,\"b\":[true,\"é\"]}"#, false),
        (#"{\"a\":5.00,\"b\":[true,\"é\"]}"#, false), (#"{\"a\":5.0,\"b\":[true]}"#, false),
        (#"{\"a\":5.0,\"b\":[true,\"é\"],\"c\":1}"#, false),
    ])
    func `a merge treats a value in another spelling as equal, numbers excepted`(value: String, isSame: Bool) throws {
        let part = try Self.part(otherwise: #"{"a":5.0,"b":[true,"é"]}"#)
        let text = #"{"parameters":{"\#(Self.parameter)":{"valueType":"JSON","defaultValue":{"value":"\#(value)"}}}}"#
        #expect((try Self.merge([part], text).body == nil) == isSame)
    }

    @Test(arguments: [
        ("app.id=='a b'&&percent <= 10", true), (" app.id == 'a b'\n && percent<=10", true),
        ("app.id == 'ab' && percent <= 10", false), ("app.id == 'a b' && percent <= 11", false),
    ])
    func `a merge treats an expression with other white space as equal`(expression: String, isSame: Bool) throws {
        let part = try Self.part([Self.condition(1, "app.id == 'a b' && percent <= 10")])
        let template = try JSON(text: Self.merged([part], "{}"))
        let condition: JSON = [
            "name": "pinledger com.example.shop 1 candidate", "expression": .string(expression),
        ]
        let text = JSON.object((template.objectValue ?? [:]).merging(["conditions": [condition]]) { $1 }).canonicalText
        #expect((try Self.merge([part], text).body == nil) == isSame)
    }

    @Test func `a merge reports others' conditions on the parameter that has values under them`() throws {
        let (shop, till) = (try Self.part(), try Self.part(of: "till", parameter: "pins_2"))
        let text = #"""
            {"conditions":[{"name":"testers","expression":"t"},{"name":"pinledger com.example.gone 1 candidate","expression":"g"}],
             "parameters":{"pins_2":{"defaultValue":{"value":"1"},"conditionalValues":{
               "testers":{"value":"2"},"pinledger com.example.gone 1 candidate":{"value":"3"}}}}}
            """#
        let merge = try Self.merge([shop, till], text, sparing: [try Self.app("gone")])
        #expect(merge.foreignConditions == ["pins_2": ["testers"]])
        #expect(String(decoding: try #require(merge.body), as: UTF8.self).contains("com.example.gone 1 candidate"))
    }

    @Test func `a merge that exceeds the service's limits is refused`() throws {
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
    func `a merge never overwrites something that is not a template`(text: String) throws {
        let error = #expect(throws: RemoteConfigMergeRefusal.self) { try Self.merge([try Self.part()], text) }
        guard case .unreadable? = error else {
            Issue.record("\(text) is \(String(describing: error))")
            return
        }
    }
}
