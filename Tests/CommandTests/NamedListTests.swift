import Foundation
import PinWire
import Testing

@testable import PinledgerServer
@testable import pinledger

@Suite struct `A list of names` {
    private static let lists: [NamedList] = NamedList.byProblem.values.flatMap(\.self) + [.openChanges]

    @Test func `a list of names is one of the contract`() throws {
        let data = try Data(contentsOf: SourceTexts.root.appending(path: "openapi/openapi.json"))
        let contract = try JSON(parsing: Array(data), limits: .stored(depth: 64, nodes: .max))
        func resolved(_ schema: JSON?) -> JSON? {
            guard let name = schema?["$ref"]?.stringValue?.split(separator: "/").last else { return schema }
            return contract["components"]?["schemas"]?[String(name)]
        }
        func members(_ schema: JSON?) -> Set<String> {
            let schema = resolved(schema)
            let own = Set(schema?["properties"]?.objectValue?.keys.map(\.self) ?? [])
            return (schema?["allOf"]?.arrayValue ?? []).reduce(own) { $0.union(members($1)) }
        }
        for list in Self.lists {
            let answer = contract["paths"]?[list.path]?["get"]?["responses"]?["200"]?["content"]?["application/json"]
            let elements = resolved(answer?["schema"])?["properties"]?[list.list]
            #expect(elements?["type"] == "array", "\(list)")
            let named = members(elements?["items"])
            #expect(named.contains(list.member), "\(list)")
        }
    }

    @Test func `a problem with names is one`() {
        let problems = Set(ProblemType.allCases.map(\.rawValue))
        #expect(Set(NamedList.byProblem.keys).isSubset(of: problems))
        // Others have names that nobody types, or no list.
        let unlisted: Set = [
            "pin_unknown", "event_unknown", "root_unknown", "rollout_plan_unknown", "feature_level_unknown",
            "grant_unknown", "approval_key_unknown", "delivery_unknown", "proposer_unknown", "outcome_unknown",
        ]
        let unknown = problems.filter { $0.hasSuffix("_unknown") }
        #expect(unknown.subtracting(NamedList.byProblem.keys) == unlisted)
    }

    @Test func `the name that was asked for stands in the request`() {
        #expect(NamedList.apps.name(in: "/v1/apps/com.example.ap/hosts/x") == "com.example.ap")
        #expect(NamedList.apps.name(in: "/v1/history?limit=3&app=com.example.ap") == "com.example.ap")
        #expect(NamedList.hosts.name(in: "/v1/apps/com.example.app/hosts/%2A.example.com/pins/x") == "*.example.com")
        #expect(NamedList.hosts.name(in: "/v1/apps/com.example.app/telemetry?host=ap.example.com") == "ap.example.com")
        #expect(NamedList.tokens.name(in: "/v1/tokens/tok_1") == "tok_1")
        #expect(NamedList.tokens.name(in: "/v1/tokens") == nil)
        #expect(NamedList.hosts.target(app: "com.example.app") == "/v1/apps/com.example.app/hosts")
        #expect(NamedList.hosts.target(app: nil) == nil)
    }
}

@Suite struct `A name that a failure suggests` {
    @Test func `a name that was typed as it exists is not suggested`() {
        let names = ["com.a.shop", "com.a.shot"]
        #expect(APIClient.suggestion(instead: "com.a.shpo", of: names) == "com.a.shop")
        #expect(APIClient.suggestion(instead: "com.a.shop", of: names) == nil)
        #expect(APIClient.suggestion(instead: "org.other", of: names) == nil)
    }

    @Test func `a name with the text of a member keeps it, beside advice in the words of the command line`() {
        var failure = CommandFailure("There is no role chang.", advice: "Say why in `reason`.", status: .notFound)
        failure.suggestion = "change"
        let words = TerminalWords(AppCommands.Update.self)
        #expect(
            failure.lines(words) == [
                "pinledger: There is no role chang.", "  Did you mean `change`? Say why in `--reason`.",
            ])
        failure.advice = nil
        #expect(failure.lines(words).last == "  Did you mean `change`?")
        failure.suggestion = nil
        #expect(failure.lines(words) == ["pinledger: There is no role chang."])
    }
}

@Suite struct `A token that a command finds by itself` {
    private static let end = Timestamp(seconds: 1_800_000_000)
    private static let session = StoredToken(
        name: "the session of `pinledger login` with https://pins.example.com", end: end,
        renewal: "Sign in again: `pinledger login`.")

    private static func refused(_ problem: String) -> CommandFailure {
        var failure = CommandFailure("The token is not accepted.", advice: "Ask.", status: .unauthorized)
        failure.problem = "/problems/\(problem)"
        return failure
    }

    @Test(arguments: ["token_missing", "token_invalid"])
    func `a token that is over is named with its end`(problem: String) {
        let failure = Self.session.naming(in: Self.refused(problem), at: Self.end)
        let end = LocalTime.text(Self.end.rfc3339)
        #expect(failure.message == "the session of `pinledger login` with https://pins.example.com ended at \(end)")
        #expect(failure.advice == "Sign in again: `pinledger login`." && failure.status == .unauthorized)
    }

    @Test func `a token that is not over is named beside what the server says`() {
        let failure = Self.session.naming(in: Self.refused("token_invalid"), at: Self.end.adding(seconds: -1))
        #expect(failure.message.hasPrefix("The token is not accepted.\n") && failure.message.contains("the session of"))
        #expect(failure.advice == "Ask. Sign in again: `pinledger login`.")
    }

    @Test func `another refusal stays as it is`() {
        let failure = Self.session.naming(in: Self.refused("permission_denied"), at: Self.end)
        #expect(failure.message == "The token is not accepted." && failure.advice == "Ask.")
    }

    @Test func `a directory's token has its end in the file`() throws {
        var context = ServerContext(server: "http://127.0.0.1:1", token: "pk_x")
        context.tokenEnd = Self.end
        #expect(context.text.contains(#""expires_at":"\#(Self.end.rfc3339)""#))
    }
}

@Suite struct `The body of a request` {
    @Test(arguments: [#"{"a": 1}"#, "[1, 2]", #" {"a": 1}"#, "true", "12", #""text""#])
    func `a body in JSON is taken as it is written`(text: String) throws {
        #expect(try APICommand.bytes(of: text) == Array(text.utf8))
    }

    @Test func `a body in a file is read, by its name alone and after an @`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "pinledger-\(UUID().uuidString).yaml").path
        try Data("a: 1\n".utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        for word in [path, "@\(path)"] { #expect(try APICommand.bytes(of: word) == Array(#"{"a":1}"#.utf8)) }
    }

    @Test func `a body that is neither text nor a file is no such file`() {
        let failure = #expect(throws: CommandFailure.self) { try APICommand.bytes(of: "change.jsn") }
        #expect(failure?.message == "no such file: change.jsn")
        let broken = #expect(throws: CommandFailure.self) { try APICommand.bytes(of: #"{"a": "#) }
        #expect(broken?.message.contains("the text of --body") == true)
    }
}
