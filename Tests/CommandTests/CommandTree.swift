import ArgumentParser
import Foundation

@testable import pinledger

/// The commands as the parser itself describes them.
struct CommandTree: Decodable, Sendable, CustomStringConvertible {
    struct Argument: Decodable, Sendable {
        struct Name: Decodable, Sendable {
            var name: String
        }

        var kind: String
        var preferredName: Name?
        var valueName: String?
        var abstract: String?
        var allValues: [String]?

        var name: String { self.preferredName?.name ?? self.valueName ?? "" }
    }

    var superCommands: [String]?
    var commandName: String
    var abstract: String?
    var discussion: String?
    var arguments: [Argument]?
    var subcommands: [CommandTree]?

    /// The words that name it, without the program's.
    var path: [String] { (self.superCommands ?? []).dropFirst() + [self.commandName] }
    var description: String { self.path.joined(separator: " ") }
    var isLeaf: Bool { self.children.isEmpty }
    var children: [CommandTree] { (self.subcommands ?? []).filter { $0.commandName != "help" } }

    /// What a person reads of it.
    var texts: [String] {
        [self.abstract, self.discussion].compactMap(\.self) + (self.arguments ?? []).compactMap(\.abstract)
    }

    /// The lines of its discussion that are commands of the program, as words.
    var examples: [[String]] {
        (self.discussion ?? "").replacing(#/\\\n\s*/#, with: "").split(separator: "\n")
            .filter { $0.hasPrefix("pinledger ") || $0 == "pinledger" }
            .map { Array(ShellWords.split(String($0)).dropFirst()) }
    }

    /// All commands below the program.
    static let all: [CommandTree] = {
        struct Dump: Decodable { var command: CommandTree }
        func flat(_ tree: CommandTree) -> [CommandTree] { tree.children.flatMap { [$0] + flat($0) } }
        guard let dump = try? JSONDecoder().decode(Dump.self, from: Data(Pinledger._dumpHelp().utf8)) else { return [] }
        return flat(dump.command)
    }()

    /// The command that words name, read by its own parser: the whole program's would be made for each of them.
    static func parse(_ words: some Collection<String>) async throws -> any ParsableCommand {
        let (command, rest) = self.command(Pinledger.self, Array(words)[...])
        guard let command = command as? any AsyncParsableCommand.Type else {
            return try command.parseAsRoot(Array(rest))
        }
        return try await command.asyncParseAsRoot(Array(rest))
    }

    /// The command that the first words name, and the words after them.
    private static func command(
        _ command: any ParsableCommand.Type, _ words: ArraySlice<String>
    ) -> (any ParsableCommand.Type, ArraySlice<String>) {
        guard let word = words.first,
            let next = command.configuration.subcommands.first(where: { $0._commandName == word })
        else { return (command, words) }
        return self.command(next, words.dropFirst())
    }
}
