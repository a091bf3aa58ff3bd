import ArgumentParser
import PinWire

/// The API's names in the words of the command line.
///
/// Texts of the server name members, query parameters and headers between backticks, as the API has them: `reason`. On a terminal each
/// of them is an option of the command that runs or, where that has none, of the one that has it. Names that are spelled as their
/// options are need no entry in ``forms``.
struct TerminalWords: Sendable {
    /// The long names of the command's options.
    private let options: Set<String>
    /// The names of its arguments, as its help has them.
    private let arguments: Set<String>
    /// True where the operator writes requests (`pinledger api`), so that the API's names are the right ones.
    let areRequests: Bool
    /// True where the operator sends a file, whose places are the file's.
    private let areFiles: Bool

    /// The words of the command that this process runs.
    static let running = TerminalWords(Main.command(named: Array(CommandLine.arguments.dropFirst())))

    init(_ command: any ParsableCommand.Type) {
        let dump = try? JSON(parsing: Array(command._dumpHelp().utf8), limits: .stored(depth: 64, nodes: .max))
        let arguments = dump?["command"]?["arguments"]?.arrayValue ?? []
        self.options = Set(
            arguments.flatMap { $0["names"]?.arrayValue ?? [] }.filter { $0.text("kind") == "long" }
                .map { $0.text("name") })
        self.arguments = Set(arguments.filter { $0.text("kind") == "positional" }.map { $0.text("valueName") })
        self.areRequests = command is APICommand.Type
        self.areFiles = command is ImportCommand.Type || command is ApplyCommand.Type || command is PlanCommand.Type
    }

    /// A name of the API on the command line.
    enum Form: Sendable {
        /// The first of these options that the command has; where it has none, the first one of another command.
        case option([String], of: String? = nil)
        /// Other words.
        case words(String)
        /// The same name, in a file that the operator writes.
        case file
    }

    /// The form on the command line of each API name whose option is spelled differently. TerminalWordsTests goes through all names.
    static let forms: [String: Form] = [
        // Every change has these.
        "reason": .option(["reason"]), "force": .option(["force"]), "dry_run": .option(["dry-run"]),
        "If-Match": .option(["if-version"]), "Idempotency-Key": .option(["idempotency-key"]),
        "change": .words("`--propose`, `--add-to`"), "change=new": .option(["propose"]),
        "bypass_approvals": .option(["bypass-approvals"]), "bypass_approvals=true": .option(["bypass-approvals"]),
        "plan_hash": .option(["plan-hash"], of: "`pinledger import FORMAT FILE`"),
        "content_sha256": .option(["content"], of: "`pinledger change approve ID`"),
        // The caller's token, and the answer
        "Authorization": .option(["token-file"]),
        "Authorization: Bearer pk_…": .words("`--token-file FILE` or PINLEDGER_TOKEN"),
        "Retry-After": .words("some"), "instance": .words("it is in the server's log"),
        // Apps, hosts and pins
        "pins_valid_until": .option(["pins-valid-until"], of: "`pinledger app update APP`"),
        "endpoints": .option(["endpoint"], of: "`pinledger host update APP HOST`"),
        "include_subdomains": .option(["include-subdomains"], of: "`pinledger host update APP HOST`"),
        "material": .words("a file in place of the pin"), "material_base64": .words("a file in place of the pin"),
        "display_name": .option(["name"], of: "`pinledger app update APP`"),
        "copy_baseline": .option(["copy-baseline"], of: "`pinledger rollout start APP HOST --percent SHARE`"),
        "salt": .option(["salt"], of: "`pinledger rollout set APP HOST`"),
        "whitelist": .option(["whitelist"], of: "`pinledger rollout set APP HOST`"),
        "exclusions": .option(["exclude"], of: "`pinledger rollout set APP HOST`"),
        "countries": .option(["country"], of: "`pinledger rollout set APP HOST`"),
        "basis_points": .option(["percent"], of: "`pinledger rollout set APP HOST`"),
        "minimum": .option(["min-version", "versions"], of: "`pinledger kill engage APP`"),
        "maximum": .option(["max-version", "versions"], of: "`pinledger kill engage APP`"),
        "excluded": .option(["except"], of: "`pinledger kill engage APP`"),
        "minimum_build": .option(["min-build"], of: "`pinledger kill engage APP`"),
        "expires_at": .option(["for", "until", "expires"]), "starts_at": .option(["from"]),
        // Files of other programs, the spec of `pinledger apply`, and the settings for `pinledger client set`
        "archived": .file, "domainsConfig": .file, "pinnedItems": .file,
        "cert_fingerprint": .file, "entry_days": .file, "firebase_app": .file, "hash": .file, "min_app_version": .file,
        "parameter": .file, "ttl_seconds": .file, "understands_domains": .file,
    ]

