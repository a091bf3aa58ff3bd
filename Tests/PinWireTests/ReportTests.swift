import SeededRandom
import Testing

@testable import PinWire

/// What clients report, read strictly in what is known and leniently in what is not.
struct ReportTests {
    private static let install = "uw5PSUQ3lNkB6Jaf8RvREg"
    private static let pin = "sha256/Inul8sbJEJ/lxEoGlvOTN5YHSTo3f1Iu4n2aeuMifYk="

    private func read(_ text: String) throws -> ReportBatch { try ReportBatch(parsing: Array(text.utf8)) }

    @Test func `a batch says once what holds for all of its outcomes`() throws {
        let batch = try self.read(
            """
            {"install": "\(Self.install)", "platform": "IOS", "app_version": "3.1.2-rc1", "document_version": 12, "outcomes": [
              {"host": "API.Example.com.", "outcome": "failure", "reason": "pin_mismatch", "served_spki": ["\(Self.pin)"],
               "arm": "candidate", "time": "2026-01-31T12:00:00+01:00", "count": 3, "id": "a"},
              {"host": "b.example.com", "outcome": "success", "document_version": 11, "reason": null, "arm": null},
              {"host": "c.example.com", "outcome": "failure", "reason": "a_new_one"},
              {"host": "d.example.com", "outcome": "failure"},
              {"host": "e.example.com", "outcome": "unpinned"}]}
            """)
        #expect(batch.refusals.isEmpty)
        let first = try #require(batch.outcomes.first)
        #expect(first.host == "api.example.com" && first.outcome == .failure(.pinMismatch) && first.count == 3)
        #expect(first.servedPins.map(\.description) == [Self.pin] && first.arm == .candidate && first.id == "a")
        #expect(first.time == Timestamp(rfc3339: "2026-01-31T11:00:00Z"))
        #expect(first.release == AppRelease(major: 3, minor: 1, patch: 2) && first.platform == .ios)
        #expect(batch.outcomes.map(\.documentVersion) == [12, 11, 12, 12, 12])
        #expect(batch.outcomes.allSatisfy { $0.install == InstallID(Self.install) })
        #expect(batch.outcomes[1].outcome == .success && batch.outcomes[1].arm == nil && batch.outcomes[1].count == 1)
        #expect(batch.outcomes[2...3].allSatisfy { $0.outcome == .failure(.other) })
        #expect(batch.outcomes[4].outcome == .unpinned)
    }

