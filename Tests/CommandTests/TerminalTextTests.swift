import PinWire
import Testing

@testable import pinledger

@Suite struct `Text for a terminal` {
    /// ESC, BEL, NUL, CR, DEL, CSI and NEL of C1, and each way to change the direction of text.
    private static let obeyed: [String] = [
        "\u{1B}", "\u{07}", "\u{00}", "\r", "\u{7F}", "\u{80}", "\u{85}", "\u{9B}", "\u{9F}", "\u{061C}", "\u{200E}",
        "\u{200F}", "\u{202A}", "\u{202E}", "\u{2066}", "\u{2069}",
    ]

    @Test(arguments: Self.obeyed) func `a character that a terminal obeys is shown as a question mark`(
        character: String
    ) throws {
        let text = "a\(character)]0;b é ✓"
        #expect(text.holdsControls)
        #expect(text.withoutControls() == "a?]0;b é ✓")
        var table = Table(["A\(character)"])
        table.add([text])
        #expect(!table.text.holdsControls)
    }

    @Test(arguments: Self.obeyed)
    func `a character that a terminal obeys is escaped in JSON and YAML, and readers read the same`(
        character: String
    ) throws {
        let value: JSON = ["reason": .string("a\(character)b é\n- c")]
        let json = value.canonicalText.withEscapedControls
        #expect(!json.holdsControls)
        #expect(try JSON(parsing: Array(json.utf8)) == value)
        let yaml = try YAMLText.text(of: value)
        #expect(!yaml.holdsControls)
        #expect(try YAMLFile(Array(yaml.utf8), named: "it").json == value)
    }

    @Test func `other text for a terminal stays as it is`() throws {
        let text = "é ✓ 😀 a\u{301} \u{200D}\tb\nc"
        #expect(!text.holdsControls)
        #expect(text.withoutControls(but: ["\n", "\t"]) == text)
        #expect("é ✓ {}".withEscapedControls == "é ✓ {}")
        #expect(try YAMLText.text(of: ["name": "é ✓"]) == "name: é ✓\n")
    }
}
