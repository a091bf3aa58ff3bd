import PinWire
import Pinning

/// A host of a file, with the same pins for all devices.
struct ImportedHost: Sendable {
    var pattern: HostPattern
    var includesSubdomains: Bool
    var mode: PinMode
    /// In the file's order, each once.
    var pins: [AppCommand.NewPin]
    var place: ImportFinding.Place

    /// Gives each pin a role: files do not say which key is in reserve.
    ///
    /// - Parameter pins: In the file's order; the first becomes the primary one.
    static func inOrder(_ pins: [(pin: Pin, evidence: KeyEvidence?)]) -> [AppCommand.NewPin] {
        pins.enumerated().map { place, new in
            AppCommand.NewPin(pin: new.pin, role: place == 0 ? .primary : .backup, evidence: new.evidence)
        }
    }
}

extension ImportedHost {
    /// The recorded mode: with one pin nothing is enforced.
    var recordedMode: PinMode { self.mode == .enforce && self.pins.count < 2 ? .reportOnly : self.mode }

    /// The differences between the app's host and this one, as the end of a sentence; nil where pins, mode and names
    /// are the same.
    func difference(from present: Host, _ slot: PolicySlot = .baseline) -> String? {
        guard let policy = present[slot] else {
            return slot == .baseline ? "with the pins built into the app" : "without a candidate"
        }
        var parts: [String] = []
        if policy.mode != self.recordedMode {
            parts.append("its mode is \(policy.mode.rawValue), not \(self.recordedMode.rawValue)")
        }
        if present.includesSubdomains != self.includesSubdomains {
            parts.append("its subdomains are \(present.includesSubdomains ? "" : "not ")included")
        }
        let here = Set(policy.activePins.map(\.pin))
        let there = Set(self.pins.map(\.pin))
        if let list = Self.list(here.subtracting(there)) { parts.append("the file lacks \(list)") }
        if let list = Self.list(there.subtracting(here)) { parts.append("the app lacks \(list)") }
        guard !parts.isEmpty else { return nil }
        if here == there { parts.append("the pins are the same") }
        return parts.joined(separator: ", ")
    }

    /// The most pins that a message names.
    private static let listLimit = 10

    /// How many pins there are, and which; nil where there are none.
    private static func list(_ pins: Set<Pin>) -> String? {
        guard !pins.isEmpty else { return nil }
        let names = pins.sorted().prefix(Self.listLimit).map(\.description).joined(separator: ", ")
        let rest = pins.count > Self.listLimit ? " and \(pins.count - Self.listLimit) more" : ""
        return "\(ImportPlan.count(pins.count, "pin")): \(names)\(rest)"
    }
}