    @Test func `a batch says which version its sender holds, with and without outcomes`() throws {
        let alone = try self.read(
            #"{"install":"\#(Self.install)","document_version":12,"platform":"ios","outcomes":[]}"#)
        #expect(alone.outcomes.isEmpty && alone.holders.map(\.version) == [12])
        #expect(alone.holders.first?.install == InstallID(Self.install) && alone.holders.first?.platform == .ios)
        // An outcome of the sender names the version that decided then, not the one that is held.
        let other =
            #"{"host":"a.example.com","outcome":"success","install":"AAAAAAAAAAAAAAAAAAAAAA","document_version":9}"#
        let batch = try self.read(
            #"{"install":"\#(Self.install)","document_version":12,"outcomes":[{"host":"a.example.com","outcome":"success","document_version":11},\#(other)]}"#
        )
        #expect(batch.outcomes.map(\.documentVersion) == [11, 9] && batch.holders.map(\.version) == [12, 9])
        for text in [
            #"{"install":"\#(Self.install)","outcomes":[]}"#, #"{"document_version":12,"outcomes":[]}"#,
            #"{"install":"\#(Self.install)","document_version":12,"platform":7,"outcomes":[]}"#,
        ] { #expect(try self.read(text).holders.isEmpty) }
    }

    @Test func `unknown members of a report are ignored, whatever they hold`() throws {
        let batch = try self.read(
            """
            {"v": [1, {"a": null}, "\\u00e9", -1.5e3, true], "outcomes": [{"host": "a.example.com", "outcome": "success",
            "install": "\(Self.install)", "new": {"deep": [[[]], {}]}, "hos\\u0074": "b.example.com"}], "w": false}
            """)
        // A name is the same however it is spelled: this one stands there twice.
        #expect(batch.outcomes.isEmpty && batch.refusals == [.malformed: 1])
        let single = try self.read(
            #"{"outcomes":[{"x":{"y":[1,2,"z"]},"host":"a.example.com","outcome":"success","install":"\#(Self.install)"}]}"#
        )
        #expect(single.outcomes.count == 1)
    }

    /// One member each, besides those of a good outcome.
    @Test(arguments: [
        #""host": 1"#, #""host": """#, #""host": "a b""#, #""host": "ä.example""#, #""host": "\u0000""#,
        #""outcome": "maybe""#, #""outcome": true"#,
        #""reason": 7"#, #""served_spki": "x""#, #""served_spki": ["x"]"#, #""served_spki": [1]"#,
        #""served_spki": ["\#(pin)","\#(pin)","\#(pin)","\#(pin)","\#(pin)","\#(pin)","\#(pin)","\#(pin)","\#(pin)","\#(pin)","\#(pin)"]"#,
        #""arm": "both""#, #""document_version": -1"#, #""document_version": 1.5"#, #""document_version": 1e300"#,
        #""document_version": 1000000000000000"#, #""document_version": "12""#, #""app_version": 3"#,
        #""platform": {}"#,
        #""install": "short""#, #""install": "AAAAAAAAAAAAAAAAAAAAAB""#, #""time": "yesterday""#,
        #""time": 1769860800"#,
        #""count": 0"#, #""count": 1000001"#, #""count": 99999999999999999999"#, #""id": """#, #""id": [1]"#,
        #""id": "12345678901234567890123456789012345678901234567890123456789012345""#,
    ])
    func `an outcome with a wrong member is refused alone`(member: String) throws {
        let good = #""host":"a.example.com","outcome":"success","install":"\#(Self.install)""#
        let name = member.split(separator: "\"").first.map(String.init) ?? ""
        let rest = good.split(separator: ",").filter { !$0.hasPrefix("\"\(name)\"") }.joined(separator: ",")
        let batch = try self.read("{\"outcomes\":[{\(rest),\(member)},{\(good)}]}")
        #expect(batch.outcomes.count == 1 && batch.refusals == [.malformed: 1])
    }

    @Test func `an outcome without host, outcome or install is refused as incomplete`() throws {
        let batch = try self.read(
            #"{"outcomes":[{},{"host":"a.example.com","outcome":"success"},{"outcome":"success","install":"\#(Self.install)"},7]}"#
        )
        #expect(batch.outcomes.isEmpty && batch.refusals == [.incomplete: 3, .malformed: 1])
    }

    @Test(arguments: [
        "", "   ", "null", "7", "[]", "{}", #"{"outcomes":null}"#, #"{"outcomes":{}}"#, #"{"outcomes":[]"#,
        #"{"outcomes":[]}}"#, #"{"outcomes":[],}"#, #"{"outcomes":[{]}"#, #"{"outcomes":[tru]}"#, #"{outcomes:[]}"#,
        #"{"outcomes":[],"outcomes":[]}"#, #"{"a":"\x","outcomes":[]}"#, #"{"a":"\ud800","outcomes":[]}"#,
        #"{"a":01,"outcomes":[]}"#, #"{"a":1e999,"outcomes":[]}"#, #"{"a":-,"outcomes":[]}"#,
        "{\"a\":\"\n\",\"outcomes\":[]}",
        "\u{FEFF}{\"outcomes\":[]}", #"{"a":nul,"outcomes":[]}"#, #"{"a" 1,"outcomes":[]}"#, #"{"outcomes":[] "a":1}"#,
        #"{"a":"#,
        #"{"a":"b"#, #"{"a":"\"#,
    ])
    func `a batch that is malformed is refused as a whole`(text: String) {
        #expect(throws: JSONSyntaxError.self) { try self.read(text) }
    }

    @Test func `decompression bombs end at the limits`() throws {
        let deep = String(repeating: "[", count: 100_000)
        #expect(throws: JSONSyntaxError.self) { try self.read("{\"a\":\(deep)") }
        let deeper = String(repeating: "{\"a\":", count: 100_000)
        #expect(throws: JSONSyntaxError.self) { try self.read(deeper) }
        let many = Array(repeating: "0", count: 30_000).joined(separator: ",")
        #expect(throws: JSONSyntaxError.self) { try self.read("{\"a\":[\(many)],\"outcomes\":[]}") }
        let outcomes = Array(repeating: "{}", count: 501).joined(separator: ",")
        #expect(throws: JSONSyntaxError.self) { try self.read("{\"outcomes\":[\(outcomes)]}") }
        #expect(try self.read("{\"outcomes\":[\(outcomes.dropLast(3))]}").refusals == [.incomplete: 500])
        // Invalid UTF-8 inside a string that nobody asks for.
        var bytes = Array(#"{"a":"?","outcomes":[]}"#.utf8)
        bytes[6] = 0xFF
        #expect(throws: JSONSyntaxError.self) { try ReportBatch(parsing: bytes) }
    }

    @Test func `a text that is skipped is judged as one that is read`() throws {
        // Numerical Recipes' generator: the same texts each time.
        var seed: UInt32 = 1
        func draw(_ count: Int) -> Int {
            seed = seed &* 1_664_525 &+ 1_013_904_223
            return Int(seed >> 8) % count
        }
        let pieces = [
            "{", "}", "[", "]", ",", ":", "\"a\"", "\"\\n\"", "1", "-0", "1.5", "true", "null", " ", "\"", "\\", "x",
        ]
        for _ in 0..<TestDepth.rounds(20_000) {
            let text = (0...draw(8)).map { _ in pieces[draw(pieces.count)] }.joined()
            let parsed = (try? JSON(text: text)) != nil
            let bytes = Array(text.utf8)
            let skipped = bytes.withUnsafeBufferPointer { buffer in
                var reader = JSONReader(buffer, limits: JSONLimits())
                do {
                    try reader.skip()
                    try reader.end()
                    return true
                } catch { return false }
            }
            // Names that stand twice are for whoever reads the members.
            #expect(parsed == skipped || !parsed && text.contains("\"a\""), "\(text)")
        }
    }

    // MARK: Other libraries

    @Test(arguments: [
        (#""validation-result":1"#, OutcomeReason.pinMismatch), (#""validation-result":2"#, .chainInvalid),
        (#""validation-result":4"#, .other), (#""validation-result":1,"enforce-pinning":false"#, .reportOnlyMismatch),
        (#""port":443"#, .pinMismatch),
    ])
    func `other libraries' reports are read as failures`(members: String, reason: OutcomeReason) throws {
        let json = try JSON(
            text: """
                {\(members), "hostname": "WWW.example.com", "app-version": "1.2.3", "app-platform": "ANDROID",
                 "app-vendor-id": "6F9619FF-8B86-D011-B42D-00C04FC964FF", "date-time": "2026-01-02T03:04:05+0000",
                 "served-certificate-chain": ["PEM"], "validated-certificate-chain": ["other"], "known-pins": []}
                """)
        let foreign = try ForeignReport(json)
        #expect(foreign.report.outcome == .failure(reason) && foreign.report.host == "www.example.com")
        #expect(
            foreign.report.platform == .android && foreign.report.time == Timestamp(rfc3339: "2026-01-02T03:04:05Z"))
        #expect(foreign.report.install != nil && foreign.certificate == "PEM")
    }

    @Test func `a member that another library leaves out, or has as null, counts as not stated`() throws {
        let names = [
            "validation-result", "enforce-pinning", "app-platform", "app-version", "app-vendor-id", "date-time",
            "served-certificate-chain", "validated-certificate-chain", "known-pins-expiration-date",
        ]
        let nulls = names.map { "\"\($0)\":null," }.joined()
        let odd = #""app-version":"x","app-vendor-id":"","date-time":"now","validated-certificate-chain":[],"#
        for members in ["", nulls, odd] {
            let foreign = try ForeignReport(try JSON(text: "{\(members)\"hostname\":\"a.example\"}"))
            #expect(foreign.report == OutcomeReport(host: "a.example", outcome: .failure(.pinMismatch)))
            #expect(foreign.certificate == nil)
        }
    }

    @Test(arguments: [
        "[]", "{}", #"{"hostname": 1}"#, #"{"hostname": "a.example", "validation-result": 0}"#,
        #"{"hostname": "a.example", "validation-result": 9}"#, #"{"hostname": "a.example", "validation-result": "1"}"#,
        #"{"hostname": "a.example", "validation-result": 1.5}"#, #"{"hostname": null}"#, #"{"hostname": ""}"#,
        #"{"hostname": "a.example", "enforce-pinning": 0}"#, #"{"hostname": "a.example", "app-version": 3}"#,
        #"{"hostname": "a.example", "app-platform": []}"#, #"{"hostname": "a.example", "app-vendor-id": {}}"#,
        #"{"hostname": "a.example", "date-time": 1769860800}"#,
        #"{"hostname": "a.example", "validated-certificate-chain": [{}]}"#,
        #"{"hostname": "a.example", "validated-certificate-chain": ["PEM", null]}"#,
        #"{"hostname": "a.example", "served-certificate-chain": "PEM"}"#,
        #"{"hostname": "a.example", "served-certificate-chain": ["PEM"], "validated-certificate-chain": {}}"#,
    ])
    func `a report without a failure is refused`(text: String) throws {
        let json = try JSON(text: text)
        #expect(throws: ForeignReport.Malformed.self) { try ForeignReport(json) }
    }
}
