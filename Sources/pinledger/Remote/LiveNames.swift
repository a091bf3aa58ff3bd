import ArgumentParser
import Handbook
import PinWire

/// What a shell offers as the next word: names that the server, or a file of this machine, has now.
///
/// A shell waits for it at each press of a key: what is not there within two seconds is not offered, and no failure is shown.
enum LiveNames {
    private static let limit = 1000

    /// The names in a list of the server.
    ///
    /// - Parameter words: The command line so far, which names the app that the list belongs to.
    static func names(_ words: [String], in list: NamedList) async -> [String] {
        guard let path = list.target(app: Self.app(in: words)),
            let options = try? ServerOptions.parse(Self.serverFlags(of: words)),
            let context = try? options.serverContext(isQuiet: true)
        else { return [] }
        let answer = await APIClient.soon { try? await APIClient.with(context) { try await $0.get(path) } }
        return Array(list.names(in: answer).filter(Self.isPlain).prefix(Self.limit))
    }

    /// The flags of ``ServerOptions`` on a command line, with their values.
    static func serverFlags(of words: [String]) -> [String] {
        let valued: Set = [
            "--server", "--context", "--token-file", "--ca-file", "--client-certificate", "--client-key",
        ]
        var flags: [String] = []
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--allow-http" || valued.contains(where: { word.hasPrefix("\($0)=") }) {
                flags.append(word)
            } else if valued.contains(word), let value = rest.popFirst() {
                flags += [word, value]
            }
        }
        // Standard input is the shell's.
        return flags.contains("-") ? [] : flags
    }

    /// The app that a command line names: the first word that looks like one.
    static func app(in words: [String]) -> String? {
        let flags = Set(Self.serverFlags(of: words))
        return words.dropFirst().first { $0.contains(".") && !$0.hasPrefix("-") && !flags.contains($0) }
            .flatMap { try? AppID($0).text }
    }

    /// A shell may read other characters as its own.
    private static func isPlain(_ name: String) -> Bool {
        // A wildcard pattern's asterisk; any other would be the shell's.
        let plain = name.hasPrefix("*.") ? name.dropFirst(2) : name[...]
        return !plain.isEmpty && !plain.hasPrefix("-")
            && plain.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "._-@:+=".utf8.contains(byte)
                }
            }
    }
}

extension CompletionKind {
    private static func live(_ list: NamedList) -> CompletionKind {
        .custom { words, _, _ in await LiveNames.names(words, in: list) }
    }

    static var apps: CompletionKind { .live(.apps) }
    static var hosts: CompletionKind { .live(.hosts) }
    static var rotations: CompletionKind { .live(.rotations) }
    static var changes: CompletionKind { .live(.openChanges) }
    static var webhooks: CompletionKind { .live(.webhooks) }
    static var tokens: CompletionKind { .live(.tokens) }
    static var principals: CompletionKind { .live(.principals) }
    static var roles: CompletionKind { .live(.roles) }
    static var keys: CompletionKind { .live(.keys) }

    static var contexts: CompletionKind {
        .custom { _, _, _ in ((try? ContextFile()) ?? nil)?.contexts.map(\.name) ?? [] }
    }
    static var pages: CompletionKind { .list(Handbook.pages.map(\.name)) }
}
