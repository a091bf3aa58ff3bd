import ClientFormats
import PinWire
import Pinning

/// Makes a plan from a file with built-in pins: its hosts with their pins, for every device.
struct PinsImport {
    private var plan = ImportPlan()

    /// How long a document's pins may be enforced without a finding, in seconds: guard rail G05.
    private static let longestLife: Int64 = 60 * 86_400
    /// The most hosts that a finding names.
    private static let namedHosts = 5

    /// The plan for a file.
    ///
    /// - Parameters:
    ///   - file: The file's contents.
    ///   - id: The app of the import.
    ///   - app: That app's state; nil where it has to be created.
    static func plan(
        _ file: ImportedPins, for id: AppID, _ app: App?, at now: Timestamp, isPublicSuffix: (String) -> Bool
    ) -> ImportPlan {
        var reader = PinsImport()
        reader.read(file, id, app, now, isPublicSuffix)
        return reader.plan
    }

    private mutating func read(
        _ file: ImportedPins, _ id: AppID, _ app: App?, _ now: Timestamp, _ isPublicSuffix: (String) -> Bool
    ) {
        for finding in file.findings {
            self.plan.say(
                finding.isDefect ? .fatal : .warning, .text(line: finding.line, column: finding.column),
                finding.message.dropLastStop,
                finding.advice
                    ?? (finding.isDefect
                        ? "Correct it in the file, or remove it." : "If you still need it, set it up by hand."))
        }
        // Each at its own place, and in the spelling that a search in the file finds.
        for found in file.placeholders {
            self.plan.refuse(
                found.placeholder, .text(line: found.line, column: found.column), written: found.text)
        }
        guard !file.hosts.isEmpty else {
            guard self.plan.fatal.isEmpty else { return }
            self.plan.say(.fatal, .whole, "The file has no pins", "Choose a file that has pins, and its format.")
            return
        }
        if app == nil {
            self.plan.commands.append(.create(displayName: id.text))
            self.plan.steps.append("create the app \(id)")
        }
        self.plan.add(
            file.hosts.filter { !$0.pins.contains { $0.placeholder != nil } }.map { host in
                ImportedHost(
                    pattern: host.pattern, includesSubdomains: host.includesSubdomains, mode: host.mode,
                    pins: ImportedHost.inOrder(host.pins.map { ($0, nil) }),
                    place: .text(line: host.line, column: host.column))
            }, to: app, isPublicSuffix: isPublicSuffix)
        self.setEnd(file.hosts.filter { !$0.pins.isEmpty }, app, now)
        guard let kind = file.kind else { return }
        self.plan.declare(kind, in: app)
        let isReportEnforced = kind.profile().reportOnly.isEnforced
        self.plan.noteBuiltIn(
            file.hosts.map { host in
                BuiltInHost(
                    host.pattern, pins: host.pins,
                    isEnforced: !host.isOver(at: now)
                        && (host.mode == .enforce || host.mode == .reportOnly && isReportEnforced))
            }, of: kind, in: app)
    }

    /// Takes over the end of the pins, where it is the same for all of them.
    private mutating func setEnd(_ hosts: [ImportedPins.Host], _ app: App?, _ now: Timestamp) {
        let advice = "Set `pins_valid_until` of the app to about thirty days ahead, and extend it with each change."
        self.noteEnded(hosts, now, advice)
        guard let first = hosts.first(where: { $0.validUntil != nil && !$0.isOver(at: now) }),
            let end = first.validUntil
        else { return }
        let place = ImportFinding.Place.text(line: first.line, column: first.column)
        if let other = hosts.first(where: { $0.validUntil != end }) {
            let words = other.validUntil.map { "until \($0)" } ?? "without an end"
            self.plan.say(
                .warning, place,
                "The pins of \(first.pattern) are valid until \(end), but those of \(other.pattern) \(words): an app has one end for all hosts, so none is set",
                advice)
        } else if now.adding(seconds: Self.longestLife) < end {
            self.plan.say(
                .warning, place,
                "The pins are valid until \(end), but a document may be valid for at most sixty days (G05): no end is set",
                advice)
        } else if let app, !app.hosts.isEmpty {
            guard app.pinsValidUntil != end else { return }
            let words = app.pinsValidUntil.map { "until \($0)" } ?? "without an end"
            self.plan.say(
                .warning, place, "The pins are valid until \(end), but those of the app \(words), which stays", advice)
        } else {
            self.plan.commands.append(.setPinsValidUntil(end))
            self.plan.steps.append("set the end of the pins to \(end)")
        }
    }

    /// Says of which hosts clients check no pins any more, each end by itself.
    private mutating func noteEnded(_ hosts: [ImportedPins.Host], _ now: Timestamp, _ advice: String) {
        let ended = Dictionary(grouping: hosts.filter { $0.isOver(at: now) }) { $0.validUntil ?? now }
        for (end, those) in ended.sorted(by: { $0.key < $1.key }) {
            guard let first = those.first else { continue }
            let names = those.prefix(Self.namedHosts).map(\.pattern.text).joined(separator: ", ")
            let rest =
                those.count > Self.namedHosts
                ? " and \(ImportPlan.count(those.count - Self.namedHosts, "more host"))" : ""
            let (whose, what) = those.count == hosts.count ? ("", "pins") : (" of \(names)\(rest)", "them")
            self.plan.say(
                .warning, .text(line: first.line, column: first.column),
                "The pins\(whose) were valid until \(end): clients with this file no longer check \(what). No end is set, so that clients check them again",
                advice)
        }
    }
}

extension ImportedPins.Host {
    /// True where the end of its pins is over: installs with the file check them no more.
    fileprivate func isOver(at now: Timestamp) -> Bool { self.validUntil.map { $0 <= now } ?? false }
}
