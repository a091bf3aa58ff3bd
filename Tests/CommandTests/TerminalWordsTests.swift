import ArgumentParser
import Foundation
import NIOHTTP1
import PinWire
import Testing

@testable import PinledgerServer
@testable import pinledger

/// The names of the API's contract that no text on a terminal may have.
enum ContractNames {
    /// Members, parameters and headers, without those that operators write in files themselves.
    static let all: Set<String> = {
        let place = SourceTexts.root.appending(path: "openapi/openapi.json")
        guard let data = try? Data(contentsOf: place),
            let contract = try? JSON(parsing: Array(data), limits: .stored(depth: 64, nodes: .max))
        else { return [] }
        var names: Set<String> = ["detail", "errors", "remedy", "advice"]
        func collect(_ value: JSON) {
            switch value {
            case .object(let members):
                if let properties = members["properties"]?.objectValue { names.formUnion(properties.keys) }
                if members["in"] != nil, let name = members["name"]?.stringValue { names.insert(name) }
                members.values.forEach(collect)
            case .array(let elements): elements.forEach(collect)
            default: break
            }
        }
        collect(contract)
        names.formUnion([
            "If-Match", "ETag", "Retry-After", "Idempotency-Key", "Authorization", "Allow", "Content-Type",
        ])
        return names.filter { name in
            if case .file? = TerminalWords.forms[name] { return false }
            return !Self.ownWords.contains(name)
        }
    }()

    /// Names of commands, of files' members and of values that the contract has as names of members too.
    private static let ownWords: Set = ["explain", "override", "block", "act", "kid"]

    /// Words of requests that no name in backticks is.
    private static let phrases = [
        "query parameter", "If-Match", "ETag", "Retry-After", "Idempotency-Key", "Authorization:", "PATCH", "PUT /",
        "POST", "DELETE", "in the query", "Content-Type", "repeat the request",
    ]

    /// The first word in a text that only the API has; nil where there is none.
    static func found(in text: String) -> String? {
        if let phrase = Self.phrases.first(where: text.contains) { return phrase }
        for match in text.matches(of: #/`([^`]+)`/#) {
            let name = String(match.1.prefix { $0 != "=" && $0 != ":" })
            if Self.all.contains(name) { return name }
        }
        return nil
    }
}

@Suite struct `A text of the API on the command line` {
    private static let update = TerminalWords(AppCommands.Update.self)
    private static let engage = TerminalWords(KillCommands.Engage.self)
    private static let attention = TerminalWords(AttentionCommand.self)
    private static let request = TerminalWords(APICommand.self)

    private static func problem(_ type: ProblemType, _ detail: String = "It is wrong.", _ more: [String: JSON] = [:])
        -> JSON
    {
        var problem = Problem(type, detail)
        problem.members = more
        return problem.json(requestID: "0f")
    }

    @Test func `the names of the contract are found`() {
        #expect(ContractNames.all.count > 300 && ContractNames.all.isSuperset(of: ["reason", "force", "plan_hash"]))
        #expect(ContractNames.found(in: "Say why in `reason`.") == "reason")
        #expect(ContractNames.found(in: "Propose it: `change=new`.") == "change")
        #expect(ContractNames.found(in: "Say why with `--reason`.") == nil)
    }

    @Test(arguments: ProblemType.allCases)
    func `a problem on the command line has no word that only the API has`(type: ProblemType) {
        for words in [Self.update, Self.engage, Self.attention, TerminalWords(ImportCommand.self)] {
            let report = ProblemReport(Self.problem(type), status: 422, words: words)
            let failure = report.failure
            #expect(ContractNames.found(in: failure.message) == nil, "\(failure.message)")
            #expect(failure.advice.flatMap { ContractNames.found(in: $0) } == nil, "\(failure.advice ?? "")")
            #expect(failure.advice?.isEmpty == false)
        }
    }

    @Test func `the problems of a request's form are problems`() {
        #expect(ProblemReport.ofForm.isSubset(of: Set(ProblemType.allCases.map(\.rawValue))))
    }

