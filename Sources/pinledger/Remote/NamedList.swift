import Foundation
import PinWire

/// A list of the server whose elements have names that operators type: shells offer them, and a mistyped one is compared with them.
struct NamedList: Sendable {
    /// The path of the list, with `{app}` for the app that it belongs to.
    let path: String
    var query = ""
    /// The member of the answer that has the elements.
    let list: String
    /// The member of an element that has its name.
    let member: String

    static let apps = NamedList(path: "/v1/apps", query: "?limit=1000", list: "apps", member: "app")
    static let hosts = NamedList(path: "/v1/apps/{app}/hosts", list: "hosts", member: "host")
    static let rotations = NamedList(path: "/v1/apps/{app}/rotations", list: "rotations", member: "rotation")
    static let clients = NamedList(path: "/v1/apps/{app}/clients", list: "clients", member: "client")
    static let reportKeys = NamedList(path: "/v1/apps/{app}/telemetry-keys", list: "keys", member: "key_id")
    static let changes = NamedList(path: "/v1/changes", list: "changes", member: "change_id")
    static let openChanges = NamedList(
        path: "/v1/changes", query: "?status=open", list: "changes", member: "change_id")
    static let webhooks = NamedList(path: "/v1/webhooks", list: "webhooks", member: "webhook_id")
    static let tokens = NamedList(path: "/v1/tokens", list: "tokens", member: "token_id")
    static let keys = NamedList(path: "/v1/keys", list: "keys", member: "kid")
    static let witnesses = NamedList(path: "/v1/log/witnesses", list: "witnesses", member: "key_id")
    static let principals = NamedList(path: "/v1/access/principals", list: "principals", member: "principal_id")
    static let roles = NamedList(path: "/v1/access/roles", list: "roles", member: "role")
    static let approvalRules = NamedList(path: "/v1/access/approval-rules", list: "approval_rules", member: "rule")
    static let freezes = NamedList(path: "/v1/access/freezes", list: "freezes", member: "freeze_id")
    static let providers = NamedList(
        path: "/v1/access/identity-providers", list: "identity_providers", member: "provider")
    static let signInRules = NamedList(path: "/v1/access/sign-in-rules", list: "sign_in_rules", member: "rule")
    static let identities = NamedList(path: "/v1/access/identities", list: "identities", member: "identity_id")

    /// The lists that may have the name which a problem says is unknown.
    static let byProblem: [String: [NamedList]] = [
        "app_unknown": [.apps], "host_unknown": [.hosts], "rotation_unknown": [.rotations],
        "client_unknown": [.clients], "key_unknown": [.reportKeys, .keys], "change_unknown": [.changes],
        "webhook_unknown": [.webhooks], "token_unknown": [.tokens], "witness_unknown": [.witnesses],
        "principal_unknown": [.principals], "role_unknown": [.roles], "approval_rule_unknown": [.approvalRules],
        "freeze_unknown": [.freezes], "identity_provider_unknown": [.providers],
        "sign_in_rule_unknown": [.signInRules], "identity_unknown": [.identities],
    ]

    /// The target of a request for the list; nil where an app is needed and none is given.
    func target(app: String?) -> String? {
        guard self.path.contains("{app}") else { return self.path + self.query }
        return app.map { self.path.replacing("{app}", with: APIClient.escaped($0)) + self.query }
    }

    /// The names in an answer.
    func names(in answer: JSON?) -> [String] {
        (answer?[self.list]?.arrayValue ?? []).compactMap { $0[self.member]?.stringValue }
    }

    /// The name that a request asked for in vain, as its target has it; nil where it stands elsewhere.
    func name(in target: String) -> String? {
        let parts = target.split(separator: "?", maxSplits: 1)
        let segments = (parts.first ?? "").split(separator: "/")
        let last = self.path.split(separator: "/").last ?? ""
        if let place = segments.firstIndex(of: last), place + 1 < segments.endIndex {
            return String(segments[place + 1]).removingPercentEncoding
        }
        let prefix = "\(self.member)="
        return (parts.count > 1 ? parts[1] : "").split(separator: "&").first { $0.hasPrefix(prefix) }
            .flatMap { String($0.dropFirst(prefix.count)).removingPercentEncoding }
    }
}

extension APIClient {
    /// The name that exists and is most like the one that the server does not know; nil where none is, and for another failure.
    ///
    /// The list is asked for with the command's own token: what that may not read is not offered.
    func suggestion(for failure: CommandFailure) async -> String? {
        guard let target = failure.target, let type = failure.problem?.split(separator: "/").last else { return nil }
        for list in NamedList.byProblem[String(type)] ?? [] {
            let app = NamedList.apps.name(in: target)
            guard let wanted = list.name(in: target) ?? Self.name(in: failure.message),
                let path = list.target(app: app),
                let answer = await Self.soon({ try? await self.get(path) })
            else { continue }
            if let nearest = Self.suggestion(instead: wanted, of: list.names(in: answer)) { return nearest }
        }
        return nil
    }

    /// The name that is most like the one that was typed; nil where that one exists too: something else of it is not there, such as its
    /// state at an earlier time.
    static func suggestion(instead wanted: String, of names: [String]) -> String? {
        names.contains(wanted) ? nil : NearestWord.of(wanted, in: names)
    }

    /// The name at the end of a sentence such as `There is no role viewr.`
    private static func name(in message: String) -> String? {
        guard message.hasPrefix("There is no ") || message.contains(" has no "), message.hasSuffix(".") else {
            return nil
        }
        return message.dropLast().split(separator: " ").last.map(String.init)
    }

    /// The value that is there within two seconds, or none: nobody waits longer for a hint.
    static func soon<Value: Sendable>(_ body: @escaping @Sendable () async -> Value?) async -> Value? {
        await withTaskGroup(of: Value?.self) { group in
            group.addTask { await body() }
            group.addTask {
                try? await Task.sleep(for: .seconds(2))
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
    }
}
