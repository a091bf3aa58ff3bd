// What it costs to ask whether a change is allowed, beside deciding it without asking: AccessBench ROUNDS
//
// Prints one line of JSON: nanoseconds for one change, the median of the rounds, by the kind of commander.
import PinWire
import Pinning

let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 5
let repeats = 20_000
let now = Timestamp(seconds: 1_800_000_000)
let clock = ContinuousClock()
let app = try AppID("com.example.shop")

/// Grants that a request is compared with one after the other, of which the last one allows it.
func grants(_ count: Int, appsEach: Int) throws -> [Grant] {
    try (0..<count).map { number in
        let apps = try (0..<appsEach).map { AppPattern.one(try AppID("org.example.a\(number).b\($0)")) }
        return Grant(
            role: RoleName(.editor), apps: number == count - 1 ? apps.dropLast() + [.prefix("com.example.")] : apps)
    }
}

/// A token on its own with one grant, and a person's tokens: with few grants, and with as many as a person may have.
let holders: [(name: String, grants: [Grant], isPerson: Bool)] = [
    ("token with one grant", try grants(1, appsEach: 1), false),
    ("person with 10 grants of 5 apps", try grants(10, appsEach: 5), true),
    ("person with 50 grants of 10 apps", try grants(50, appsEach: 10), true),
]
/// An app, and the holders' tokens.
func made() throws -> LedgerState {
    var state = LedgerState()
    let context = DecisionEnvironment { _ in false }.context(at: now)
    state.take(try state.decide(.app(app, [.create(displayName: "Shop")]), in: context).after)
    for (number, holder) in holders.enumerated() {
        var events: [AccessEvent] = []
        if holder.isPerson {
            events.append(.principalAdded(id: "prn_\(number)", .person, name: "Ada"))
            for (place, grant) in holder.grants.enumerated() {
                events.append(.roleGranted(id: "grt_\(number)_\(place)", principal: "prn_\(number)", grant))
            }
        }
        events.append(
            .tokenIssued(
                NewToken(
                    id: "tok_\(number)", name: holder.name, digest: sha256([UInt8(number)]),
                    expiresAt: now.adding(seconds: 3600),
                    terms: AccessToken.Terms(
                        kind: .general, grants: holder.isPerson ? nil : holder.grants,
                        principal: holder.isPerson ? "prn_\(number)" : nil))))
        for event in events { precondition(state.apply(.access(event), of: .access, at: now)) }
    }
    return state
}

let state = try made()

/// Nanoseconds for one decision, the median of the rounds.
func nanoseconds(for commander: Actor) throws -> Double {
    var context = DecisionEnvironment { _ in false }.context(at: now)
    context.commander = commander
    var times: [Double] = []
    for _ in 0..<rounds {
        let began = clock.now
        for turn in 0..<repeats {
            let decision = try state.decide(.app(app, [.rename("name \(turn)")]), in: context)
            precondition(decision.events.count == 1)
        }
        times.append((clock.now - began) / .nanoseconds(1) / Double(repeats))
    }
    return times.sorted()[times.count / 2]
}

/// Nanoseconds for what the server asks before a request: the rights of its token, and one permission of them.
func nanoseconds(asking commander: Actor) -> Double {
    var times: [Double] = []
    var allowed = 0
    for _ in 0..<rounds {
        let began = clock.now
        for _ in 0..<repeats where state.access.rights(of: commander, at: now).allows(.changeApps, on: app, hosts: []) {
            allowed += 1
        }
        times.append((clock.now - began) / .nanoseconds(1) / Double(repeats))
    }
    precondition(allowed == rounds * repeats)
    return times.sorted()[times.count / 2]
}

let local = Actor(kind: .local, id: "local", name: "Local operator")
var members: [String: JSON] = ["local operator, decide_ns": .integer(Int64(try nanoseconds(for: local)))]
for (number, holder) in holders.enumerated() {
    let actor = Actor(kind: .token, id: "tok_\(number)", name: holder.name)
    members["\(holder.name), decide_ns"] = .integer(Int64(try nanoseconds(for: actor)))
    members["\(holder.name), ask_ns"] = .integer(Int64(nanoseconds(asking: actor)))
}
print(JSON.object(members).canonicalText)
