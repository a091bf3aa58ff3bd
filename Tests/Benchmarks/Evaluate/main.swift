// What a decision costs, beside a bare SHA-256 of the message that a lot is drawn from: EvaluateBench ROUNDS
//
// Prints one JSON object for each document, with nanoseconds per host, the median of the rounds.
import PinWire

let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 5
let now = Timestamp(seconds: 1_800_000_000)
let clock = ContinuousClock()

func pins(_ seed: UInt8) throws -> Document.Policy {
    let pins = (0..<3).compactMap { Pin(bytes: sha256([seed, $0])) }
    return Document.Policy(mode: .enforce, pins: pins.map { Document.RolePin(pin: $0, role: .primary) })
}

/// A document whose every host has a candidate, behind a version gate and both rollouts.
func document(hosts count: Int, lists: Bool) throws -> Document {
    let listed = lists ? (0..<100).map { Rollout.hashedID("tester-\($0)", salt: "app:com.example.app") } : []
    return Document(
        issuer: "pins.example.com", app: try AppID("com.example.app"), version: 12,
        pinsValidUntil: now.adding(seconds: 86_400), killSwitches: [],
        rollout: Rollout(
            basisPoints: 9000, seed: [.userID, .installID], salt: "app:com.example.app", whitelist: listed),
        versionGate: VersionGate(minimum: try AppVersion("1.5"), maximum: try AppVersion("4")),
        hosts: try (0..<count).map { number in
            Document.Host(
                pattern: try HostPattern("api-\(number).example.com"), includesSubdomains: false, baseline: try pins(1),
                candidate: try pins(2), rollout: Rollout(basisPoints: 2500, salt: "host:api-\(number).example.com"))
        },
        fallback: Fallback(), monitoring: Monitoring())
}

/// Nanoseconds for each of `count` things that `body` does, the median of the rounds.
func nanoseconds(per count: Int, _ body: () -> Int) -> Double {
    var times: [Double] = []
    var sum = 0
    for _ in 0..<rounds {
        let began = clock.now
        sum &+= body()
        times.append((clock.now - began) / .nanoseconds(1) / Double(count))
    }
    // What was decided has to be used, or none of it need be done.
    precondition(sum != .min)
    return times.sorted()[times.count / 2]
}

let devices = (0..<1000).map { number in
    Device(
        ids: [.deviceID: "6f9619ff-8b86-d011-b42d-\(100_000_000_000 + number)", .installID: "install-\(number)"],
        appVersion: "3.1.\(number % 10)", build: 310, country: "DE")
}
let message = Array("pinroll/v1\0host:api-0.example.com\0device_id\0\(devices[0].ids[.deviceID] ?? "")".utf8)
let repeats = 200_000

let bare = nanoseconds(per: repeats) {
    var message = message
    var sum = 0
    for turn in 0..<repeats {
        message[message.count - 1] = UInt8(truncatingIfNeeded: turn)
        sum &+= Int(sha256(message)[0])
    }
    return sum
}
for (count, lists) in [(1, false), (1, true), (10, false), (1000, false)] {
    let evaluator = Evaluator(try document(hosts: count, lists: lists))
    let names = (0..<count).map { "api-\($0).example.com" }
    let one = nanoseconds(per: repeats) {
        var sum = 0
        for turn in 0..<repeats {
            let decision = evaluator.decide(names[turn % count], for: devices[turn % devices.count], at: now)
            sum &+= decision.pins.count &+ (decision.arm == .candidate ? 1 : 0)
        }
        return sum
    }
    let turns = repeats / count
    let all = nanoseconds(per: turns * count) {
        (0..<turns).reduce(0) { sum, turn in
            evaluator.decideAll(for: devices[turn % devices.count], at: now).reduce(sum) { $0 &+ $1.1.pins.count }
        }
    }
    let explained = nanoseconds(per: repeats / 10) {
        (0..<repeats / 10).reduce(0) { sum, turn in
            let decision = evaluator.explain(names[turn % count], for: devices[turn % devices.count], at: now)
            return sum &+ decision.trace.count
        }
    }
    func rounded(_ value: Double) -> JSON { .number((value * 100).rounded() / 100) }
    let line: JSON = [
        "hosts": .integer(Int64(count)), "lists": .bool(lists), "sha256_ns": rounded(bare), "decide_ns": rounded(one),
        "decide_all_ns": rounded(all), "explain_ns": rounded(explained),
    ]
    print(line.canonicalText)
}
let made = nanoseconds(per: repeats) {
    (0..<repeats).reduce(0) { sum, turn in
        sum &+ (Device(ids: devices[turn % 1000].ids, appVersion: "3.1.4", country: "DE").country?.count ?? 0)
    }
}
let large = try document(hosts: 1000, lists: false)
let prepared = nanoseconds(per: 1000) { Evaluator(large).document.hosts.count }
let summary: JSON = [
    "device_ns": .number(made.rounded()), "prepare_ns_per_host": .number(prepared.rounded()),
]
print(summary.canonicalText)
