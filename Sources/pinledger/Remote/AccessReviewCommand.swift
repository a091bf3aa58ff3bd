import ArgumentParser
import PinWire

/// Who can do what, for a review of access: each principal, and each token on its own, with what stands out.
struct AccessReviewCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "review", abstract: "List who can do what, and what stands out.",
        discussion: """
            pinledger access review --csv
            pinledger access review --at 2026-09-30 --csv

            It lists principals with what they hold themselves and by the rules of their last sign-in, sign-in rules, and tokens \
            on their own. It notes people who can both write changes and approve those of others, suspended principals that still have grants, \
            principals without a valid token, tokens that end soon, tokens of which no use is known for 30 days, tokens that may do everything because they are from \
            before there were roles, and when each last changed something (as far as you may read the history).

            With a moment of the past it lists who could do what then, without uses and changes since. That takes access.read on everything.
            """)
    @Option(help: ArgumentHelp("Note tokens that end within this time, such as 14d.", valueName: "time"))
    var ending: String = "14d"
    @Flag(help: "Print a table for spreadsheets (RFC 4180).") var csv = false
    @OptionGroup var moment: MomentOptions
    @OptionGroup var remote: RemoteOptions

    private static let columns = [
        "id", "kind", "name", "may_do", "valid_tokens", "ends", "last_use", "last_change", "notes",
    ]

    /// One line of the review.
    private struct Line {
        var cells: [String]
        var json: JSON {
            .object(
                Dictionary(
                    uniqueKeysWithValues: zip(AccessReviewCommand.columns, self.cells.map { JSON.string($0) })))
        }
    }

    func run() async throws {
        let ending = try TimeInput.seconds(self.ending)
        let query = try self.moment.query
        try await self.remote.withClient { client in
            var past: JSON?
            if let query { past = try await client.get("/v1/access?\(query)") }
            let now = past?["as_of"]?.stringValue.flatMap { Timestamp(rfc3339: $0) } ?? Node.clock()
            let view = View(now: now, horizon: now.adding(seconds: ending), isPast: past != nil)
            let principals = try await Self.list("principals", past, "/v1/access/principals", client)
            let tokens = try await Self.list("tokens", past, "/v1/tokens", client)
            let roles = try await Self.list("roles", past, "/v1/access/roles", client)
            let rules = try await Self.signInRules(past, client)
            var permissions: [String: Set<String>] = [:]
            for role in roles {
                permissions[role.text("role")] = Set((role["permissions"]?.arrayValue ?? []).compactMap(\.stringValue))
            }
            let valid = tokens.filter { token in
                token["revoked_at"] == nil
                    && token["expires_at"]?.stringValue.flatMap { Timestamp(rfc3339: $0) }.map { now < $0 } ?? false
            }
            var lines: [Line] = []
            for principal in principals {
                let id = principal.text("principal_id")
                let own = valid.filter { $0["principal_id"]?.stringValue == id }
                let last = principal["last_sign_in"]?["rules"]?.arrayValue ?? []
                let grants =
                    (principal["grants"]?.arrayValue ?? [])
                    + last.flatMap { rules[$0.stringValue ?? ""]?["grants"]?.arrayValue ?? [] }
                let held = grants.reduce(into: Set<String>()) { $0.formUnion(permissions[$1.text("role")] ?? []) }
                var notes = Self.notes(of: own, view)
                let isSuspended = principal["suspended_at"] != nil
                if isSuspended { notes.append(grants.isEmpty ? "suspended" : "suspended, and still has grants") }
                if !last.isEmpty {
                    notes.append("signs in by \(last.compactMap(\.stringValue).joined(separator: ", "))")
                } else if own.isEmpty, !isSuspended {
                    notes.append("no valid token")
                }
                if held.contains("changes.approve"), !held.isDisjoint(with: Self.writing) {
                    notes.append("writes changes and approves those of others")
                }
                if held.contains("approvals.bypass") { notes.append("can bypass approvals") }
                lines.append(
                    Line(cells: [
                        id, principal.text("kind"), principal.text("name"),
                        grants.map { GrantText.text($0) }.joined(separator: "; "), String(own.count),
                        Self.firstEnd(of: own), Self.lastUse(of: own), try await Self.lastChange(by: id, view, client),
                        notes.joined(separator: "; "),
                    ]))
            }
            for (name, rule) in rules.sorted(by: { $0.key < $1.key }) {
                let grants = rule["grants"]?.arrayValue ?? []
                lines.append(
                    Line(cells: [
                        name, "sign-in rule", "\(rule.text("kind")) of \(rule.text("provider"))",
                        grants.map { GrantText.text($0) }.joined(separator: "; "), "", "", "", "",
                        ClaimText.text(rule["claims"]),
                    ]))
            }
            for token in valid where token["principal_id"] == nil {
                var notes = Self.notes(of: [token], view)
                notes.append(token["unscoped"] == true ? "may do everything" : "belongs to no principal")
                let id = token.text("token_id")
                lines.append(
                    Line(cells: [
                        id, "token", token.text("name"), GrantText.rights(ofToken: token), "1",
                        Self.firstEnd(of: [token]), Self.lastUse(of: [token]),
                        try await Self.lastChange(by: id, view, client),
                        notes.joined(separator: "; "),
                    ]))
            }
            self.print(lines)
        }
    }

    /// What makes someone an author of changes.
    private static let writing: Set<String> = [
        "apps.change", "apps.create", "apps.archive", "access.manage", "keys.manage", "fleet.change",
        "guard_rails.change", "kill_switches.release",
    ]

    /// The moment that is reviewed.
    private struct View {
        let now: Timestamp
        /// What ends before it ends soon.
        let horizon: Timestamp
        /// Whether uses and changes until then are not known.
        let isPast: Bool
    }

    /// A list: that of a past moment, or the present one.
    private static func list(
        _ name: String, _ past: JSON?, _ path: String, _ client: APIClient
    ) async throws -> [JSON] {
        if let past { return past[name]?.arrayValue ?? [] }
        return try await client.get(path)[name]?.arrayValue ?? []
    }

    /// The rules by which identities sign in, by their names; none for a caller who may not see all of access.
    private static func signInRules(_ past: JSON?, _ client: APIClient) async throws -> [String: JSON] {
        var rules = past?["sign_in_rules"]?.arrayValue ?? []
        if past == nil, case .success(let answer) = await client.look("/v1/access/sign-in-rules"), answer.status == 200
        {
            rules = try answer.json["sign_in_rules"]?.arrayValue ?? []
        }
        return Dictionary(rules.map { ($0.text("rule"), $0) }) { first, _ in first }
    }

    /// After how long without a use a token is noted: 30 days.
    private static let idleSeconds: Int64 = 30 * 86_400

    private static func notes(of tokens: [JSON], _ view: View) -> [String] {
        let ending = tokens.filter { token in
            token["kind"] != "session"
                && token["expires_at"]?.stringValue.flatMap { Timestamp(rfc3339: $0) }.map { $0 <= view.horizon }
                    ?? false
        }
        let idle = view.now.adding(seconds: -Self.idleSeconds)
        let unused = tokens.filter { token in
            !view.isPast && token["kind"] != "session"
                && (token["last_used_at"] ?? token["created_at"])?.stringValue.flatMap { Timestamp(rfc3339: $0) }
                    .map { $0 < idle } ?? false
        }
        var notes: [String] = []
        if !ending.isEmpty {
            notes.append("\(ending.count) token\(ending.count == 1 ? "" : "s") end\(ending.count == 1 ? "s" : "") soon")
        }
        if !unused.isEmpty {
            notes.append("\(unused.count) token\(unused.count == 1 ? "" : "s") without a known use for 30 days")
        }
        return notes
    }

    private static func firstEnd(of tokens: [JSON]) -> String {
        tokens.compactMap { $0["expires_at"]?.stringValue }.min() ?? ""
    }

    /// When one of the tokens was used last; empty where none was, or only sessions are there.
    private static func lastUse(of tokens: [JSON]) -> String {
        tokens.compactMap { $0["last_used_at"]?.stringValue }.max() ?? ""
    }

    /// When an actor last recorded something; empty where it never did, or the caller may not read it.
    private static func lastChange(by id: String, _ view: View, _ client: APIClient) async throws -> String {
        guard !view.isPast,
            case .success(let answer) = await client.look("/v1/history?actor=\(APIClient.escaped(id))&limit=1"),
            answer.status == 200
        else { return "" }
        return try answer.json["events"]?.arrayValue?.first?["time"]?.stringValue ?? ""
    }

    private func print(_ lines: [Line]) {
        if self.csv {
            Console.write(CSVRow(cells: Self.columns).bytes)
            for line in lines { Console.write(CSVRow(cells: line.cells).bytes) }
            return
        }
        guard self.remote.output.isTable else {
            return Console.print(JSON.object(["access": .array(lines.map(\.json))]), self.remote.output)
        }
        var table = Table(["ID", "KIND", "NAME", "MAY DO", "TOKENS", "FIRST END", "LAST USE", "LAST CHANGE", "NOTES"])
        for line in lines {
            var cells = line.cells
            for place in [5, 6, 7] { cells[place] = cells[place].isEmpty ? "-" : LocalTime.text(cells[place]) }
            table.add(cells)
        }
        Console.print(table)
    }
}
