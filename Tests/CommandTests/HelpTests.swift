import ArgumentParser
import Foundation
import Testing

@testable import pinledger

/// What `--help` says of each command, as the parser itself describes it.
@Suite struct `The help of a command` {
    /// What an abstract may begin with.
    static let verbs: Set<String> = [
        "Abort", "Activate", "Add", "Approve", "Bring", "Change", "Check", "Clear", "Create", "Declare", "Deliver",
        "Deploy", "Fetch",
        "Draft", "Drop", "End", "Engage", "Explain", "Export", "Import", "Jump", "List", "Lower", "Manage", "Open",
        "Pause",
        "Print", "Promote", "Prove", "Publish", "Raise", "Release", "Remove", "Replace", "Restore", "Resume", "Retire",
        "Archive", "Unarchive", "Revert", "Revoke", "Roll", "Rotate", "Run", "Send", "Serve", "Set", "Show", "Start",
        "Stop", "Store", "Turn", "Verify", "Write", "Grant", "Apply", "Close", "Propose", "Reject", "Review",
        "Link", "Sign", "Unlink", "Withdraw",
    ]

    /// The patterns of `Tests/plain-words.txt`, those for help included.
    static func notPlain() throws -> [Regex<AnyRegexOutput>] {
        let file = SourceTexts.root.appending(path: "Tests/plain-words.txt")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").filter { !$0.hasPrefix("#") }
        return try lines.map { line in
            let pattern = line.prefix { $0 != "\t" }
            let text = String(pattern.hasPrefix("help:") ? pattern.dropFirst(5) : pattern)
            return try Regex(text).ignoresCase().wordBoundaryKind(.simple)
        }
    }

    /// Options and arguments that take one of a few words.
    static let fixed: Set<String> = [
        "bucketing", "from", "hash", "kind", "log-level", "method", "mode", "on-inconclusive", "policy", "role", "seed",
        "severity", "starttls", "status",
    ]

    @Test func `every command in the tree has help`() {
        #expect(CommandTree.all.count > 100)
        #expect(CommandTree.all.contains { $0.description == "calendar feed create" })
    }

    /// The parser makes a name that is missing of the type's, which asks the runtime about each type at every start.
    @Test func `every command declares its name`() {
        func nameless(_ command: any ParsableCommand.Type) -> [String] {
            let below = command.configuration.subcommands.flatMap(nameless)
            return command.configuration.commandName == nil ? ["\(command)"] + below : below
        }
        #expect(nameless(Pinledger.self) == [])
    }

    /// `Tests/Lint/test_contract.py` compares the verbs with the contract's operations.
    @Test func `every command that stands for an operation is in the tree`() throws {
        let file = SourceTexts.root.appending(path: "Tests/Support/commands.json")
        let named = try JSONDecoder().decode([String: String].self, from: Data(contentsOf: file))
        #expect(named.count > 100)
        #expect(Set(named.values).subtracting(CommandTree.all.map(\.description)).sorted() == [])
    }

    @Test(arguments: CommandTree.all) func `the help of a command begins with what it does`(command: CommandTree) throws
    {
        let abstract = try #require(command.abstract)
        let verb = abstract.prefix { $0.isLetter }
        #expect(Self.verbs.contains(String(verb)), "\(command): \(abstract)")
        #expect(abstract.hasSuffix("."), "\(command): \(abstract)")
    }

    @Test(arguments: CommandTree.all) func `the help of a command describes every argument, option and flag`(
        command: CommandTree
    ) {
        for argument in command.arguments ?? [] {
            let text = argument.abstract ?? ""
            #expect(text.first.map { $0.isUppercase } == true, "\(command) \(argument.name): \(text)")
            #expect(text.hasSuffix(".") || text.hasSuffix("]"), "\(command) \(argument.name): \(text)")
        }
    }

    @Test(arguments: CommandTree.all)
    func `the help of a command lists the values of an option that takes one of a few`(command: CommandTree) {
        for argument in command.arguments ?? [] {
            // A setting's words stand in its help: the parser takes every text of it.
            let words = argument.abstract?.firstMatch(of: #/ Values: ([a-z, ]+)\./#)?.1.split(separator: ", ") ?? []
            let values = argument.allValues ?? words.map(String.init)
            if argument.kind != "flag", Self.isFixed(argument, of: command) {
                #expect(values.count > 1, "\(command) \(argument.name)")
            }
            // Words that a text lists are values which the parser should know.
            guard values.isEmpty, argument.name != "stream" else { continue }
            let text = argument.abstract ?? ""
            #expect(
                text.firstMatch(of: #/(^|[ :])[a-z_]+(, [a-z_]+)* or [a-z_]+\.?($| \[)/#) == nil, "\(command): \(text)")
        }
    }

    private static func isFixed(_ argument: CommandTree.Argument, of command: CommandTree) -> Bool {
        switch argument.name {
        case "output": command.description != "export"
        case "format": argument.kind == "positional"
        // An installation has roles of its own.
        case "role": !["token create", "access grant", "access sign-in set"].contains(command.description)
        case "state": command.description == "webhook deliveries"
        case "client": command.description == "compat"
        case "from": command.description == "rotation advance"
        default: Self.fixed.contains(argument.name)
        }
    }

    @Test(arguments: CommandTree.all.filter(\.isLeaf))
    func `the help of a command has an example that the parser accepts`(command: CommandTree)
        async throws
    {
        #expect(!command.examples.isEmpty, "\(command)")
        for example in command.examples {
            await #expect(throws: Never.self, "\(example)") { try await CommandTree.parse(example) }
        }
        let own = command.examples.filter {
            $0.starts(with: command.path) || $0 == Self.shorthands[command.description]
        }
        #expect(!own.isEmpty, "\(command) shows only examples of others")
    }

    /// Commands that are meant where their group alone is named.
    private static let shorthands = ["calendar show": ["calendar", "com.example.app"]]

    @Test func `the help of a command is in plain words`() throws {
        let patterns = try Self.notPlain()
        #expect(patterns.count > 10)
        for command in CommandTree.all {
            for text in command.texts {
                for pattern in patterns { #expect(!text.contains(pattern), "\(command): \(text)") }
                #expect(!text.hasPrefix("Of "), "\(command): \(text)")
            }
        }
    }

    @Test func `the help of every command uses one verb for one thing`() {
        let synonyms: Set<String> = [
            "delete", "destroy", "disable", "edit", "enable", "erase", "get", "make", "modify", "new", "rm", "view",
        ]
        for group in CommandTree.all where !group.isLeaf {
            let names = Set(group.children.map(\.commandName))
            #expect(names.isDisjoint(with: synonyms), "\(group): \(names)")
            for (one, other) in [("add", "create"), ("set", "update"), ("remove", "revoke"), ("clear", "remove")] {
                #expect(!(names.contains(one) && names.contains(other)), "\(group) has both \(one) and \(other)")
            }
        }
    }

    @Test func `the lint of help texts finds what is missing`() async throws {
        let bare = try JSONDecoder().decode(
            CommandTree.self,
            from: Data(
                #"{"commandName":"x","superCommands":["pinledger"],"discussion":"Text.\npinledger x \\\n  y"}"#.utf8))
        #expect(bare.examples == [["x", "y"]] && bare.isLeaf && bare.path == ["x"])
        await #expect(throws: (any Error).self) {
            try await Pinledger.asyncParseAsRoot(["pin", "set-role", "a", "b", "c", "--role", "no"])
        }
    }
}
