import HTTPTypes
import PinWire
import Testing

@testable import PinledgerServer

/// Requests of operators that no operation takes: the answer is a problem with its place. `EndToEnd/test_bad_input.py`
/// sends one of each kind over a connection.
@Suite struct `Bad input` {
    private static let app = "/v1/apps/\(InProcessServer.app)"
    private static let hosts = "\(app)/hosts"
    private static let host = "\(hosts)/\(InProcessServer.host)"
    private static let pins = "\(host)/pins"
    private static let pin = "\(pins)/\(InProcessServer.pin("primary").map { Hex.encode($0.bytes) } ?? "")"
    private static let one = InProcessServer.pin("one")?.description ?? ""
    private static let two = InProcessServer.pin("two")?.description ?? ""

    struct Refused: CustomTestStringConvertible, Sendable {
        var method: HTTPRequest.Method
        var path: String
        var body: String
        var pointer: String

        var testDescription: String { "\(self.method) \(self.path) \(self.body.prefix(100))" }
    }

    /// Bodies for one operation, each with the place that is refused; `$1` and `$2` are pins.
    private static func at(
        _ method: HTTPRequest.Method, _ path: String, _ rows: [(body: String, pointer: String)]
    ) -> [Refused] {
        rows.map { row in
            let body = row.body.replacing("$1", with: Self.one).replacing("$2", with: Self.two)
            return Refused(method: method, path: path, body: body, pointer: row.pointer)
        }
    }

    private static func long(_ letter: String, _ count: Int) -> String { String(repeating: letter, count: count) }