    /// Details, findings, remedies, limits and defects: each text with a name of the API in it has words for the name.
    @Test func `a text of the server on the command line has no word that only the API has`() throws {
        let places = ["PinledgerServer/", "Pinning/", "KeyFiles/", "PinWire/", "ClientFormats/Imports/", "Publishing/"]
        var count = 0
        for (path, text) in try SourceTexts.swift() where places.contains(where: path.hasPrefix) {
            for match in text.matches(of: #/"(?:[^"\\\n]|\\.)*"/#)
            where match.output.contains("`") && match.output.contains(" ") {
                count += 1
                let said = Self.attention.text(String(match.output))
                // Names and phrases of problems are looked for where they are rendered.
                guard !path.hasSuffix("ProblemType.swift") else { continue }
                #expect(ContractNames.found(in: said) == nil, "\(path): \(said)")
            }
        }
        #expect(count > 60)
    }

    @Test func `a query parameter is named between backticks wherever a text speaks of one`() throws {
        for (path, text) in try SourceTexts.swift() where path.hasPrefix("PinledgerServer/") {
            for match in text.matches(of: #/"[^"\n]*query parameters? (.)[^"\n]*"/#) where match.1 != "`" {
                // Answers to deployed clients are as their first server wrote them.
                if path.contains("/Deployed/") { continue }
                Issue.record("\(path): \(match.output.0)")
            }
        }
    }

    @Test func `the flags of the command that runs are named`() throws {
        let needed = Self.problem(.reasonRequired, "This change needs a reason, because it turns pinning off.")
        let failure = ProblemReport(needed, status: 422, words: Self.engage).failure
        #expect(failure.advice == "Say why with `--reason`; it is recorded permanently.")
        #expect(Self.update.text("`pins_valid_until` is not set.") == "`--pins-valid-until` is not set.")
        #expect(
            Self.attention.text("Set `pins_valid_until`.")
                == "Set `--pins-valid-until` of `pinledger app update APP`.")
        #expect(Self.engage.text("must have a `minimum`") == "must have a `--versions`")
        #expect(
            TerminalWords(HistoryCommand.self).text("The query parameter `type` must be one.")
                == "The option `--type` must be one.")
        #expect(Self.update.text("the value `stay`, and one ` alone") == "the value `stay`, and one ` alone")
    }

    @Test(arguments: [(2, 1), (100, 1), (101, 102)])
    func `a defect that the detail says is not said again, where they are few enough to look for`(
        defects: Int, lines: Int
    ) {
        let errors = (0..<defects).map { ["pointer": .string("/apps/\($0)"), "detail": "is wrong"] as JSON }
        let problem = Self.problem(.malformedRequest, "/apps/0: is wrong; and others", ["errors": .array(errors)])
        let failure = ProblemReport(problem, status: 400, words: Self.update).failure
        #expect(failure.message.split(separator: "\n").count == lines, "\(failure.message)")
    }

    @Test func `the words around each name of a long text stay`() {
        let part = "The query parameter `type` and the header `x` say `force` of `no-name`. "
        let said = "The option `--type` and the option `--x` say `--force` of `no-name`. "
        let words = TerminalWords(AppCommands.Update.self)
        #expect(words.text(String(repeating: part, count: 300)) == String(repeating: said, count: 300))
    }

    @Test func `a part of a path is the argument that it comes from`() {
        let show = TerminalWords(TokenCommands.Show.self)
        #expect(
            show.text("The path parameter `token_id` must be the id of a token.")
                == "The argument `ID` must be the id of a token.")
        #expect(TerminalWords(HostCommands.Show.self).text("The path parameter `host` is") == "The argument `HOST` is")
        #expect(show.text("The path parameter `position` must be") == "The argument `POSITION` must be")
    }

    @Test func `the version to name stands in the refusal of an old one`() throws {
        var headers = HTTPHeaders()
        headers.add(name: "ETag", value: "\"7\"")
        let stale = Self.problem(.staleVersion, "app/x is at version 7, but your change is for version 1.")
        let failure = ProblemReport(stale, status: 412, headers: headers, words: Self.update).failure
        #expect(failure.advice?.contains("`--if-version 7`") == true)
        #expect(failure.status == .conflict)
    }

    @Test func `a wait has its seconds, and a failure of the server its request`() {
        let busy = ProblemReport(
            Self.problem(.overloaded), status: 503, headers: ["Retry-After": "5"], words: Self.update)
        #expect(busy.failure.advice?.contains("after 5 seconds") == true)
        let broken = ProblemReport(Self.problem(.internalError), status: 500, words: Self.update)
        #expect(broken.failure.advice?.contains("urn:request:0f") == true)
    }

    @Test func `a text of the API stays as it is for who writes requests`() {
        let failure = ProblemReport(Self.problem(.reasonRequired), status: 422, words: Self.request).failure
        #expect(failure.advice == "Say why with `reason`; it is recorded permanently.")
        #expect(Self.request.place("/pins_valid_until") == "/pins_valid_until")
        let unknown = ProblemReport(Self.problem(.notFound), status: 404, words: Self.request).failure
        #expect(unknown.advice == "Compare the path with /openapi.yaml.")
    }

    @Test func `a place in a request is an option or an argument, and one in a file stays`() {
        #expect(Self.update.place("/pins_valid_until") == "--pins-valid-until")
        #expect(Self.update.place("/display_name") == "--name")
        #expect(TerminalWords(ClientCommands.Set.self).place("/settings/entry_days") == "--settings /entry_days")
        #expect(TerminalWords(ExplainCommand.self).place("/hosts/\(Int.max)") == "HOSTS /\(Int.max)")
        for member in ["pin", "material", "material_base64"] {
            #expect(TerminalWords(PinCommands.Add.self).place("/\(member)") == "PIN")
            #expect(TerminalWords(RotationCommands.Start.self).place("/next/\(member)") == "--next")
            let pins = "number 2 of --primary and --backup"
            #expect(TerminalWords(HostCommands.Add.self).place("/baseline/pins/1/\(member)") == pins)
            #expect(TerminalWords(RolloutCommands.Start.self).place("/pins/1/\(member)") == pins)
        }
        #expect(TerminalWords(ExplainCommand.self).place("/hosts/1") == "HOSTS, number 2")
        #expect(TerminalWords(HostCommands.Update.self).place("/endpoints/0") == "--endpoint, number 1")
        #expect(TerminalWords(ApplyCommand.self).place("/apps/0/reason") == "/apps/0/reason")
        #expect(Self.update.place("/elsewhere/0") == "/elsewhere/0")
    }

    @Test func `no sentence of a problem is printed twice`() throws {
        let defect = JSONDefect(pointer: JSONPointer(["pins_valid_until"]), message: "must be in the future")
        let invalid = Problem(defect).json(requestID: "0f")
        let one = ProblemReport(invalid, status: 422, words: Self.update).failure
        #expect(one.message == "--pins-valid-until: must be in the future")
        let syntax = Problem(
            .malformedJSON, "no value, at byte 3.",
            errors: [JSONDefect(pointer: JSONPointer(["x"]), message: "no value")])
        #expect(
            ProblemReport(syntax.json(requestID: "0f"), status: 400, words: Self.update).failure.message
                == "no value, at byte 3.")
        let finding: JSON = [
            "code": "G13", "severity": "override", "verdict": "violated", "detail": "Only the hash is known.",
            "remedy": "Upload it instead of the hash: `material`.",
        ]
        let guarded = Self.problem(
            .guardRail, "G13: Only the hash is known.", ["guard_rail_findings": .array([finding])])
        let message = ProblemReport(guarded, status: 422, words: Self.update).failure.message
        #expect(message.components(separatedBy: "Only the hash is known.").count == 2, "\(message)")
        #expect(message.contains("Upload it instead of the hash: a file in place of the pin."))
        let two = Problem(
            .invalidValue, "Two values are wrong.",
            errors: ["a", "b"].map { JSONDefect(pointer: JSONPointer([$0]), message: "must be \($0)") })
        #expect(
            ProblemReport(two.json(requestID: "0f"), status: 422, words: Self.update).failure.message
                == "Two values are wrong.\n  /a: must be a\n  /b: must be b")
    }

    @Test func `an option that a text of the API is turned into exists`() {
        let options = Set(CommandTree.all.flatMap { ($0.arguments ?? []).map(\.name) })
        for (name, form) in TerminalWords.forms {
            guard case .option(let given, _) = form else { continue }
            for option in given { #expect(options.contains(option), "\(name): --\(option)") }
        }
    }

    /// A text that is printed as it came would have the API's names.
    @Test func `commands read texts of the server in the words of the command line`() throws {
        for (path, text) in try SourceTexts.swift() where path.hasPrefix("pinledger/Remote/") {
            guard !["ProblemReport.swift", "FindingReport.swift"].contains(where: path.hasSuffix) else { continue }
            for match in text.matches(of: #/\.text\("(detail|remedy|advice|sentence|obstacle)"\)/#) {
                Issue.record("\(path) prints \(match.1) as the API says it")
            }
        }
    }
}
