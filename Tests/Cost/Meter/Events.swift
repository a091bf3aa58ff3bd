import EventStore
import PinWire
import Pinning
import TransparencyLog

extension Works {
    /// Events of an app, as a node reads them from the ledger and as it writes them.
    static let events = [
        Work("event-folded", count: 400) {
            let app = try ExampleApp(hosts: 5)
            let written = try Self.entries(of: app, 800).map(\.bytes)
            var view = LedgerView()
            for (stream, event) in app.events {
                guard view.state.apply(event, of: stream, at: ExampleApp.now) else {
                    throw Unfit("\(event) is not taken")
                }
            }
            var names = RecentNames()
            return { turn in
                let entry = written[turn]
                let leaf = MerkleTree.leafHash(entry)
                let step = try entry.withUnsafeBufferPointer { bytes in
                    try ReplayedEvent(bytes: bytes, names: &names)
                }
                let outcome = view.state.apply(
                    step.event, of: step.stream, version: step.streamVersion, at: step.effectiveAt)
                guard outcome == .applied else { throw Unfit("event \(turn) does not fit: \(outcome)") }
                return view.head.frontier.append(leaf: leaf).count
            }
        },
        Work("event-written", count: 400) {
            let entries = try Self.entries(of: try ExampleApp(hosts: 5), 800)
            var view = LedgerView()
            return { turn in
                let bytes = entries[turn].bytes
                return bytes.count + view.extend(with: bytes, at: entries[turn].time).count
            }
        },
    ]

    /// The next events of an app: its operators add a pin, retire it, rename the app, move the rollout, and switch pinning off and on.
    private static func entries(of app: ExampleApp, _ count: Int) throws -> [Entry] {
        let (host, other) = (app.hosts[2], app.hosts[0])
        let reason = try Reason("renewal of the certificates")
        var next = app.state.version(of: .app(app.id))
        return try (0..<count).map { number in
            // Few pins, which come and go: a policy does not grow.
            let pin = try ExampleApp.pin(1000 + number / 8 % 10)
            let event: AppEvent =
                switch number % 8 {
                case 0: .pinStaged(host, .baseline, pin, .backup, note: "key ceremony \(number)")
                case 1: .pinActivated(host, .baseline, pin)
                case 2: .pinRoleSet(host, .baseline, pin, .emergency)
                case 3: .pinRetired(host, .baseline, pin)
                case 4: .appRenamed(displayName: "Shop, edition \(number)")
                case 5: .hostRolloutSet(other, Rollout(basisPoints: number))
                case 6: .killSwitchEngaged(other, expiresAt: ExampleApp.now.adding(seconds: 3600))
                default: .killSwitchReleased(other)
                }
            next += 1
            return Entry(
                position: Int64(number), stream: .app(app.id), streamVersion: next,
                time: ExampleApp.now.adding(seconds: Int64(number)), event: .app(event),
                origin: Origin(
                    actor: ExampleApp.commander, reason: reason,
                    requestID: "0123456789abcdef", idempotencyKey: "change-\(number)"))
        }
    }
}
