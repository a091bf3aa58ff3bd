import ArgumentParser
import PinWire

/// The page to look at first: how a server is, and what waits for people.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show how the server is, and what waits for you: the page to look at first.",
        discussion: """
            pinledger status
            pinledger status --exit-code

            What the token may not read is left out, and named. With --exit-code the command ends with 1 if the node \
            does not do what it is there for (serve, record and sign; a read-only node and an edge only serve), if a kill switch is \
            engaged, if anything is urgent, or if an answer is missing.
            """)
    @Flag(help: "Exit with 1 if anything is wrong.") var exitCode = false
    @OptionGroup var watching: WatchOption
    @OptionGroup var remote: RemoteOptions

    func run() async throws {
        try await self.watching.repeating {
            let status = try await self.remote.withClient { try await ServerStatus(of: $0) }
            if self.remote.output.isTable { status.show() } else { Console.print(status.json, self.remote.output) }
            if let failure = status.failure { throw failure }
            if self.exitCode, status.isTroubled { throw ExitCode(ExitStatus.failure.rawValue) }
        }
    }
}

/// What a server says of itself in several answers.
struct ServerStatus {
    let server: String
    /// The answers by their names; nil for those that the token may not read.
    private let answers: [Part: JSON]

    enum Part: String, CaseIterable {
        case readiness
        case whoami
        case nodes
        case killSwitches = "kill_switches"
        case attention
        case changes
        case reviews

        fileprivate var path: String {
            switch self {
            case .readiness: "/readyz"
            case .whoami: "/v1/whoami"
            case .nodes: "/v1/nodes"
            case .killSwitches: "/v1/kill-switches"
            case .attention: "/v1/attention"
            case .changes: "/v1/changes?status=open"
            case .reviews: "/v1/changes?status=awaits_review"
            }
        }

        fileprivate var name: String {
            switch self {
            case .readiness: "the node's readiness"
            case .whoami: "who you are"
            case .nodes: "nodes"
            case .killSwitches: "kill switches"
            case .attention: "what needs attention"
            case .changes: "open changes"
            case .reviews: "changes to review"
            }
        }
    }

    /// Why an answer is missing that the token may read, by its name.
    private let failures: [Part: CommandFailure]

    /// The most bytes of an answer, and the time for one: a first look takes neither long nor much room.
    private static let limit = 4 << 20
    private static let patience = Duration.seconds(20)

    /// - Throws: ``CommandFailure`` where the server is not reachable, or is none of this program.
    init(of client: APIClient) async throws {
        var answers: [Part: JSON] = [:]
        var failures: [Part: CommandFailure] = [:]
        for part in Part.allCases {
            do {
                let answer = try await Self.answer(of: client, part.path)
                if part == .readiness {
                    // A node that is not ready says so with 503.
                    let json = try? answer.json
                    if json?["type"]?.stringValue?.hasPrefix("/problems/") == true { try answer.check() }
                    guard [200, 503].contains(answer.status), let json,
                        Self.uses.allSatisfy({ json[$0] == true || json[$0] == false })
                    else {
                        throw CommandFailure(
                            "\(client.base) does not answer as a server of Pinledger does: \(answer.status) at /readyz",
                            advice: "Check the address, and what stands between.", status: .unreachable)
                    }
                    answers[part] = json
                    continue
                }
                guard ![403, 404].contains(answer.status) else { continue }
                try answer.check()
                let json = try answer.json
                guard json.objectValue != nil else { throw CommandFailure("the answer is no object") }
                answers[part] = json
            } catch let failure as CommandFailure where part != .readiness {
                failures[part] = failure
            }
        }
        self.server = client.base
        self.answers = answers
        self.failures = failures
    }

    private static func answer(of client: APIClient, _ path: String) async throws -> APIClient.Answer {
        try await withThrowingTaskGroup(of: APIClient.Answer.self) { group in
            group.addTask { try await client.send("GET", path, limit: Self.limit) }
            group.addTask {
                try await Task.sleep(for: Self.patience)
                throw CommandFailure(
                    "\(client.base)\(path) has not answered to its end within \(Self.patience)", status: .unreachable)
            }
            defer { group.cancelAll() }
            guard let answer = try await group.next(), answer.body.count <= Self.limit else {
                throw CommandFailure("\(client.base)\(path) answers with more than \(Self.limit) bytes")
            }
            return answer
        }
    }

    var json: JSON {
        var members: [String: JSON] = ["server": .string(self.server)]
        for (part, answer) in self.answers { members[part.rawValue] = answer }
        return .object(members)
    }

    private static let uses = ["serves", "serves_documents", "writes", "signs"]

    /// What the address is there for: an edge, and clients' address, have none of the operators' operations; a read-only node records
    /// and signs nothing.
    private var purpose: [String] {
        let isForOperators = self.answers[.whoami] != nil || self.failures[.whoami] != nil
        let isReadOnly = self.answers[.readiness]?["read_only"] == true
        return isForOperators && !isReadOnly ? Self.uses : Array(Self.uses.prefix(2))
    }

    /// What the node does not do now, and is there for.
    private var idle: [String] { self.purpose.filter { self.answers[.readiness]?[$0] != true } }
    private var switches: [JSON] { self.answers[.killSwitches]?["kill_switches"]?.arrayValue ?? [] }
    private func count(_ severity: String) -> Int64 {
        self.answers[.attention]?["counts"]?[severity]?.integerValue ?? 0
    }

