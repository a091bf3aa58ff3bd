import ClientFormats
import PinWire
import Pinning
import Testing

private typealias Examples = RemoteConfigExamples

/// An exported file, and the one value in it.
@Suite struct `An exported remote configuration` {
    private static let value: JSON = ["enabled": true, "target_hosts": ["api.example.com"]]
    private static let text = #"{\"enabled\":true,\"target_hosts\":[\"api.example.com\"]}"#

    private static func read(
        _ text: String, _ parameter: String = "ssl_pinning_config", condition: String? = nil
    ) throws -> RemoteConfigSource {
        try RemoteConfigSource(JSON(text: text), parameter: parameter, condition: condition)
    }

    @Test(arguments: [
        (#"{"enabled":true,"target_hosts":["api.example.com"]}"#, ""),
        (#""\#(text)""#, ""),
        (#"{"ssl_pinning_config":{"enabled":true,"target_hosts":["api.example.com"]}}"#, "/ssl_pinning_config"),
        (#"{"ssl_pinning_config":"\#(text)"}"#, "/ssl_pinning_config"),
        (
            #"{"parameters":{"ssl_pinning_config":{"defaultValue":{"value":"\#(text)"}}}}"#,
            "/parameters/ssl_pinning_config/defaultValue/value"
        ),
        (
            #"{"conditions":[],"parameterGroups":{"TLS":{"parameters":{"ssl_pinning_config":{"defaultValue":"#
                + #"{"value":"\#(text)"},"valueType":"JSON","description":"x"}}}},"version":{"versionNumber":"3"}}"#,
            "/parameterGroups/TLS/parameters/ssl_pinning_config/defaultValue/value"
        ),
    ])
    func `an exported remote configuration gives its value from any wrapping`(text: String, pointer: String) throws {
        let source = try Self.read(text)
        #expect(source.value == Self.value)
        #expect(source.pointer.text == pointer)
        #expect(source.findings.isEmpty && source.condition == nil)
    }

    private static let conditional = #"""
        {"conditions":[{"name":"kill","expression":"percent <= 100","tagColor":"RED"},
        {"name":"beta","expression":"app.version.>=(['2.0'])"},{"name":"other","expression":"percent <= 1"}],
        "parameters":{"ssl_pinning_config":{"defaultValue":{"value":"\#(text)"},
        "conditionalValues":{"beta":{"value":"{\"enabled\":false}"},"kill":{"useInAppDefault":true}}},
        "x":{"defaultValue":{"value":"1"},"conditionalValues":{"other":{"rolloutValue":{"rolloutId":"r"}}}}}}
        """#

    @Test func `an exported remote configuration gives its default value and names the others in their order`() throws {
        let source = try Self.read(Self.conditional)
        #expect(source.value == Self.value && source.condition == nil)
        #expect(
            source.findings.map { "\($0.pointer.text): \($0.message)" } == [
                "/parameters/ssl_pinning_config/defaultValue: is taken, and no conditional value is",
                "/parameters/ssl_pinning_config/conditionalValues/kill: is not taken (the app's own default); "
                    + "it holds where percent <= 100",
                "/parameters/ssl_pinning_config/conditionalValues/beta: is not taken (a text of 17 bytes); "
                    + "it holds where app.version.>=(['2.0'])",
            ])
    }

    @Test func `an exported remote configuration gives the value of a condition that is asked for`() throws {
        let source = try Self.read(Self.conditional, condition: "beta")
        #expect(source.value == ["enabled": false] && source.condition == "beta")
        #expect(source.pointer.text == "/parameters/ssl_pinning_config/conditionalValues/beta/value")
        #expect(source.findings.count == 2)
        #expect(source.findings.first?.message.hasPrefix("is not taken (a text of 51 bytes)") == true)
    }

    @Test(arguments: [#"{"useInAppDefault":true}"#, "null"])
    func `an exported remote configuration gives its only conditional value where the default has none`(
        otherwise: String
    ) throws {
        let source = try Self.read(
            #"""
            {"conditions":[{"name":"a","expression":"percent <= 5"}],"parameters":{"ssl_pinning_config":
            {"defaultValue":\#(otherwise),"conditionalValues":{"a":{"value":"\#(Self.text)"}}}}}
            """#)
        #expect(source.value == Self.value && source.condition == "a")
    }

    @Test(arguments: [
        (#"{"parameters":{}}"#, "/parameters", "has no parameter ssl_pinning_config"),
        (#"{"parameters":{"b":{},"a":{}}}"#, "/parameters", "has no parameter ssl_pinning_config; there are a, b"),
        (#"{"parameters":[]}"#, "/parameters", "must be an object, and is an array"),
        (#"{"parameters":{"a":[]}}"#, "/parameters/a", "must be an object"),
        (#"{"conditions":{}}"#, "/conditions", "must be an array"),
        (#"{"conditions":[{}]}"#, "/conditions/0/name", "is required"),
        (#"{"conditions":[{"name":""}]}"#, "/conditions/0/name", "must not be empty"),
        (#"{"conditions":[{"name":"a"},{"name":"a"}]}"#, "/conditions/1/name", "is another condition's name too"),
        (#"{"conditions":[{"name":"a","expression":1}]}"#, "/conditions/0/expression", "must be a string"),
        (
            #"{"parameters":{"a":{"conditionalValues":{"b":{"value":"1"}}}}}"#,
            "/parameters/a/conditionalValues/b", "is the name of no condition"
        ),
        (#"{"parameters":{"a":{"defaultValue":{}}}}"#, "/parameters/a/defaultValue", "must have a value"),
        (
            #"{"parameters":{"a":{"defaultValue":{"value":true}}}}"#, "/parameters/a/defaultValue/value",
            "must be a string"
        ),
        (
            #"{"parameters":{"a":{"defaultValue":{"useInAppDefault":false}}}}"#,
            "/parameters/a/defaultValue/useInAppDefault", "must be true"
        ),
        (
            #"{"parameters":{"a":{}},"parameterGroups":{"g":{"parameters":{"a":{}}}}}"#,
            "/parameterGroups/g/parameters/a", "is listed twice"
        ),
        (
            #"{"parameters":{"ssl_pinning_config":{"defaultValue":{"value":"{"}}}}"#,
            "/parameters/ssl_pinning_config/defaultValue/value", "is a text that does not hold JSON"
        ),
        (#"{"ssl_pinning_config":"nonsense"}"#, "/ssl_pinning_config", "is a text that does not hold JSON"),
        (
            #"{"parameters":{"ssl_pinning_config":{}}}"#, "/parameters/ssl_pinning_config/defaultValue",
            "holds no configuration (it is missing), and 0 conditional values do"
        ),
        (
            #"{"conditions":[{"name":"a"},{"name":"b"}],"parameters":{"ssl_pinning_config":{"conditionalValues":"#
                + #"{"a":{"value":"{}"},"b":{"value":"{}"}}}}}"#, "/parameters/ssl_pinning_config/defaultValue",
            "holds no configuration (it is missing), and 2 conditional values do"
        ),
    ])
    func `a malformed remote configuration is refused at the place of its defect`(
        text: String, pointer: String, message: String
    ) throws {
        let defect = #expect(throws: JSONDefect.self) { try Self.read(text) }
        #expect(defect?.pointer.text == pointer)
        #expect(defect?.message.hasPrefix(message) == true, "\(defect?.message ?? "")")
    }

    @Test(arguments: [("gone", "is not there"), ("kill", "is no text: the app's own default")])
    func `an exported remote configuration has no value for a condition without text`(
        condition: String, message: String
    ) throws {
        let defect = #expect(throws: JSONDefect.self) { try Self.read(Self.conditional, condition: condition) }
        #expect(defect?.pointer.text == "/parameters/ssl_pinning_config/conditionalValues/\(condition)")
        #expect(defect?.message == message)
    }

    @Test func `an exported remote configuration has conditions only as a template`() throws {
        let defect = #expect(throws: JSONDefect.self) { try Self.read(#"{"enabled":true}"#, condition: "a") }
        #expect(defect?.message == #"is not a template, and has no condition "a""#)
    }

    /// What is rendered can be read, in both spellings of conditions.
    @Test func `an exported remote configuration comes back as it was rendered`() throws {
        let view = Examples.view(
            [Examples.entry(Examples.api, Examples.policy(.enforce, 1, 2))], kills: [Examples.kill("app")])
        let rules = try RemoteConfigRules(view, settings: ClientSettings())
        for bytes in [rules.clientTemplate, rules.serverTemplate] {
            let source = try RemoteConfigSource(JSON(parsing: bytes))
            #expect(source.value["hosts"]?["api.example.com"]?["pins"]?["primary"]?.stringValue == Examples.text(1))
            #expect(source.findings.count == 2)
            let template = try RemoteConfigTemplate(JSONField(JSON(parsing: bytes)))
            #expect(template.conditions.map(\.name) == rules.rules.map(\.name))
        }
    }
}
