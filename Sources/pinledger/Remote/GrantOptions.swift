import ArgumentParser
import PinWire

/// A role on some apps, as options.
struct GrantOptions: ParsableArguments {
    @Option(
        name: .customLong("app"), parsing: .singleValue,
        help: ArgumentHelp(
            "App on which it holds: an id, the beginning of ids with an asterisk (com.example.*), or * for all. Can be repeated.",
            valueName: "pattern"))
    var apps: [String] = []

    @Option(
        name: .customLong("host"), parsing: .singleValue,
        help: ArgumentHelp(
            "Allow changes of this host only, or with *.example.com of every host below. Can be repeated.",
            valueName: "host"))
    var hosts: [String] = []

    var isEmpty: Bool { self.apps.isEmpty && self.hosts.isEmpty }

    /// The grant of a role in the API's form.
    func grant(of role: String) throws -> [String: JSON] {
        guard !self.apps.isEmpty else {
            throw CommandFailure(
                "no app is named",
                advice: "Say on which apps the role holds: --app com.example.shop, or --app '*' for all.",
                status: .usage)
        }
        var members: [String: JSON] = [
            "role": .string(role), "apps": .array(self.apps.map { .string($0) }),
        ]
        if !self.hosts.isEmpty { members["hosts"] = .array(self.hosts.map { .string($0) }) }
        return members
    }
}

/// A grant in words.
enum GrantText {
    static func text(_ grant: JSON) -> String {
        func list(_ name: String) -> String {
            (grant[name]?.arrayValue ?? []).compactMap(\.stringValue).joined(separator: ", ")
        }
        var text = "\(grant.text("role")) on \(list("apps"))"
        if grant["hosts"] != nil { text += ", changing \(list("hosts")) only" }
        if let end = grant["expires_at"]?.stringValue { text += ", until \(LocalTime.text(end))" }
        return text
    }

    /// What a token may do.
    static func rights(ofToken token: JSON) -> String {
        if token["unscoped"] == true { return "everything (issued before there were roles)" }
        if let rules = token["sign_in"]?["rules"]?.arrayValue, !rules.isEmpty {
            let names = rules.map { $0.text("rule") }.joined(separator: ", ")
            return "what the sign-in rules \(names) and \(token.text("principal_id"))'s roles give"
        }
        let grants = token["grants"]?.arrayValue?.map { Self.text($0) }.joined(separator: "; ")
        let networks = (token["networks"]?.arrayValue ?? []).compactMap(\.stringValue).joined(separator: ", ")
        let place = networks.isEmpty ? "" : ", from \(networks) only"
        return switch (grants, token["principal_id"]?.stringValue) {
        case (let grants?, nil): grants + place
        case (nil, let principal?): "all that \(principal) may do" + place
        case (let grants?, let principal?): "what \(principal) may do, at most \(grants)" + place
        case (nil, nil): "-"
        }
    }
}
