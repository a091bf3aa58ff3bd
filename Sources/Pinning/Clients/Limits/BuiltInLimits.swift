import PinWire

/// Pins that installs have built in, and that no change reaches before they are updated.
enum BuiltInLimits {
    static func findings(of check: ClientCheck) -> [ClientFinding] {
        guard !check.profile.isServed else { return [] }
        return check.view.hosts.compactMap { host in Self.next(of: host, check) ?? Self.outdated(host, check) }
    }

    /// The next key of a rotation that is under way.
    private static func next(of host: ClientView.Host, _ check: ClientCheck) -> ClientFinding? {
        guard let rotation = check.view.rotations[host.pattern] else { return nil }
        switch check.reach(of: rotation, at: host.pattern) {
        case .reached: return nil
        case .lockedOut(let file):
            return check.finding(
                .nextKeyNotBuiltIn, .breaks, host: host, pin: rotation.next,
                check.sentence(about: rotation, at: host.pattern, file), remedy: check.remedy(for: rotation))
        case .unknown:
            return check.finding(
                .nextKeyNotBuiltIn, .notice, host: host, pin: rotation.next,
                check.sentence(about: rotation, at: host.pattern, nil), remedy: check.remedy(for: rotation))
        }
    }

    /// A host whose newest file has none of the keys that servers are to use.
    private static func outdated(_ host: ClientView.Host, _ check: ClientCheck) -> ClientFinding? {
        guard let file = check.builtIn(at: host.pattern).last, file.isEnforced, !host.pins.isEmpty,
            !host.leadingPins.contains(where: { check.accepts($0.pin, by: file, at: host.pattern) })
        else { return nil }
        return check.finding(
            .builtInPinsOutdated, .breaks, host: host,
            "The last file of \(check.title) that is known to have \(host.pattern), \(file.phrase), has no primary key of the host: installs with it refuse a server that presents one.",
            remedy:
                "Release the app with a new file (`pinledger export \(check.kind.rawValue) \(check.view.app)`), and serve a key that the old one has until its installs are updated."
        )
    }
}

extension ClientCheck {
    /// What a rotation's next key means for the kind's installs at a host.
    enum NextKeyReach: Hashable {
        /// Each file that has a key which is replaced has the next one too.
        case reached
        /// Installs with this file connect now, and refuse the next key.
        case lockedOut(BuiltInPins)
        /// What they have built in is not known.
        case unknown
    }

    /// The files that the kind's installs have built in for a host, as far as it is known; the newest last.
    func builtIn(at pattern: HostPattern) -> [BuiltInPins] { self.view.builtIn[self.kind]?[pattern] ?? [] }

    /// What a rotation's next key means for installs with built-in pins. Time changes nothing of it.
    func reach(of rotation: Rotation, at pattern: HostPattern) -> NextKeyReach {
        guard !self.profile.isServed, self.view.hosts.contains(where: { $0.pattern == pattern }) else {
            return .reached
        }
        let files = self.builtIn(at: pattern)
        guard !files.isEmpty else { return .unknown }
        // Installs that accept none of the replaced keys cannot connect as it is.
        let lost = files.last { file in
            file.isEnforced && rotation.old.contains { self.accepts($0, by: file, at: pattern) }
                && !self.accepts(rotation.next, by: file, at: pattern)
        }
        return lost.map { .lockedOut($0) } ?? .reached
    }

    /// Whether installs with a file accept a server's key, as far as it shows: a server with any key may present the chain of an authority
    /// that the file has.
    func accepts(_ pin: Pin, by file: BuiltInPins, at pattern: HostPattern) -> Bool {
        file.pins.contains(pin) || self.trustsAuthority(in: file, at: pattern)
    }

    /// True where installs with a file accept any key that an authority of theirs vouches for.
    func trustsAuthority(in file: BuiltInPins, at pattern: HostPattern) -> Bool {
        switch self.profile.comparison {
        case .anyKey, .ownKeyOrAuthorities: file.pins.contains { self.view.isAuthority($0, at: pattern) }
        case .firstPin, .ownKey, .certificate, .builtin: false
        }
    }

    /// What a rotation means for the kind's installs, as a sentence.
    ///
    /// - Parameter file: The one whose installs it locks out; nil where none is known.
    func sentence(about rotation: Rotation, at pattern: HostPattern, _ file: BuiltInPins?) -> String {
        guard let file else {
            return
                "Which keys installs of \(self.title) have built in for \(pattern) is unknown: no file of theirs was imported or exported. Those without the next key of the rotation \(rotation.id) refuse a server with it until they are updated."
        }
        let pins = file.pins.map(\.description)
        let named = pins.prefix(Self.namedPins).joined(separator: " and ")
        let rest = pins.count > Self.namedPins ? " and \(pins.count - Self.namedPins) more" : ""
        return
            "Installs of \(self.title) have \(named)\(rest) built in for \(pattern) (\(file.phrase)), and not the next key of the rotation \(rotation.id): they refuse a server with it until they are updated, however long you wait."
    }

    /// What to do about it, as a sentence or two.
    func remedy(for rotation: Rotation) -> String {
        "Rotate to a key that these installs have built in. Or export a file that has the next key (`pinledger export \(self.kind.rawValue) \(self.view.app)`), release the app with it, and force the switch when the installs without it may be locked out."
    }

    /// The most pins that a sentence names.
    private static let namedPins = 5
}

extension BuiltInPins {
    /// Where the file is known from, as a phrase.
    fileprivate var phrase: String { "\(self.origin.rawValue) at \(self.since)" }
}
