import ArgumentParser
import PinWire

/// What to say of a word that is no command.
struct CommandSuggestion {
    let message: String
    let advice: String

    /// - Parameters:
    ///   - arguments: Those of the program, without its name.
    /// - Returns: Nil where all words that may name commands do.
    init?(_ arguments: [String], of root: any ParsableCommand.Type) {
        var command = root
        var path = [Self.name(of: root)]
        for word in arguments {
            let children = Self.children(of: command)
            // Options before a command may have values: it is not known which word is a command's.
            guard !children.isEmpty, !word.hasPrefix("-") else { return nil }
            if let child = children.first(where: { Self.names(of: $0).contains(word) }) {
                command = child
                path.append(Self.name(of: child))
                continue
            }
            let names = children.filter { $0.configuration.shouldDisplay }.flatMap(Self.names)
            let place = path.joined(separator: " ")
            self.message = "\(place) has no command \(String(shown: word.utf8))"
            let begun = names.filter { word.count >= 3 && $0.hasPrefix(word) }
            // The usual words first: `disengage` is more like `engage` than like `release`.
            let nearest =
                Self.usual(instead: word).first(where: names.contains) ?? (begun.count == 1 ? begun[0] : nil)
                ?? NearestWord.of(word, in: names)
            self.advice =
                nearest.map { "Did you mean `\(place) \($0)`?" } ?? "`\(place) --help` lists its commands."
            return
        }
        return nil
    }

    private static func children(of command: any ParsableCommand.Type) -> [any ParsableCommand.Type] {
        command.configuration.subcommands
    }

    private static func name(of command: any ParsableCommand.Type) -> String { command._commandName }

    private static func names(of command: any ParsableCommand.Type) -> [String] {
        [command._commandName] + command.configuration.aliases
    }

    /// The commands that other programs call by another word.
    private static func usual(instead word: String) -> [String] {
        switch word {
        case "ls", "all": ["list"]
        case "get", "describe", "view", "cat", "info": ["show", "list"]
        case "delete", "rm", "del", "drop": ["remove", "revoke", "archive", "retire"]
        case "new", "add", "make": ["create", "add", "issue"]
        case "create": ["add"]
        case "edit", "set", "modify", "change": ["update"]
        case "disengage", "off", "disable": ["release", "pause"]
        case "on", "enable": ["engage", "resume"]
        case "start", "run", "server": ["serve", "dev"]
        case "rotate": ["rotation"]
        case "events", "audit-log": ["history"]
        default: []
        }
    }
}
