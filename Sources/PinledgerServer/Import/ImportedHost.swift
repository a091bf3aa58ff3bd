import PinWire
import Pinning

/// A host as a file has it, all devices getting the same.
struct ImportedHost: Sendable {
    var pattern: HostPattern
    var includesSubdomains: Bool
    var mode: PinMode
    /// In the file's order, each once.
    var pins: [AppCommand.NewPin]
    var place: ImportFinding.Place

    /// Gives each pin a role: files do not say which key stands in reserve.
    ///
    /// - Parameter pins: In the file's order; the first becomes the primary one.
    static func inOrder(_ pins: [(pin: Pin, evidence: KeyEvidence?)]) -> [AppCommand.NewPin] {
        pins.enumerated().map { place, new in
            AppCommand.NewPin(pin: new.pin, role: place == 0 ? .primary : .backup, evidence: new.evidence)
        }
    }
}

extension ImportedHost {
    /// What of a host of the app is other than the file has it, as the end of a sentence.
    func difference(from present: Host) -> String {
        guard let policy = present[.baseline] else { return "with the pins built into the app" }
        var parts: [String] = []
        if policy.mode != self.mode {
            parts.append("its mode is \(policy.mode.rawValue) and not \(self.mode.rawValue)")
        }
        if present.includesSubdomains != self.includesSubdomains {
            parts.append("the names below it are \(present.includesSubdomains ? "" : "not ")included")
        }
        let here = Set(policy.activePins.map(\.pin))
        let there = Set(self.pins.map(\.pin))
        if here == there, parts.isEmpty { return "with the same pins and mode" }
        if let pin = here.subtracting(there).min() {
            parts.append("the file lacks \(ImportPlan.count(here.subtracting(there).count, "pin")), such as \(pin)")
        }
        if let pin = there.subtracting(here).min() {
            parts.append("the app lacks \(ImportPlan.count(there.subtracting(here).count, "pin")), such as \(pin)")
        }
        if here == there { parts.append("the pins are the same") }
        return parts.joined(separator: ", ")
    }
}
