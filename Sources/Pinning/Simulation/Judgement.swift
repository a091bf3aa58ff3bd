package import PinWire

/// The verdict of a device on connections whose chains match the same of the compared pins.
package enum Judgement: String, CaseIterable, Sendable {
    /// The connection goes through: a pin matches, or none is compared.
    case accept
    /// No pin matches; the connection goes through and is reported.
    case acceptAndReport = "accept_and_report"
    /// No pin matches; the connection is refused.
    case refuse
    /// The pins built into the app judge it, which no document says.
    case builtin

    /// The verdict of a device that got this lot.
    ///
    /// - Parameter key: The pin that the chain matches; nil for a chain that matches no pin.
    package init(of key: Pin?, by lot: Simulation.Lot) {
        let isPinned = key.map(lot.pins.contains) ?? false
        self =
            switch lot.outcome {
            case .off: .accept
            case .builtin: .builtin
            case .enforce: isPinned ? .accept : .refuse
            case .reportOnly: isPinned ? .accept : .acceptAndReport
            }
    }
}

/// Connections of devices to one host that a change has judged differently.
package struct JudgementChange: Hashable, Sendable {
    /// The pin that their chains match; nil for those that match no pin from before or after the change.
    package var key: Pin?
    package var from: Judgement
    package var to: Judgement
    package var devices: Int

    package init(key: Pin?, from: Judgement, to: Judgement, devices: Int) {
        self.key = key
        self.from = from
        self.to = to
        self.devices = devices
    }
}

extension Simulation.Move {
    /// The connections that these devices judge differently afterwards, by the keys that either result names and any other one.
    package var judgementChanges: [JudgementChange] {
        guard self.isMove else { return [] }
        let keys = Set(self.from.pins).union(self.to.pins).sorted().map(Optional.some) + [nil]
        return keys.compactMap { key in
            let (from, to) = (Judgement(of: key, by: self.from), Judgement(of: key, by: self.to))
            return from == to ? nil : JudgementChange(key: key, from: from, to: to, devices: self.devices)
        }
    }
}

extension Simulation.HostMoves {
    /// The connections to the host that devices judge differently afterwards: by key, any other key last.
    package var judgementChanges: [JudgementChange] {
        var merged: [JudgementChange] = []
        var places: [JudgementChange: Int] = [:]
        for change in self.moves.flatMap(\.judgementChanges) {
            var kind = change
            kind.devices = 0
            if let place = places[kind] {
                merged[place].devices += change.devices
            } else {
                places[kind] = merged.count
                merged.append(change)
            }
        }
        return merged.sorted { $0.order < $1.order }
    }
}

extension JudgementChange {
    /// Orders by key, and changes of one key the same in every run.
    fileprivate var order: (Int, String, String, String) {
        (self.key == nil ? 1 : 0, self.key?.base64 ?? "", self.from.rawValue, self.to.rawValue)
    }
}
