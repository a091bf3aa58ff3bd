import HTTPTypes
import PinWire
import Pinning
import Testing

@testable import PinledgerServer

/// Requests about an app's deployed clients that no kind of client takes. `EndToEnd/test_clients_admin.py` sends one to
/// each reader over a connection.
@Suite struct `A request about deployed clients` {
    private static let clients = "/v1/apps/\(InProcessServer.app)/clients"

    private static func long(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    struct Refused: CustomTestStringConvertible, Sendable {
        var kind: String
        var settings: String
        var pointer: String
        var testDescription: String { "\(self.kind) \(self.settings.prefix(100))" }
    }

    private static let rules = (1..<202).map { #"{"id": \#($0), "platform": "IOS"}"# }.joined(separator: ", ")

    /// Settings, each with the place that is refused; `$RULE` and `$TEXT` are the members of one.
    private static func of(_ kind: String, _ rows: [(settings: String, pointer: String)]) -> [Refused] {
        rows.map { row in
            let settings = row.settings.replacing("$RULE", with: #""id": 1, "platform": "IOS""#)
                .replacing("$TEXT", with: #""message_key": "update", "language": "en", "text": "New.""#)
            return Refused(kind: kind, settings: settings, pointer: row.pointer)
        }
    }

    static let settings: [Refused] = [
        of(
            "dynapins",
            [
                (#"{"protocol": "rs256"}"#, "/protocol"), (#"{"ttl_seconds": 59}"#, "/ttl_seconds"),
                (#"{"ttl_seconds": 604801}"#, "/ttl_seconds"), (#"{"ttl_seconds": "3600"}"#, "/ttl_seconds"),
                (#"{"ttl_seconds": 3600.5}"#, "/ttl_seconds"), (#"{"ttl": 3600}"#, "/ttl"),
                (#"{"schema": "simple"}"#, "/schema"),
                (#"{"hash": "spki"}"#, "/hash"),
            ]),
        of(
            "curl",
            [
                (#"{"ttl_seconds": 3600}"#, "/ttl_seconds")
            ]),
        of(
            "wultra",
            [
                (#"{"understands_domains": "yes"}"#, "/understands_domains"), (#"{"entry_days": 0}"#, "/entry_days"),
                (#"{"entry_days": 3651}"#, "/entry_days"),
                (#"{"version_rules": [{"id": 1, "platform": "WEB"}]}"#, "/version_rules/0/platform"),
                (#"{"version_rules": [{"id": 1, "platform": "ios"}]}"#, "/version_rules/0/platform"),
                (#"{"version_rules": [{$RULE}, {"platform": "IOS"}]}"#, "/version_rules/1/id"),
                (#"{"version_rules": [{$RULE}, {$RULE}]}"#, "/version_rules/1"),
                (#"{"version_rules": [{$RULE, "required_version": "2.0"}]}"#, "/version_rules/0/required_version"),
                (#"{"version_rules": [{$RULE, "suggested_version": "2.0.x"}]}"#, "/version_rules/0/suggested_version"),
                (#"{"version_rules": [{$RULE, "major_os_version": -1}]}"#, "/version_rules/0/major_os_version"),
                (#"{"version_rules": [{$RULE, "major_os_version": 1000000000}]}"#, "/version_rules/0/major_os_version"),
                (#"{"version_rules": [{$RULE, "message_key": "two\nlines"}]}"#, "/version_rules/0/message_key"),
                (#"{"version_rules": [\#(rules)]}"#, "/version_rules"),
                (
                    #"{"texts": [{"message_key": "k\u00e9y", "language": "en", "text": "New."}]}"#,
                    "/texts/0/message_key"
                ),
                (#"{"texts": [{"message_key": "update", "language": "eng", "text": "New."}]}"#, "/texts/0/language"),
                (#"{"texts": [{"message_key": "update", "language": "EN", "text": "New."}]}"#, "/texts/0/language"),
                (#"{"texts": [{"message_key": "update", "language": "en", "text": ""}]}"#, "/texts/0/text"),
                (
                    #"{"texts": [{"message_key": "update", "language": "en", "text": "\#(long("x", 1001))"}]}"#,
                    "/texts/0/text"
                ),
                (#"{"texts": [{$TEXT}, {"message_key": "update", "language": "en", "text": "Again."}]}"#, "/texts/1"),
            ]),
        of(
            "remote_config",
            [
                (#"{"schema": "both"}"#, "/schema"), (#"{"hash": "sha1"}"#, "/hash"),
                (#"{"parameter": "1st"}"#, "/parameter"), (#"{"parameter": "with-hyphen"}"#, "/parameter"),
                (#"{"parameter": ""}"#, "/parameter"), (#"{"parameter": "\#(long("x", 257))"}"#, "/parameter"),
                (#"{"firebase_project": "Shop-prod"}"#, "/firebase_project"),
                (#"{"firebase_project": "shop-prod-"}"#, "/firebase_project"),
                (#"{"firebase_app": "1:1:windows:aa"}"#, "/firebase_app"),
                (#"{"firebase_app": "1:1:ios:a'a"}"#, "/firebase_app"),
            ]),
        of(
            "muejam",
            [
                ("[]", ""), (#""none""#, ""),
            ]),
    ].flatMap { $0 }

    @Test(arguments: settings)
    func `settings of clients are refused at their place, in a rehearsal too`(refused: Refused) async throws {
        for query in ["", "?dry_run=true"] {
            let answer = try await InProcessServer.refused(
                .put, "\(Self.clients)/\(refused.kind)\(query)", #"{"settings": \#(refused.settings)}"#)
            #expect(answer.status == 422 && answer.problem == "invalid_value", "\(answer.body)")
            #expect(answer.pointers == ["/settings\(refused.pointer)"], "\(answer.body)")
        }
    }

    @Test(arguments: ["firebase", "DYNAPINS", "%64ynapin", "okhttp3", "-"])
    func `clients of a kind that does not exist are refused`(kind: String) async throws {
        let requests: [(HTTPRequest.Method, String, String?)] = [
            (.put, "", "{}"), (.get, "", nil), (.delete, "", nil), (.post, "/key", "{}"),
        ]
        for (method, rest, body) in requests {
            let answer = try await InProcessServer.refused(method, "\(Self.clients)/\(kind)\(rest)", body)
            #expect(answer.status == 400 && answer.problem == "malformed_request", "\(answer.body)")
        }
    }

    /// The key pair of Dynapins' own tests.
    private static let ed25519 = "MC4CAQAwBQYDK2VwBCIEIEottsHhxfNBdKlEbCVOJZ0Pav1mfvjUruTuJMApfwjM"

    /// A kind, a body, and the place that is refused; nil for a kind without keys.
    @Test(
        arguments: [
            ("curl", "{}", nil), ("muejam", "{}", nil), ("remote_config", #"{"private_key": "\#(ed25519)"}"#, nil),
            ("okhttp", "{}", nil), ("netkit", "{}", nil), ("muejam", #"{"force": true, "reason": "x"}"#, nil),
            ("wultra", #"{"private_key": 7}"#, "/private_key"), ("wultra", #"{"private_key": ""}"#, "/private_key"),
            ("wultra", #"{"private_key": "this is no key!"}"#, "/private_key"),
            ("wultra", #"{"private_key": "\#(ed25519)"}"#, "/private_key"),
            ("wultra", #"{"private_key": "\#(ed25519.dropLast(8))"}"#, "/private_key"),
            ("ssl_pinning", #"{"private_key": "\#(ed25519)"}"#, "/private_key"),
            ("dynapins", #"{"private_key": "\#(ed25519)"}"#, "/private_key"),
            ("wultra", #"{"key": "\#(ed25519)"}"#, "/key"),
        ] as [(String, String, String?)])
    func `a key that the kind of clients does not take is refused and not repeated`(
        kind: String, body: String, pointer: String?
    ) async throws {
        for query in ["", "?dry_run=true"] {
            let answer = try await InProcessServer.refused(.post, "\(Self.clients)/\(kind)/key\(query)", body)
            #expect(answer.status == (pointer == nil ? 409 : 422), "\(answer.body)")
            #expect(answer.problem == (pointer == nil ? "client_keyless" : "invalid_value"))
            #expect(answer.pointers == [pointer].compactMap { $0 })
            #expect(!answer.body.canonicalText.contains(Self.ed25519.prefix(20)))
        }
    }
}
