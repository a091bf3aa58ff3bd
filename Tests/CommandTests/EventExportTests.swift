import PinWire
import Testing

@testable import pinledger

/// Events in the forms for other programs; the tests of the whole command read them with other programs.
struct EventExportTests {
    private func line(_ form: EventExport, _ change: (inout [String: JSON]) -> Void = { _ in }) throws -> String {
        var event: [String: JSON] = [
            "actor": ["id": "tok_0", "kind": "token", "name": "Ann"], "data": ["name": "A, \"B\""], "position": 7,
            "schema": 1, "stream": "app/com.example.shop", "stream_version": 2, "time": "2026-01-31T12:00:00.123456Z",
            "type": "AppRenamed",
        ]
        change(&event)
        let bytes = try form.line(of: .object(event), from: "https://pins.example.com")
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `a row ends with CR LF, and quotes are doubled`() throws {
        let data = #""{""name"":""A, \""B\""""}""#
        let row =
            #""7","2026-01-31T12:00:00.123456Z","app/com.example.shop","2","AppRenamed","token","tok_0","Ann",,,,,"#
        #expect(try self.line(.csv) == row + data + "\r\n")
        #expect(String(decoding: try #require(EventExport.csv.header), as: UTF8.self).hasSuffix(",\"data\"\r\n"))
        for form in [EventExport.ndjson, .cloudevents, .ocsf] { #expect(form.header == nil) }
    }

    @Test(arguments: [
        "=1", "+1", "-1", "@A", "\u{FF1D}1", "\u{FF0B}1", "\u{FF0D}1", "\u{FF20}A", "\t=1", "\r=1", "\n=1",
    ])
    func `a cell that a spreadsheet would compute begins with an apostrophe`(reason: String) throws {
        let line = try self.line(.csv) { $0["reason"] = .string(reason) }
        #expect(line.contains(",\"'\(reason)\","))
    }

    @Test func `no text of an event breaks a line of JSON`() throws {
        for form in [EventExport.ndjson, .cloudevents, .ocsf] {
            let line = try self.line(form) { $0["reason"] = "a\r\nb\u{2028}\u{1B}[2J" }
            #expect(line.utf8.filter { $0 == UInt8(ascii: "\n") }.count == 1 && line.hasSuffix("\n"))
            #expect(!line.utf8.contains(0x1B) && !line.utf8.contains(UInt8(ascii: "\r")))
        }
    }

    @Test func `an event without a position, time, type or stream is refused`() throws {
        for name in ["position", "time", "type", "stream"] {
            #expect(throws: CommandFailure.self) { try self.line(.ndjson) { $0[name] = nil } }
        }
    }

    @Test func `the sequence of an event sorts as text`() throws {
        let lines = try [0, 9, 10, 99, 1_000_000, 9_007_199_254_740_991].map { position in
            try JSON(parsing: Array(self.line(.cloudevents) { $0["position"] = .integer(position) }.utf8.dropLast()))[
                "sequence"]?
                .stringValue ?? ""
        }
        #expect(lines == lines.sorted() && lines.allSatisfy { $0.utf8.count == 19 })
    }
}