    /// Whether the node does not do what it is there for, a kill switch is engaged, anything is urgent, or an answer is missing that is
    /// not refused.
    var isTroubled: Bool {
        !self.idle.isEmpty || !self.switches.isEmpty || self.count("urgent") > 0 || !self.failures.isEmpty
    }

    /// Why the command fails after it has shown what there is; nil where it does not.
    var failure: CommandFailure? { self.failures.values.first { $0.status == .unauthorized } }

    // MARK: For people

    func show() {
        var table = Table(["WHAT", "NOW"])
        table.add(["server", self.server])
        table.add(["node", self.readiness])
        if let me = self.answers[.whoami] { table.add(["you", Self.text(ofMe: me)]) }
        if let nodes = self.answers[.nodes]?["nodes"]?.arrayValue { table.add(["nodes", Self.text(of: nodes)]) }
        if self.answers[.killSwitches] != nil {
            table.add(["kill switches", self.switches.isEmpty ? "none engaged" : "\(self.switches.count) engaged"])
        }
        if self.answers[.attention] != nil { table.add(["attention", self.attention]) }
        if let changes = self.answers[.changes]?["changes"]?.arrayValue {
            table.add(["open changes", changes.isEmpty ? "none" : Self.number(changes, self.answers[.changes])])
        }
        if let reviews = self.answers[.reviews]?["changes"]?.arrayValue, !reviews.isEmpty {
            table.add(["changes to review", Self.number(reviews, self.answers[.reviews])])
        }
        for part in Part.allCases {
            guard let failure = self.failures[part] else { continue }
            table.add([part.name, "not available: \(failure.message.split(separator: "\n").first ?? "")"])
        }
        Console.print(table)
        self.showSwitches()
        self.showUrgent()
        self.showChanges()
        let refused = Part.allCases.filter { self.answers[$0] == nil && self.failures[$0] == nil }.map(\.name)
        guard !refused.isEmpty else { return }
        Console.error(
            self.answers[.whoami] == nil && self.failures[.whoami] == nil
                ? "This address answers clients and edges alone, and tells operators nothing more."
                : "This token may not read: \(refused.joined(separator: ", ")).")
    }

    private var readiness: String {
        let idle = self.idle.map { $0.replacing("_", with: " ") }
        let kind = self.answers[.readiness]?["read_only"] == true ? " (read-only)" : ""
        guard !idle.isEmpty else { return "ready\(kind)" }
        let reasons = ["fault", "suspension", "write_failure"].compactMap { self.answers[.readiness]?[$0]?.stringValue }
        return
            "not ready\(kind): \(idle.joined(separator: ", ")) no\(reasons.isEmpty ? "" : ": \(reasons.joined(separator: "; "))")"
    }

    private static func text(ofMe me: JSON) -> String {
        let name = me["principal"]?.text("name") ?? me["actor"]?.text("name") ?? "-"
        let end = me["expires_at"].map { _ in ", token valid until \(me.time("expires_at"))" }
        return name + (end ?? "")
    }

    private static func text(of nodes: [JSON]) -> String {
        let live = nodes.filter { $0["live"] == true }
        let versions = Set(live.map { $0.text("version") }).sorted()
        let away = nodes.count - live.count
        let version = versions.isEmpty ? "" : " \(versions.joined(separator: " and "))"
        return "\(live.count) live\(version)" + (away == 0 ? "" : ", \(away) not seen lately")
    }

    private var attention: String {
        let counts = ["urgent", "soon", "info"].filter { self.count($0) > 0 }.map { "\(self.count($0)) \($0)" }
        return counts.isEmpty ? "nothing" : counts.joined(separator: ", ")
    }

    /// A count; a list that goes on has at least so many.
    private static func number(_ elements: [JSON], _ answer: JSON?) -> String {
        "\(elements.count)\(answer?["next_cursor"] == nil ? "" : " or more")"
    }

    private func showSwitches() {
        guard !self.switches.isEmpty else { return }
        Console.print("\nPinning is turned off (`pinledger kill list`):")
        for engaged in self.switches.prefix(Self.rows) {
            let place = ["app", "host"].compactMap { engaged[$0]?.stringValue }.joined(separator: " ")
            let until = engaged.time("expires_at")
            Console.line("  \(place.isEmpty ? engaged.text("scope") : place) until \(until)")
        }
    }

    private func showUrgent() {
        let urgent = (self.answers[.attention]?["items"]?.arrayValue ?? []).filter { $0["severity"] == "urgent" }
        guard !urgent.isEmpty else { return }
        Console.print("\nUrgent (`pinledger attention`):")
        for item in urgent.prefix(Self.rows) {
            let place = ["app", "host"].compactMap { item[$0]?.stringValue }.joined(separator: " ")
            Console.line("  \(place.isEmpty ? "" : "\(place): ")\(item.said("detail"))")
        }
    }

    private func showChanges() {
        let changes = self.answers[.changes]?["changes"]?.arrayValue ?? []
        guard !changes.isEmpty else { return }
        Console.print("\nWait for approval, or to be applied (`pinledger change list`):")
        for change in changes.prefix(Self.rows) {
            Console.line(
                "  \(change.text("change_id")) by \(change["author"]?.text("name") ?? "-"): \(change.text("reason"))")
        }
    }

    /// Rows of one list: the page is for a first look.
    private static let rows = 10
}
