import PinWire
import Pinning

/// The examples of keys that reports are signed with, as ``examples`` has them.
let telemetryExamples: [String: Entry] = {
    let events: [(String, WatchEvent)] = [
        ("TelemetryKeyAdded", .telemetryKeyAdded(id: "tlk_1", note: "iOS 3.x, “beta”")),
        ("TelemetryKeyAdded.plain", .telemetryKeyAdded(id: "tlk_2", note: nil)),
        ("TelemetryKeyRetired", .telemetryKeyRetired(id: "tlk_1")),
    ]
    let plain = Origin(actor: Actor(kind: .token, id: "tok_0", name: "Ann"))
    return Dictionary(
        uniqueKeysWithValues: events.enumerated().map { index, example in
            let entry = Entry(
                position: Int64(1100 + index), stream: .watch(shop), streamVersion: Int64(index + 1), time: noon,
                event: .watch(example.1), origin: plain
            )
            return (example.0, entry)
        }
    )
}()