    /// A text of the server as the operator of the command reads it.
    ///
    /// - Parameter values: What else stands for names: what an answer has under them.
    func text(_ text: String, _ values: [String: String] = [:]) -> String {
        guard !self.areRequests else { return text }
        let parts = text.split(separator: "`", omittingEmptySubsequences: false)
        // Where a mark is left over, what stands between two of them is no name.
        guard parts.count > 1, !parts.count.isMultiple(of: 2) else { return text }
        var result = ""
        for index in stride(from: 0, to: parts.count, by: 2) {
            let part = parts[index]
            guard index + 1 < parts.count else {
                result += part
                break
            }
            let name = String(parts[index + 1])
            let noun = Self.nouns.first { part.hasSuffix($0.api) }
            let usual = noun.map { $0.isArgument ? "`\(self.argument(name))`" : "`--\(Self.spelled(name))`" }
            let known = noun?.isArgument == true ? nil : values[name] ?? self.words(for: name)
            guard let words = known ?? usual else {
                result += "\(part)`\(name)`"
                continue
            }
            if let noun {
                result += part.dropLast(noun.api.count)
                result += noun.terminal
            } else {
                result += part
            }
            result += words
        }
        return result
    }

    /// The place of a defect in a request.
    func place(_ pointer: String) -> String {
        guard !self.areRequests, !self.areFiles, var path = JSONPointer(text: pointer)?.path else { return pointer }
        if let last = path.last, Self.pinMembers.contains(last), self.own(last) == nil {
            path.removeLast()
            if path.isEmpty { return self.own("pin") ?? pointer }
        }
        if path.count > 1, path[path.count - 2] == "pins", let number = Self.number(path[path.count - 1]),
            self.options.isSuperset(of: ["primary", "backup"])
        {
            return "number \(number) of --primary and --backup"
        }
        for (index, name) in path.enumerated().reversed() {
            guard let own = self.own(name) else { continue }
            let rest = Array(path[(index + 1)...])
            if rest.count == 1, let number = Self.number(rest[0]) { return "\(own), number \(number)" }
            return rest.isEmpty ? own : "\(own) \(JSONPointer(rest).text)"
        }
        return pointer
    }

    /// The number of an array's element for people; nil for another name, and for what no array of a request has.
    private static func number(_ index: String) -> Int? {
        Int(index).flatMap { (0..<1_000_000).contains($0) ? $0 + 1 : nil }
    }

    /// The members of which a request has one where a command takes a pin or a file.
    private static let pinMembers: Set<String> = ["pin", "material", "material_base64"]

    /// How the kinds of names are called on either side.
    private static let nouns: [(api: String, terminal: String, isArgument: Bool)] = [
        ("query parameter ", "option ", false), ("header ", "option ", false), ("path parameter ", "argument ", true),
    ]

    /// The command's argument for a part of a path, whose name says more than the command's: `token_id` is `ID`.
    private func argument(_ name: String) -> String {
        let spelled = Self.spelled(name)
        let own = self.arguments.filter { spelled == $0 || spelled.hasSuffix("-\($0)") }.max { $0.count < $1.count }
        return (own ?? spelled).uppercased()
    }

    private static func spelled(_ name: String) -> String { name.replacing("_", with: "-") }

    private func words(for name: String) -> String? {
        if self.options.contains(Self.spelled(name)) { return "`--\(Self.spelled(name))`" }
        switch Self.forms[name] {
        case .option(let names, let command):
            let own = names.first(where: self.options.contains)
            guard own == nil, let command else { return "`--\(own ?? names[0])`" }
            return "`--\(names[0])` of \(command)"
        case .words(let words): return words
        case .file, nil: return nil
        }
    }

    /// The option or the argument of this command; nil where it has none of the name.
    private func own(_ name: String) -> String? {
        let spelled = Self.spelled(name)
        if self.options.contains(spelled) { return "--\(spelled)" }
        if self.arguments.contains(spelled) { return spelled.uppercased() }
        guard case .option(let names, _) = Self.forms[name] else { return nil }
        return names.first(where: self.options.contains).map { "--\($0)" }
    }
}

extension JSON {
    /// A text that the server wrote for people, in the words of the command line; a dash for none.
    func said(_ name: String) -> String { TerminalWords.running.text(self.text(name)) }
}