    static let values: [Refused] = [
        at(
            .post, "/v1/apps",
            [
                ("{}", "/app"), (#"{"app": null}"#, "/app"), (#"{"app": 7}"#, "/app"),
                (#"{"app": ["com.example.app"]}"#, "/app"), (#"{"app": ""}"#, "/app"),
                (#"{"app": "\#(long("a", 129))"}"#, "/app"), (#"{"app": "../etc/passwd"}"#, "/app"),
                (#"{"app": "a..b"}"#, "/app"), (#"{"app": "a\u0000b"}"#, "/app"), (#"{"app": "\u00e4pp"}"#, "/app"),
                (#"{"app": "a", "display_name": ""}"#, "/display_name"),
                (#"{"app": "a", "display_name": "\#(long("x", 201))"}"#, "/display_name"),
                (#"{"app": "a", "display_name": "a\u202eb"}"#, "/display_name"),
                (#"{"app": "a", "display_name": "a\nb"}"#, "/display_name"),
                (#"{"app": "a", "reason": " "}"#, "/reason"),
                (#"{"app": "a", "reason": "\#(long("x", 1001))"}"#, "/reason"),
                (#"{"app": "a", "reason": 7}"#, "/reason"), (#"{"app": "a", "force": "yes"}"#, "/force"),
                (#"{"app": "a", "name": "b"}"#, "/name"), (#"{"app": "a", "App": "b"}"#, "/App"),
                (#"{"app": "a", "a/b~c": "b"}"#, "/a~1b~0c"), ("[]", ""), (#""com.example.app""#, ""),
            ]),
        at(
            .patch, app,
            [
                (#"{"version_gate": {"minimum": "2.0", "maximum": "1.0"}}"#, "/version_gate"),
                (#"{"version_gate": {"minimum": "x"}}"#, "/version_gate/minimum"),
                (#"{"version_gate": {"minimum_build": -1}}"#, "/version_gate/minimum_build"),
                (#"{"version_gate": {"minimum_build": 18446744073709551616}}"#, "/version_gate/minimum_build"),
                (#"{"version_gate": {"minimum_build": 1.5}}"#, "/version_gate/minimum_build"),
                (#"{"version_gate": {"smallest": "1.0"}}"#, "/version_gate/smallest"),
                (#"{"rollout": {"basis_points": 10001}}"#, "/rollout/basis_points"),
                (#"{"rollout": {"basis_points": -1}}"#, "/rollout/basis_points"),
                (#"{"rollout": {"basis_points": 9223372036854775808}}"#, "/rollout/basis_points"),
                (#"{"rollout": {}}"#, "/rollout/basis_points"),
                (#"{"rollout": {"basis_points": 1, "seed": ["x"]}}"#, "/rollout/seed/0"),
                (#"{"rollout": {"basis_points": 1, "method": "dice"}}"#, "/rollout/method"),
                (#"{"pins_valid_until": "tomorrow"}"#, "/pins_valid_until"),
                (#"{"pins_valid_until": "2026-02-30T00:00:00Z"}"#, "/pins_valid_until"),
                (#"{"pins_valid_until": 1e+18}"#, "/pins_valid_until"),
                (
                    #"{"fallback": {"use_builtin_pins": true, "builtin_pin_hosts": ["*"]}}"#,
                    "/fallback/builtin_pin_hosts/0"
                ),
                (#"{"fallback": {}}"#, "/fallback/use_builtin_pins"),
            ]),
        at(
            .post, hosts,
            [
                ("{}", "/host"), (#"{"host": "new.example.com"}"#, "/baseline"),
                (#"{"host": "new.example.com", "baseline": {"source": "magic"}}"#, "/baseline/source"),
                (#"{"host": "new.example.com", "baseline": {"source": "document"}}"#, "/baseline/mode"),
                (#"{"host": "new.example.com", "baseline": {"source": "document", "mode": "on"}}"#, "/baseline/mode"),
                (
                    #"{"host": "new.example.com", "baseline": {"source": "document", "mode": "off", "pins": {}}}"#,
                    "/baseline/pins"
                ),
                (
                    #"{"host": "new.example.com", "baseline": {"source": "document", "mode": "off", "pins": [7]}}"#,
                    "/baseline/pins/0"
                ),
                (
                    #"{"host": "new.example.com", "baseline": {"source": "document", "mode": "off", "pins": [{}]}}"#,
                    "/baseline/pins/0/pin"
                ),
                (
                    #"{"host": "new.example.com", "baseline": {"source": "builtin"}, "include_subdomains": "yes"}"#,
                    "/include_subdomains"
                ),
            ]),
        at(
            .patch, host,
            [
                (#"{"baseline": {"mode": "ENFORCE"}}"#, "/baseline/mode"), (#"{"baseline": {}}"#, "/baseline/mode"),
                (#"{"include_subdomains": 1}"#, "/include_subdomains"),
            ]),
        at(
            .post, pins,
            [
                ("{}", "/pin"), (#"{"pin": "sha256/AAAA", "role": "backup"}"#, "/pin"),
                (#"{"pin": "LXEWQrcmsEQBYnyp+6wy9chTD7GQPMTbAiWHF5IaSI", "role": "backup"}"#, "/pin"),
                (#"{"pin": "$1", "role": "spare"}"#, "/role"),
                (#"{"pin": "$1", "role": "backup", "state": "retired"}"#, "/state"),
                (#"{"pin": "$1", "role": "backup", "note": "\#(long("x", 501))"}"#, "/note"),
                (#"{"pin": "$1", "role": "backup", "policy": "fallback"}"#, "/policy"),
            ]),
        at(
            .patch, pin,
            [
                ("{}", "/state"), (#"{"state": "staged"}"#, "/state"), (#"{"state": "gone"}"#, "/state"),
            ]),
        at(
            .post, "\(host)/candidate",
            [
                ("{}", "/mode")
            ]),
        at(
            .post, "\(host)/candidate/promote",
            [
                (#"{"mode": "off"}"#, "/mode")
            ]),
        at(
            .put, "\(app)/kill-switch",
            [
                (#"{"reason": "why"}"#, "/expires_at")
            ]),
        at(
            .put, "/v1/kill-switch",
            [
                (#"{"reason": "why", "expires_at": "9999999-01-01T00:00:00Z"}"#, "/expires_at")
            ]),
        at(
            .post, "/v1/tokens",
            [
                ("{}", "/name"), (#"{"name": "x"}"#, "/grants"), (#"{"name": "x", "grants": []}"#, "/grants"),
                (#"{"name": "x", "grants": [{"role": "Admin", "apps": ["*"]}]}"#, "/grants/0/role"),
                (#"{"name": "x", "grants": [{"role": "viewer", "apps": []}]}"#, "/grants/0/apps"),
                (#"{"name": "x", "grants": [{"role": "viewer", "apps": ["a*b"]}]}"#, "/grants/0/apps/0"),
                (
                    #"{"name": "x", "grants": [{"role": "admin", "apps": ["*"]}], "networks": ["10.0.0.1/8"]}"#,
                    "/networks/0"
                ),
                (#"{"name": "x", "grants": [{"role": "admin", "apps": ["*"]}], "kind": "calendar"}"#, "/kind"),
                (#"{"name": "x", "grants": [{"role": "admin", "apps": ["*"]}], "expires_at": "never"}"#, "/expires_at"),
            ]),
        at(
            .post, "/v1/access/principals",
            [
                (#"{"kind": "person"}"#, "/name"), (#"{"name": "x", "kind": "robot"}"#, "/kind"),
            ]),
        at(
            .patch, "/v1/access/principals/prn_0000000000000000",
            [
                (#"{"name": "x", "suspended": true}"#, "/suspended")
            ]),
        at(
            .put, "/v1/access/roles/own",
            [
                (#"{"permissions": []}"#, "/permissions"), (#"{"permissions": ["apps.*"]}"#, "/permissions/0"),
            ]),
        at(
            .post, "/v1/keys",
            [
                (#"{"alg": "none"}"#, "/alg")
            ]),
        at(
            .patch, "/v1/fleet",
            [
                (#"{"issuer": ""}"#, "/issuer"), (#"{"issuer": "caf\u00e9"}"#, "/issuer"),
            ]),
    ].flatMap { $0 }

    @Test(arguments: values)
    func `an unacceptable value is refused at its place`(refused: Refused) async throws {
        let answer = try await InProcessServer.refused(refused.method, refused.path, refused.body)
        #expect(answer.status == 422 && answer.problem == "invalid_value", "\(answer.body)")
        #expect(answer.pointers.contains(refused.pointer), "\(answer.body)")
    }

    @Test(arguments: [
        "API.example.com", "https://a.example.com", "192.0.2.1", "0x7f.1", "a.example.com.", "*.*.example.com", "a b.c",
        long("a", 64) + ".example.com", long("a.", 130) + "com",
        "\u{43f}\u{440}\u{438}\u{43c}\u{435}\u{440}.\u{440}\u{444}",
        "*", ".", "",
    ])
    func `an absurd host is refused at its place`(name: String) async throws {
        let baseline: JSON = ["source": "document", "mode": "off"]
        let body = JSON.object(["host": .string(name), "baseline": baseline]).canonicalText
        let answer = try await InProcessServer.refused(.post, Self.hosts, body)
        #expect(answer.status == 422 && answer.problem == "invalid_value" && answer.pointers == ["/host"])
    }

    /// Faults of JSON are the parser's to name.
    @Test(
        arguments: [
            ("", ""), (#"{"app": "a", "app": "b"}"#, "/app"), (#"{"app": "\ud800"}"#, "/app"),
            (#"{"app": 1e999}"#, "/app"),
            (#"{"baseline": {"pins": [{}, {"pin": tru}]}}"#, "/baseline/pins/1/pin"),
            (#"{"app": "a"} {"app": "b"}"#, ""),
            (#"{"app": "a"} // comment"#, ""), (long("[", 30_000), long("/0", 32)),
            (long(#"{"a":"#, 10_000), long("/a", 32)),
            ("[" + long("1,", 20_000) + "1]", "/9999"), (#"{"app": "# + long("9", 5000) + "}", "/app"),
        ] as [(String, String)])
    func `malformed JSON is refused with the pointer of its place`(body: String, pointer: String) async throws {
        let answer = try await InProcessServer.refused(.post, "/v1/apps", body)
        #expect(answer.status == 400 && answer.problem == "malformed_json", "\(answer.body)")
        #expect(answer.pointers == [pointer] && answer.body["detail"]?.stringValue?.contains("byte") == true)
    }

    // MARK: Rules

    @Test(
        arguments: [
            (.post, "/v1/apps", #"{"app": "com.example.hard"}"#, 409, "app_exists"),
            (.get, "/v1/apps/com.example.nowhere", nil, 404, "app_unknown"),
            (.post, hosts, #"{"host": "api.example.com", "baseline": {"source": "builtin"}}"#, 409, "host_exists"),
            (.post, hosts, #"{"host": "co.uk", "baseline": {"source": "builtin"}}"#, 422, "public_suffix"),
            (.post, hosts, #"{"host": "*.com", "baseline": {"source": "builtin"}}"#, 422, "public_suffix"),
            (.get, "\(hosts)/other.example.com", nil, 404, "host_unknown"),
            (.patch, "\(hosts)/other.example.com", "{}", 404, "host_unknown"),
            (
                .post, pins, #"{"pin": "\#(InProcessServer.pin("primary")?.description ?? "")", "role": "primary"}"#,
                409, "pin_exists"
            ),
            (
                .post, pins, #"{"pin": "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "role": "backup"}"#, 422,
                "pin_placeholder"
            ),
            (.post, pins, #"{"pin": "\#(one)", "role": "backup", "policy": "candidate"}"#, 409, "candidate_missing"),
            (.patch, "\(pins)/\(long("0", 64))", #"{"state": "retired"}"#, 404, "pin_unknown"),
            (.patch, pin, #"{"state": "revoked"}"#, 422, "reason_required"),
            (.patch, host, #"{"baseline": {"mode": "off"}}"#, 422, "reason_required"),
            (.delete, host, nil, 422, "reason_required"),
            (.delete, "\(host)/candidate", nil, 409, "candidate_missing"),
            (.post, "\(host)/candidate/promote", "{}", 409, "candidate_missing"),
            (.delete, "\(app)/kill-switch", nil, 409, "kill_switch_not_engaged"),
            (.post, "/v1/keys/\(long("A", 43))/activate", "{}", 404, "key_unknown"),
            (.delete, "/v1/tokens/tok_0000000000000000", nil, 404, "token_unknown"),
        ] as [(HTTPRequest.Method, String, String?, Int, String)])
    func `a rule refuses with a problem of its own`(
        method: HTTPRequest.Method, path: String, body: String?, status: Int, type: String
    ) async throws {
        let rehearsal = method == .get ? "" : "?dry_run=true"
        let answer = try await InProcessServer.refused(method, path + rehearsal, body)
        #expect(answer.status == status && answer.problem == type, "\(answer.body)")
    }

    @Test(arguments: [
        "1", "x", #""x""#, #""1"#, #"1""#, #""""#, #""-1""#, #"W/"1""#, #""1", "2""#, #""99999999999999999999""#,
        #""1.0""#,
        #""+1""#,
    ])
    func `a header If-Match that is no tag of the app is refused`(value: String) async throws {
        let answer = try await InProcessServer.refused(
            .patch, "\(Self.app)?dry_run=true", #"{"display_name": "New"}"#, headers: [.ifMatch: value])
        #expect([400, 412].contains(answer.status), "\(answer.body)")
    }

    @Test(arguments: ["", #""""#, long("x", 256), "a\tb"])
    func `a malformed header Idempotency-Key is refused`(value: String) async throws {
        let answer = try await InProcessServer.refused(
            .patch, "\(Self.app)?dry_run=true", #"{"display_name": "New"}"#, headers: [.idempotencyKey: value])
        #expect(answer.status == 400 && answer.problem == "malformed_request", "\(answer.body)")
    }

    @Test(arguments: ["x", "-1", "1.05", "0.1", "1.2.3", "99999999999999999999", "1 2", "%31"])
    func `a malformed header Last-Event-ID is refused`(value: String) async throws {
        let answer = try await InProcessServer.refused(.get, "/v1/events", headers: [.lastEventID: value])
        #expect(answer.status == 400 && answer.problem == "malformed_request", "\(answer.body)")
    }

    @Test(arguments: ["999999", "1.5"])
    func `the id of an event to come is refused`(value: String) async throws {
        let answer = try await InProcessServer.refused(.get, "/v1/events", headers: [.lastEventID: value])
        #expect(answer.status == 409 && answer.problem == "position_ahead", "\(answer.body)")
    }

    @Test(arguments: [
        "", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx", "json",
        "application/problem+json", ";", "application/json application/json",
    ])
    func `a body of another type is refused`(type: String) async throws {
        let answer = try await InProcessServer.refused(
            .post, "/v1/apps?dry_run=true", #"{"app": "com.example.type"}"#, headers: [.contentType: type])
        #expect(answer.status == 415 && answer.problem == "unsupported_media_type", "\(answer.body)")
    }

    // MARK: Paths, queries and methods

    @Test(
        arguments: [
            "\(app)%ff", "\(app)%c0%af", "\(app)%zz", "\(app)%", "\(app)%0", "\(app)%00", "\(app)%2f",
            "\(app)%0d%0aX:%201",
            "\(app)%ed%a0%80", "/v1/apps/%2e%2e", "/v1/apps/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/v1/apps/..%5c..",
            "/v1/apps/..", "/v1/apps/.", "\(hosts)/%2a.%2a", "\(hosts)/API.example.com", "\(hosts)/api.example.com.",
            "\(hosts)/192.0.2.1", "/v1/apps/" + long("a", 129),
        ], [HTTPRequest.Method.get, .patch])
    func `a malformed path of an app or a host is refused`(path: String, method: HTTPRequest.Method) async throws {
        let answer = try await InProcessServer.refused(method, path, method == .get ? nil : "{}")
        #expect(answer.status == 400 && answer.problem == "malformed_request", "\(answer.body)")
    }

    @Test(
        arguments: [
            (.get, "/client/v1/apps/%ff/document"), (.get, "/client/v1/apps/a%00b/document"),
            (.delete, "/v1/tokens/tok_"),
        ] as [(HTTPRequest.Method, String)])
    func `a malformed path of another operation is refused`(method: HTTPRequest.Method, path: String) async throws {
        let answer = try await InProcessServer.refused(method, path)
        #expect(answer.status == 400 && answer.problem == "malformed_request", "\(answer.body)")
    }

    @Test(arguments: [
        long("0", 63), long("0", 65), long("g", 64), long("A", 64), "sha256%2f" + long("A", 43) + "%3d", "%00",
    ])
    func `a pin in a path is refused in every spelling but one`(pin: String) async throws {
        let answer = try await InProcessServer.refused(.patch, "\(Self.pins)/\(pin)", #"{"state": "active"}"#)
        #expect(answer.status == 400 && answer.problem == "malformed_request", "\(answer.body)")
    }

    @Test(arguments: [
        "/", "//", "/v1", "/v1/", "/v1/apps/", "//v1/apps", "/v1//apps", "/V1/apps", "/v1/apps/a/b", "/v2/apps",
        "/v1/apps;x=1", "/v1/./apps", "/v1/x/../apps", "/../../etc/passwd", "/v1/%61pps", "/.git/config", "/client/v1",
        "/client/v1/jwks.json/", "/problems/nothing_of_this_name", "\(app)/", "/v1/apps//hosts",
    ])
    func `an unknown path is not found`(path: String) async throws {
        let answer = try await InProcessServer.refused(.get, path)
        #expect(answer.status == 404 && answer.problem == "not_found", "\(answer.body)")
    }

    @Test(
        arguments: [
            ("/v1/apps?x=1", "unknown_parameter"), ("/v1/apps?Limit=1", "unknown_parameter"),
            ("/v1/apps?=", "unknown_parameter"), ("/v1/apps?limit", "malformed_request"),
            ("/v1/apps?limit=0", "malformed_request"), ("/v1/apps?limit=1001", "malformed_request"),
            ("/v1/apps?limit=-1", "malformed_request"), ("/v1/apps?limit=1.0", "malformed_request"),
            ("/v1/apps?limit=1e2", "malformed_request"), ("/v1/apps?limit=%31%30%zz", "malformed_request"),
            ("/v1/apps?limit=99999999999999999999999", "malformed_request"),
            ("/v1/apps?limit=%EF%BC%91", "malformed_request"), ("/v1/apps?limit=1&limit=1", "malformed_request"),
            ("/v1/apps?limit=%ff", "malformed_request"), ("/v1/apps?cursor=x", "invalid_cursor"),
            ("/v1/apps?cursor=", "invalid_cursor"), ("/v1/apps?cursor=%00", "invalid_cursor"),
            ("/v1/history?since=yesterday", "malformed_request"),
            ("/v1/history?since=2026-13-01T00:00:00Z", "malformed_request"),
            ("/v1/history?order=random", "malformed_request"), ("/v1/history?stream=nothing", "malformed_request"),
            ("/v1/history?stream=app/", "malformed_request"), ("/v1/history?actor=", "malformed_request"),
            ("/v1/history?actor=%00", "malformed_request"), ("/v1/history?type=%00", "malformed_request"),
            ("/v1/history?type=,", "malformed_request"), ("/v1/events?after=x", "malformed_request"),
            ("/v1/events?after=-1", "malformed_request"), ("/v1/events?after=9007199254740991", "position_ahead"),
            ("/v1/events?after=999999", "position_ahead"), ("/v1/events?app=..", "malformed_request"),
            ("/v1/events?app=com.example.nowhere", "app_unknown"),
            ("/client/v1/apps/com.example.hard/document?x=1", "unknown_parameter"),
            ("/v1/apps?cursor=" + long("e", 3000), "invalid_cursor"),
            ("/healthz?x=" + long("y", 8000), "unknown_parameter"),
        ] as [(String, String)])
    func `a malformed query is refused`(target: String, type: String) async throws {
        let answer = try await InProcessServer.refused(.get, target)
        #expect(answer.problem == type, "\(answer.body)")
        #expect(answer.status == ["app_unknown": 404, "position_ahead": 409][type, default: 400])
    }

    @Test func `a query without parameters is taken`() async throws {
        #expect(try await InProcessServer.ask(.get, "/v1/apps?").status == 200)
    }

    @Test func `a thousand query parameters are refused`() async throws {
        let query = (0..<1000).map { "p\($0)=1" }.joined(separator: "&")
        let answer = try await InProcessServer.refused(.get, "/v1/apps?\(query)")
        #expect(answer.status == 400 && answer.problem == "unknown_parameter")
    }

    @Test(
        arguments: [
            ("/v1/apps", .put, "GET, HEAD, OPTIONS, POST"), ("/v1/apps", .delete, "GET, HEAD, OPTIONS, POST"),
            (app, .delete, "GET, HEAD, OPTIONS, PATCH"), (pin, .get, "OPTIONS, PATCH"), (pin, .head, "OPTIONS, PATCH"),
            ("/v1/kill-switch", .post, "DELETE, OPTIONS, PUT"),
            ("/client/v1/apps/a/document", .post, "GET, HEAD, OPTIONS"),
            ("/client/v1/apps/a/document", .delete, "GET, HEAD, OPTIONS"), ("/healthz", .post, "GET, HEAD, OPTIONS"),
        ] as [(String, HTTPRequest.Method, String)])
    func `a method that a path lacks is refused with those that it has`(
        path: String, method: HTTPRequest.Method, allowed: String
    ) async throws {
        let answer = try await InProcessServer.ask(method, path)
        #expect(answer.status == 405 && answer.headers[.allow] == allowed)
        #expect(answer.problem == (method == .head ? nil : "method_not_allowed"))
    }

    @Test func `the detail of a refusal carries no control characters back`() async throws {
        for target in ["/%1b%5b31m%0d%0a" + Self.long("x", 50), "/v1/apps?%1b%5b31m=1"] {
            let answer = try await InProcessServer.refused(.get, target)
            let detail = try #require(answer.body["detail"]?.stringValue)
            #expect(detail.unicodeScalars.allSatisfy { (0x20...0x7E).contains($0.value) }, "\(detail)")
        }
    }
}
