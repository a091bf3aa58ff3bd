import HTTPTypes
import PinWire
import Testing

@testable import PinledgerServer

/// Files that should be JSON and are none.
@Suite struct `A file that is not JSON` {
    @Test(
        arguments: [
            ("", "line 1, column 1: the file is empty. Choose"), ("\u{FEFF} \n", "the file is empty"),
            ("{\n  // ours\n  \"enabled\": true}", "line 2, column 3: JSON has no comments. Remove"),
            ("{\"enabled\": true,\n}", "line 2, column 1: JSON has no comma behind the last value. Remove"),
            ("{\"hosts\": [1,\n ]}", "line 2, column 2: JSON has no comma behind the last value"),
            ("{\"hosts\": {}}\n# end", "line 2, column 1: JSON has no comments"),
            ("{\"ü\": \"€\", x}", "line 1, column 12: a member name should be here. Correct the file"),
            ("{\r\n\"a\": tru\r\n}", "line 2, column 6: there is no JSON value here. Correct the file"),
        ] as [(String, String)])
    func `a file that is not JSON is refused at the line and column`(text: String, words: String) async throws {
        for format in ["remote-config", "firebase_template", "wultra"] {
            let answer = try await InProcessServer.refused(
                .post, "/v1/import/\(format)?app=com.example.new&dry_run=true", text)
            #expect(answer.status == 422 && answer.problem == "import_refused", "\(answer.body)")
            let said = answer.body["errors"]?.arrayValue?.first?["detail"]?.stringValue ?? ""
            #expect(said.contains(words), "\(said)")
        }
    }

    @Test(arguments: [[0xFF, 0xFE, 0x7B, 0x00, 0x7D, 0x00], [0xFE, 0xFF, 0x00, 0x7B, 0x00, 0x7D]] as [[UInt8]])
    func `a file in UTF-16 is called so`(bytes: [UInt8]) async throws {
        let answer = try await InProcessServer.ask(
            .post, "/v1/import/remote-config?app=com.example.new&dry_run=true", bytes)
        #expect(answer.problem == "import_refused", "\(answer.body)")
        #expect(answer.body.canonicalText.contains("the file is in UTF-16"), "\(answer.body)")
    }

    @Test func `the value that was read when JSON ended is named beside the line`() async throws {
        let answer = try await InProcessServer.refused(
            .post, "/v1/import/remote-config?app=com.example.new", "{\"hosts\": {\n\"a\": tru}}")
        #expect(answer.pointers == ["/hosts/a"])
        #expect(answer.body["findings"]?.arrayValue?.first?["line"] == 2, "\(answer.body)")
    }
}
