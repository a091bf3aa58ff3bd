import ArgumentParser
import Handbook
import PinWire

/// What a shell offers as the next word: names that the server, or a file of this machine, has now.
///
/// A shell waits for it at each press of a key: what is not there within two seconds is not offered, and no failure is shown.
enum LiveNames {
    private static let patience = Duration.seconds(2)
    private static let limit = 1000

    /// The values of a member of each element of a list of the server.
    ///
    /// - Parameters:
    ///   - words: The command line so far.
    ///   - path: The path of the list; nil where the words do not tell which one.
    static func names(_ words: [String], at path: String?, _ list: String, _ member: String) async -> [String] {
        guard let path, let options = try? ServerOptions.parse(Self.serverFlags(of: words)),
            let context = try? options.serverContext(isQuiet: true)
        else { return [] }
        return await withTaskGroup(of: [String]?.self) { group in
            group.addTask {
                let answer = try? await APIClient.with(context) { try await $0.get(path) }
                return (answer?[list]?.arrayValue ?? []).compactMap { $0[member]?.stringValue }
            }
            group.addTask {
                try? await Task.sleep(for: Self.patience)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return Array((first ?? []).filter(Self.isPlain).prefix(Self.limit))
        }
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
    private static func live(_ path: String, _ list: String, _ member: String) -> CompletionKind {
        .custom { words, _, _ in await LiveNames.names(words, at: path, list, member) }
    }

    /// The names of a list of the app that the command line names.
    private static func ofApp(_ end: String, _ list: String, _ member: String) -> CompletionKind {
        .custom { words, _, _ in
            let path = LiveNames.app(in: words).map { "/v1/apps/\(APIClient.escaped($0))\(end)" }
            return await LiveNames.names(words, at: path, list, member)
        }
    }

    static var apps: CompletionKind { .live("/v1/apps?limit=1000", "apps", "app") }
    static var hosts: CompletionKind { .ofApp("", "hosts", "host") }
    static var rotations: CompletionKind { .ofApp("/rotations", "rotations", "name") }
    static var changes: CompletionKind { .live("/v1/changes?status=open", "changes", "change_id") }
    static var webhooks: CompletionKind { .live("/v1/webhooks", "webhooks", "webhook_id") }
    static var tokens: CompletionKind { .live("/v1/tokens", "tokens", "token_id") }
    static var principals: CompletionKind { .live("/v1/access/principals", "principals", "principal_id") }
    static var roles: CompletionKind { .live("/v1/access/roles", "roles", "role") }
    static var keys: CompletionKind { .live("/v1/keys", "keys", "kid") }

    static var contexts: CompletionKind {
        .custom { _, _, _ in ((try? ContextFile()) ?? nil)?.contexts.map(\.name) ?? [] }
    }
    static var pages: CompletionKind { .list(Handbook.pages.map(\.name)) }
}
