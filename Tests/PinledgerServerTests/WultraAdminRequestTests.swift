import HTTPTypes
import PinWire
import Testing

@testable import PinledgerServer

/// Requests of scripts for Wultra's mobile utility server that are refused in the form of that server.
/// `EndToEnd/test_wultra_admin.py` sends one of each reader over a connection.
@Suite struct `A request of a script for Wultra` {
    private static let base = "/compat/wultra/admin"
    private static let app = "shop"

    private static func long(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    /// Sends a request that is to be refused; the code, the names of the wrong members, and the answer.
    private func refused(
        _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil, headers: HTTPFields = [:],
        isKnown: Bool = true
    ) async throws -> (code: String, fields: [String], answer: InProcessServer.Answer) {
        let answer = try await InProcessServer.ask(method, Self.base + path, body, headers: headers, isKnown: isKnown)
        #expect(answer.headers[.contentType] == "application/json" && answer.body["status"] == "ERROR")
        let error = try #require(answer.body["responseObject"])
        let violations = error["violations"]?.arrayValue ?? []
        return (
            error["code"]?.stringValue ?? "", violations.compactMap { $0["fieldName"]?.stringValue }, answer
        )
    }

    @Test(
        arguments: [
            ("{}", "name"), (#"{"name": "ab"}"#, "displayName"),
            (#"{"name": "ab", "displayName": null}"#, "displayName"), (#"{"name": ""}"#, "name"),
            (#"{"name": "a"}"#, "name"), (#"{"name": "-ab"}"#, "name"), (#"{"name": "com.example"}"#, "name"),
            (#"{"name": "a b"}"#, "name"), (#"{"name": 7}"#, "name"), (#"{"name": null}"#, "name"),
            (#"{"name": "\#(long("a", 129))"}"#, "name"), (#"{"name": "\#(long("a", 256))"}"#, "name"),
            (#"{"name": "ab", "displayName": " "}"#, "displayName"),
            (#"{"name": "ab", "displayName": "\#(long("x", 201))"}"#, "displayName"),
            (#"{"name": "ab", "displayName": ["x"]}"#, "displayName"),
        ] as [(String, String)])
    func `a malformed name of an app is refused by a script's member`(body: String, field: String) async throws {
        let (code, fields, answer) = try await self.refused(.post, "/apps", body)
        #expect(answer.status == 400 && code == "ERROR_REQUEST" && fields == [field], "\(answer.body)")
        #expect(answer.body["responseObject"]?["message"]?.stringValue?.hasPrefix(field) == true)
    }

    @Test(
        arguments: [
            ("{}", "domain"), (#"{"domain": "api.example.com"}"#, "pem"),
            (#"{"domain": "api.example.com", "pem": null}"#, "pem"),
            (#"{"domain": "api.example.com", "pem": "nothing"}"#, "pem"),
            (
                #"{"domain": "api.example.com", "pem": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"}"#,
                "pem"
            ),
            (#"{"domain": "api.example.com", "pem": "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}"#, "pem"),
            (#"{"domain": "https://api.example.com", "pem": "x"}"#, "domain"),
            (#"{"domain": "192.0.2.1", "pem": "x"}"#, "domain"),
            (#"{"domain": "api.example.com", "pem": "x", "depth": -1}"#, "depth"),
            (#"{"domain": "api.example.com", "pem": "x", "depth": "0"}"#, "depth"),
            (
                #"{"domain": "api.example.com", "pem": "-----BEGIN PRIVATE KEY-----\n\#(key)\n-----END PRIVATE KEY-----\n"}"#,
                "pem"
            ),
        ] as [(String, String)])
    func `a script's upload without a certificate is refused and not repeated`(body: String, field: String) async throws
    {
        let (code, fields, answer) = try await self.refused(.post, "/apps/\(Self.app)/certificates/pem", body)
        #expect(answer.status == 400 && code == "ERROR_REQUEST" && fields == [field], "\(answer.body)")
        #expect(field != "pem" || !answer.body.canonicalText.contains("BEGIN"))
    }

    private static let key = "MC4CAQAwBQYDK2VwBCIEIEottsHhxfNBdKlEbCVOJZ0Pav1mfvjUruTuJMApfwjM"

    @Test(
        arguments: [
            ("versions", "{}", "platform"),
            ("versions", #"{"platform": "WEB", "requiredVersion": "1.0.0"}"#, "platform"),
            ("versions", #"{"platform": "IOS"}"#, "suggestedVersion"),
            (
                "versions",
                #"{"platform": "IOS", "suggestedVersion": "3.0.0", "requiredVersion": "1.0", "messageKey": "update"}"#,
                "requiredVersion"
            ),
            (
                "versions",
                #"{"platform": "IOS", "suggestedVersion": "1.0.x", "requiredVersion": "2.0.0", "messageKey": "update"}"#,
                "suggestedVersion"
            ),
            (
                "versions",
                #"{"platform": "IOS", "suggestedVersion": 7, "requiredVersion": "2.0.0", "messageKey": "update"}"#,
                "suggestedVersion"
            ),
            (
                "versions",
                #"{$RULE, "majorOsVersion": -1}"#,
                "majorOsVersion"
            ),
            (
                "versions",
                #"{$RULE, "majorOsVersion": 1000000000}"#,
                "majorOsVersion"
            ),
            (
                "versions",
                #"{$RULE, "majorOsVersion": "17"}"#,
                "majorOsVersion"
            ),
            (
                "versions",
                #"{$VERSIONS, "messageKey": ""}"#,
                "messageKey"
            ),
            (
                "versions",
                #"{$VERSIONS, "messageKey": "k\u00e9y"}"#,
                "messageKey"
            ),
            (
                "versions",
                #"{$VERSIONS, "messageKey": "\#(long("k", 256))"}"#,
                "messageKey"
            ),
            ("texts", #"{"language": "en", "text": "x"}"#, "messageKey"),
            ("texts", #"{"messageKey": "k", "text": "x"}"#, "language"),
            ("texts", #"{"messageKey": "k", "language": "eng", "text": "x"}"#, "language"),
            ("texts", #"{"messageKey": "k", "language": "en"}"#, "text"),
            ("texts", #"{"messageKey": "k", "language": "en", "text": ""}"#, "text"),
            ("texts", #"{"messageKey": "k", "language": "en", "text": "\#(long("é", 1001))"}"#, "text"),
            ("texts", #"{"messageKey": "k", "language": "en", "text": ["x"]}"#, "text"),
        ] as [(String, String, String)])
    func `a script's malformed rule or text is refused by its member`(
        place: String, body: String, field: String
    ) async throws {
        let body = body.replacing("$RULE", with: #"$VERSIONS, "messageKey": "update""#)
            .replacing(
                "$VERSIONS", with: #""platform": "IOS", "suggestedVersion": "3.0.0", "requiredVersion": "2.0.0""#)
        let path = place == "versions" ? "/apps/\(Self.app)/versions" : "/texts"
        let (code, fields, answer) = try await self.refused(.post, path, body)
        #expect(answer.status == 400 && code == "ERROR_REQUEST" && fields == [field], "\(answer.body)")
    }

    @Test(arguments: ["", "{", "[]", "7", #""x""#, #"{"name":"a1","name":"b1"}"#, "null"])
    func `a script's body that is no object is refused`(body: String) async throws {
        let (code, _, answer) = try await self.refused(.post, "/apps", body)
        #expect(answer.status == 400 && code == "ERROR_REQUEST")
    }

    @Test(arguments: [
        "", "?domain=api.example.com", "?fingerprint=\(long("A", 43))%3D", "?domain=a.example.com&domain=a.example.com",
        "?domain=%zz",
    ])
    func `a certificate that a script deletes has to be named`(query: String) async throws {
        let (code, _, answer) = try await self.refused(.delete, "/apps/\(Self.app)/certificates\(query)")
        #expect(answer.status == 400 && code == "ERROR_REQUEST")
    }

    @Test(arguments: ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
    func `a body that a foreign page can send is refused in a script's place`(type: String) async throws {
        let (code, fields, answer) = try await self.refused(
            .post, "/apps", #"{"name": "forged"}"#, headers: [.contentType: type, .origin: "https://evil.example"])
        #expect(answer.status == 400 && code == "ERROR_REQUEST" && fields.isEmpty)
    }

    @Test(
        arguments: [(.get, ""), (.get, "/none"), (.post, "/apps/a1/none"), (.delete, "/certificates")]
            as [(HTTPRequest.Method, String)])
    func `a script's unknown path is refused in the same form`(method: HTTPRequest.Method, path: String) async throws {
        let (code, _, answer) = try await self.refused(method, path, method == .post ? "{}" : nil)
        #expect(answer.status == 404 && code == "ERROR_NOT_FOUND")
    }

    @Test(
        arguments: [
            nil, "", "Basic", "Basic ", "Basic %%%", "Digest x", "Bearer", "Bearer x",
            basic("no colon"), basic("admin:"), basic("admin:secret"), "Basic //46/w==",
            basic("admin:pk_adm_" + long("0", 36)), "Basic " + long("A", 4000),
        ] as [String?],
        [(.get, "/apps"), (.post, "/apps"), (.delete, "/certificates/expired")]
            as [(method: HTTPRequest.Method, path: String)])
    func `a script without a token as its password is refused`(
        authorization: String?, request: (method: HTTPRequest.Method, path: String)
    ) async throws {
        var headers = HTTPFields()
        headers[.authorization] = authorization
        let (code, _, answer) = try await self.refused(
            request.method, request.path, request.method == .post ? #"{"name": "stranger"}"# : nil, headers: headers,
            isKnown: false)
        #expect(answer.status == 401 && code == "ERROR_AUTHENTICATION", "\(answer.body)")
        #expect(answer.headers[.wwwAuthenticate] == #"Basic realm="pinledger", charset="UTF-8""#)
    }

    private static func basic(_ text: String) -> String { "Basic \(Base64.encode(Array(text.utf8)))" }
}
