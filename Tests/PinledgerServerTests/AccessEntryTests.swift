import Addresses
import PinWire
import Pinning
import Testing

@testable import PinledgerServer

@Suite("Lines of the access log") struct AccessEntryTests {
    private static func entry(path: String) throws -> AccessEntry {
        AccessEntry(
            time: try #require(Timestamp(rfc3339: "2026-01-31T12:00:00.5Z")),
            address: try #require(IPAddress("2001:db8::7")), method: "GET", path: path, operation: "getApp",
            status: 200, bytes: 12, duration: .microseconds(34), requestID: "r1", traceID: "t1",
            actor: Actor(kind: .token, id: "tok_1", name: "somewhat \"odd\""), app: try AppID("com.example.app"))
    }

    @Test func `a line in JSON has all facts of the request`() throws {
        let line = try Self.entry(path: "/v1/apps/com.example.app").line(.json)
        #expect(line.last == UInt8(ascii: "\n"))
        #expect(
            try JSON(parsing: Array(line.dropLast())) == [
                "time": "2026-01-31T12:00:00.500000Z", "address": "2001:db8::7", "method": "GET",
                "path": "/v1/apps/com.example.app", "operation": "getApp", "status": 200, "bytes": 12,
                "microseconds": 34, "request_id": "r1", "trace_id": "t1", "actor": "token:tok_1",
                "app": "com.example.app",
            ])
    }

    @Test func `a line for people has all facts of the request`() throws {
        let line = String(decoding: try Self.entry(path: "/x").line(.text), as: UTF8.self)
        let facts = "operation=getApp app=com.example.app actor=token:tok_1 request_id=r1 trace_id=t1"
        #expect(line == "2026-01-31T12:00:00.500000Z 2001:db8::7 GET /x 200 12B 34us \(facts)\n")
    }

    @Test(arguments: ["/a\nb", "/\"", "/\\", "/\u{1B}[31m", "/é"])
    func `a path of a stranger ends no line in JSON`(path: String) throws {
        let line = try Self.entry(path: path).line(.json)
        #expect(line.dropLast().allSatisfy { $0 != UInt8(ascii: "\n") })
        #expect(try JSON(parsing: Array(line.dropLast()))["path"]?.stringValue == path)
    }

    @Test(arguments: [
        ("/", "/"), ("/nothing", "/…"), ("/v1", "/v1"), ("/calendars/com.example.app/secret/pins", "/calendars/…"),
        ("//v1", "/v1"),
        ("/a\u{7}/b", "/…"),
    ])
    func `a path without an operation shows its first part alone`(path: String, shown: String) {
        #expect(AccessEntry.shownPath(path[...], of: nil, status: 404) == shown)
    }
}
