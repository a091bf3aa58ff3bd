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
            does not serve, record and sign, if a kill switch is engaged, or if anything is urgent.
            """)
    @Flag(help: "Exit with 1 if anything is wrong.") var exitCode = false
    @OptionGroup var remote: RemoteOptions

    func run() async throws {
        let status = try await self.remote.withClient { try await ServerStatus(of: $0) }
        if self.remote.output == .table { status.show() } else { Console.print(status.json, self.remote.output) }
        if self.exitCode, status.isTroubled { throw ExitCode(ExitStatus.failure.rawValue) }
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

    /// - Throws: ``CommandFailure`` where the server is not reachable, or the token is not valid.
    init(of client: APIClient) async throws {
        var answers: [Part: JSON] = [:]
        for part in Part.allCases {
            let answer = try await client.send("GET", part.path)
            // A node that is not ready says so with 503, and a node that reads the ledger takes no token yet.
            if part == .readiness {
                answers[part] = try answer.json
                continue
            }
            guard ![403, 404].contains(answer.status) else { continue }
            try answer.check()
            answers[part] = try answer.json
        }
        self.server = client.base
        self.answers = answers
    }

    var json: JSON {
        var members: [String: JSON] = ["server": .string(self.server)]
        for (part, answer) in self.answers { members[part.rawValue] = answer }
        return .object(members)
    }

    private static let uses = ["serves", "serves_documents", "writes", "signs"]

    /// What the node does not do now.
    private var idle: [String] { Self.uses.filter { self.answers[.readiness]?[$0] == false } }
    private var switches: [JSON] { self.answers[.killSwitches]?["kill_switches"]?.arrayValue ?? [] }
    private func count(_ severity: String) -> Int64 {
        self.answers[.attention]?["counts"]?[severity]?.integerValue ?? 0
    }

    /// Whether the node does not serve, record or sign, a kill switch is engaged, or anything is urgent.
    var isTroubled: Bool { !self.idle.isEmpty || !self.switches.isEmpty || self.count("urgent") > 0 }

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
        Console.print(table.text)
        self.showSwitches()
        self.showUrgent()
        self.showChanges()
        let missing = Part.allCases.filter { self.answers[$0] == nil }.map(\.name)
        if !missing.isEmpty { Console.error("This token may not read: \(missing.joined(separator: ", ")).") }
    }

    private var readiness: String {
        let idle = self.idle.map { $0.replacing("_", with: " ") }
        guard !idle.isEmpty else { return "ready" }
        let reason = self.answers[.readiness]?["reason"].map { _ in
            ": \(self.answers[.readiness]?.text("reason") ?? "")"
        }
        return "not ready: \(idle.joined(separator: ", ")) no\(reason ?? "") (`pinledger doctor` says why)"
    }

    private static func text(ofMe me: JSON) -> String {
        let name = me["principal"]?.text("name") ?? me["actor"]?.text("name") ?? "-"
        let end = me["expires_at"].map { _ in ", token valid until \(LocalTime.text(me.text("expires_at")))" }
        return name + (end ?? "")
    }

    private static func text(of nodes: [JSON]) -> String {
        let live = nodes.filter { $0["live"] == true }
        let versions = Set(live.map { $0.text("version") }).sorted()
        let away = nodes.count - live.count
        return "\(live.count) running \(versions.joined(separator: " and "))"
            + (away == 0 ? "" : ", \(away) not seen lately")
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
            let until = LocalTime.text(engaged.text("expires_at"))
            Console.print("  \(place.isEmpty ? engaged.text("scope") : place) until \(until)")
        }
    }

    private func showUrgent() {
        let urgent = (self.answers[.attention]?["items"]?.arrayValue ?? []).filter { $0["severity"] == "urgent" }
        guard !urgent.isEmpty else { return }
        Console.print("\nUrgent (`pinledger attention`):")
        for item in urgent.prefix(Self.rows) {
            let place = ["app", "host"].compactMap { item[$0]?.stringValue }.joined(separator: " ")
            Console.print("  \(place.isEmpty ? "" : "\(place): ")\(item.text("detail"))")
        }
    }

    private func showChanges() {
        let changes = self.answers[.changes]?["changes"]?.arrayValue ?? []
        guard !changes.isEmpty else { return }
        Console.print("\nWait for approval, or to be applied (`pinledger change list`):")
        for change in changes.prefix(Self.rows) {
            Console.print(
                "  \(change.text("change_id")) by \(change["author"]?.text("name") ?? "-"): \(change.text("reason"))")
        }
    }

    /// Rows of one list: the page is for a first look.
    private static let rows = 10
}
