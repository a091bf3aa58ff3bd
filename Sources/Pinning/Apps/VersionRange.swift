package import PinWire

/// The versions of an app that a kill switch covers: a gate with at least one bound, its exclusions in order and each
/// named once. Two ranges are equal if the same versions bound them, however these are written.
package struct VersionRange: Hashable, Sendable, CustomStringConvertible {
    package let gate: VersionGate

    /// The most versions that one range may exclude: a document holds twenty ranges of every app.
    package static let exclusionLimit = 20

    /// Nil without a lowest or highest version or a lowest build, and with too many exclusions.
    package init?(_ gate: VersionGate) {
        guard gate.minimum != nil || gate.maximum != nil || gate.minimumBuild != nil,
            gate.excluded.count <= Self.exclusionLimit
        else { return nil }
        var gate = gate
        var excluded: [AppVersion] = []
        for version in gate.excluded.sorted() where excluded.last != version { excluded.append(version) }
        gate.excluded = excluded
        self.gate = gate
    }

    /// Reads ``json``.
    package init(_ field: JSONField) throws(JSONDefect) {
        let gate = try VersionGate(field)
        guard let range = VersionRange(gate) else {
            throw field.defect(
                gate.excluded.count > Self.exclusionLimit
                    ? "may exclude at most \(Self.exclusionLimit) versions, and excludes \(gate.excluded.count)"
                    : "must have a `minimum`, a `maximum` or a `minimum_build`; for every version, engage the app's kill switch"
            )
        }
        self = range
    }

    package var json: JSON { self.gate.json }

    /// The range as options of `pinledger kill`.
    var options: String {
        var words: [String] = []
        if self.gate.minimum != nil || self.gate.maximum != nil {
            words.append("--versions \(self.gate.minimum?.text ?? "")..\(self.gate.maximum?.text ?? "")")
        }
        words += self.gate.excluded.map { "--except \($0.text)" }
        if let build = self.gate.minimumBuild { words.append("--min-build \(build)") }
        return words.joined(separator: " ")
    }

    /// In words, such as "3.1.0 to 3.1.2 except 3.1.1".
    package var description: String {
        var text: String
        switch (self.gate.minimum, self.gate.maximum) {
        case (let minimum?, let maximum?): text = minimum == maximum ? "\(minimum)" : "\(minimum) to \(maximum)"
        case (let minimum?, nil): text = "\(minimum) and later"
        case (nil, let maximum?): text = "\(maximum) and earlier"
        case (nil, nil): text = "all versions"
        }
        if let build = self.gate.minimumBuild { text += " from build \(build)" }
        if !self.gate.excluded.isEmpty {
            text += " except \(self.gate.excluded.map(\.text).joined(separator: ", "))"
        }
        return text
    }
}

/// A kill switch for some versions of an app.
package struct VersionKillSwitch: Hashable, Sendable {
    package var versions: VersionRange
    package var killSwitch: KillSwitch

    /// The most kill switches for versions that one app may have at a time.
    package static let limit = 20

    package init(versions: VersionRange, killSwitch: KillSwitch) {
        self.versions = versions
        self.killSwitch = killSwitch
    }

    package var json: JSON {
        guard case .object(var members) = self.killSwitch.json else { return .null }
        members["versions"] = self.versions.json
        return .object(members)
    }
}

extension App {
    /// The kill switch for exactly these versions.
    package func killSwitch(for versions: VersionRange) -> KillSwitch? {
        self.versionKillSwitches.first { $0.versions == versions }?.killSwitch
    }

    /// The events that engage one for `versions`. Where there is no room, those that have run out are released: that is
    /// about to happen anyway.
    func engagement(for versions: VersionRange, until expiresAt: Timestamp, at now: Timestamp) throws(Refusal)
        -> [AppEvent]
    {
        let engaged = AppEvent.versionKillSwitchEngaged(versions, expiresAt: expiresAt)
        guard self.killSwitch(for: versions) == nil, self.versionKillSwitches.count >= VersionKillSwitch.limit else {
            return [engaged]
        }
        let over = self.versionKillSwitches.filter { $0.killSwitch.isOver(at: now) }
        guard !over.isEmpty else { throw .tooManyKillSwitches(limit: VersionKillSwitch.limit) }
        return over.map { .versionKillSwitchReleased($0.versions) } + [engaged]
    }

    /// Sets or, with nil, removes the kill switch for exactly these versions.
    mutating func set(_ killSwitch: KillSwitch?, for versions: VersionRange) {
        let place = self.versionKillSwitches.firstIndex { $0.versions == versions }
        switch (place, killSwitch) {
        case (let place?, let killSwitch?):
            self.versionKillSwitches[place] = VersionKillSwitch(versions: versions, killSwitch: killSwitch)
        case (let place?, nil): self.versionKillSwitches.remove(at: place)
        case (nil, let killSwitch?):
            self.versionKillSwitches.append(VersionKillSwitch(versions: versions, killSwitch: killSwitch))
        case (nil, nil): break
        }
    }
}
