import ArgumentParser
import PinWire

struct HistoryCommand: AsyncParsableCommand, Paged {
    static let configuration = CommandConfiguration(
        commandName: "history", abstract: "Show who changed what, when and why. Newest first.",
        discussion: """
            pinledger history com.example.app --since 7d
            pinledger history com.example.app --day 2026-11-22
            pinledger history --type 'kill-switch.*' --actor ci
            pinledger history --search r4nd0mPinHash= --since 90d

            POSITION is the number of events before an event: `pinledger explain APP --position 42` explains the state \
            before event 42, `--event 42` the state right after it. `--output json` prints the events as they were recorded, \
            and `--output wide` adds their types and streams.

            --search looks at the whole recorded event: pins, hosts, names, reasons and request ids. It reads every event that \
            the other options leave, so give --since for a long history.
            """
    )
    @Argument(help: "Show only this app.", completion: .apps) var app: String?
    @Option(
        help:
            "Show only this stream: app/ID, watch/ID (an app's warnings and report keys), fleet, keys, access, webhooks, log, changes or audit."
    )
    var stream: String?
    @Option(help: "Show only these types of events or groups of them, separated by commas.") var type: String?
    @Option(help: "Show only events of this actor: its id, or the name of its token.") var actor: String?
    @OptionGroup var period: PeriodOptions
    @Option(
        help: ArgumentHelp(
            "Show only events that hold this text anywhere: a pin, a host, a word of a reason, a request id. The case of letters from A to Z makes no difference.",
            valueName: "text"))
    var search: String?
    @Option(help: ArgumentHelp("Show at most this many.", valueName: "count")) var limit = 50
    @Flag(help: "Show the oldest first.") var oldest = false
    @OptionGroup var watching: WatchOption
    @OptionGroup var remote: RemoteOptions

    var isPaged: Bool { self.remote.output.isTable && self.watching.watch == nil }

    func run() async throws {
        guard self.app == nil || self.stream == nil else {
            throw CommandFailure("give an app or a --stream, not both", status: .usage)
        }
        guard self.limit > 0 else { throw CommandFailure("--limit must be at least 1", status: .usage) }
        let base = self.app.map { "/v1/apps/\(APIClient.escaped($0))/history" } ?? "/v1/history"
        let period = try self.period.parameters()
        try await self.watching.with(self.remote) { client in
            let actor = try await self.actorID(client)
            var query =
                [("stream", self.stream), ("type", self.type), ("actor", actor), ("search", self.search)]
                .compactMap { name, value in value.map { "\(name)=\(APIClient.escaped($0))" } } + period
            if self.oldest { query.append("order=oldest") }
            var events: [JSON] = []
            var cursor: String?
            repeat {
                let page =
                    query + ["limit=\(min(1000, self.limit - events.count))"] + (cursor.map { ["cursor=\($0)"] } ?? [])
                let json = try await client.get("\(base)?\(page.joined(separator: "&"))")
                events += json["events"]?.arrayValue ?? []
                cursor = json["next_cursor"]?.stringValue
            } while cursor != nil && events.count < self.limit
            if events.isEmpty { try await self.checkNames(client, actor) }
            ListReport.print(
                ["events": .array(events)], "events", self.remote.output,
                ["POSITION", "TIME", "WHO", "WHAT", "WHY"]
            ) { event in
                [
                    event.text("position"), event.time("time"), event["actor"]?.text("name") ?? "-",
                    EventSentence(event).text, event.text("reason"),
                ]
            }
        }
    }

    /// The actor's id: the given text, or the id of the only principal or token with this name.
    private func actorID(_ client: APIClient) async throws -> String? {
        guard let actor, !["tok_", "prn_"].contains(where: actor.hasPrefix), !Self.ownActors.contains(actor) else {
            return self.actor
        }
        // Who may not list principals knows the tokens that are shown to all.
        var principals: [JSON] = []
        if case .success(let answer) = await client.look("/v1/access/principals"), answer.status == 200 {
            principals = try answer.json["principals"]?.arrayValue ?? []
        }
        let tokens = try await client.get("/v1/tokens")["tokens"]?.arrayValue ?? []
        let people = principals.filter { $0["name"]?.stringValue == actor }.compactMap {
            $0["principal_id"]?.stringValue
        }
        // A session has its principal's name, and is found with that one.
        let ids =
            people
            + tokens.filter { token in
                token["name"]?.stringValue == actor
                    && token["principal_id"]?.stringValue.map { !people.contains($0) } ?? true
            }.compactMap { $0["token_id"]?.stringValue }
        guard ids.count <= 1 else {
            throw CommandFailure(
                "\(ids.count) principals or tokens are called \(actor)",
                advice: "Give the id: \(ids.joined(separator: ", ")).", status: .usage)
        }
        guard let id = ids.first else {
            throw CommandFailure(
                "there is no actor \(actor)",
                advice:
                    "`pinledger access list` and `pinledger token list` show ids and names. The server itself is `pinledger`, commands on its machine are `local`.",
                status: .notFound)
        }
        return id
    }

    /// Ids of actors that are not tokens.
    private static let ownActors = ["local", "pinledger"]

    /// After an empty result: distinguishes an unknown name from one without matches.
    private func checkNames(_ client: APIClient, _ actor: String?) async throws {
        for prefix in ["app/", "watch/"] where self.stream?.hasPrefix(prefix) == true {
            let app = self.stream?.dropFirst(prefix.count) ?? ""
            _ = try await client.get("/v1/apps/\(APIClient.escaped(String(app)))")
        }
        guard let actor, actor.hasPrefix("tok_") else { return }
        // Who may not list tokens gets no further hint.
        guard case .success(let answer) = await client.look("/v1/tokens"), answer.status == 200 else { return }
        let tokens = try answer.json["tokens"]?.arrayValue ?? []
        guard tokens.contains(where: { $0["token_id"]?.stringValue == actor }) else {
            throw CommandFailure(
                "there is no token \(actor) among those that you see",
                advice: "`pinledger token list` shows the ids and names.",
                status: .notFound)
        }
    }
}
