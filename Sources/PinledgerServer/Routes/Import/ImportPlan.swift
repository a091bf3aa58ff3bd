import Keys
import PinWire
import Pinning

/// What an import makes of a file: the commands, the plan in words, and everything there is to say about it.
struct ImportPlan: Sendable {
    var commands: [AppCommand] = []
    var steps: [String] = []
    var findings: [ImportFinding] = []
    /// The private half of a key that the commands name, which has to be stored before they are recorded.
    var secret: ClientSigningKey?
    /// The keys and certificates that the file shows.
    var material: Set<Material> = []

    var fatal: [ImportFinding] { self.findings.filter { $0.severity == .fatal } }

    var findingsJSON: JSON { .array(self.findings.map(\.json)) }
    var stepsJSON: JSON { .array(self.steps.map { .string($0) }) }

    mutating func say(
        _ severity: ImportFinding.Severity, _ place: ImportFinding.Place, _ message: String, _ advice: String
    ) {
        self.findings.append(ImportFinding(severity: severity, place: place, message: message, advice: advice))
    }
}

extension ImportPlan {
    /// Plans hosts that the app does not have. Those that it has with the same pins and mode are done; where something
    /// differs they are refused, with all that does, and so are public suffixes and pins of nobody's key.
    mutating func add(_ hosts: [ImportedHost], to app: App?, isPublicSuffix: (String) -> Bool) {
        for host in hosts { self.add(host, to: app, isPublicSuffix) }
        // A file that is refused records nothing, and may have more pins than could be read.
        guard self.fatal.isEmpty else { return }
        for host in hosts where host.recordedMode != host.mode && app?.hosts[host.pattern] == nil {
            self.say(
                .warning, host.place,
                "\(host.pattern) has one pin, so the loss of one key would lock every client out: it is recorded with the mode \(host.recordedMode.rawValue)",
                "Add the pin of a reserve key, then set the mode to enforce (G01).")
        }
        guard hosts.contains(where: { $0.pins.count > 1 }) else { return }
        self.say(
            .note, .whole,
            "The file does not say which keys are in reserve: the first pin of each host becomes the primary one, the others backups",
            "If another key is served, change the roles after the import: `pinledger pin set-role APP HOST PIN --role ROLE`."
        )
    }

    private mutating func add(_ host: ImportedHost, to app: App?, _ isPublicSuffix: (String) -> Bool) {
        let pattern = host.pattern
        // Before hosts are compared: nobody should add such a pin to the app.
        var isSound = true
        for new in host.pins {
            guard let placeholder = new.pin.placeholder else { continue }
            isSound = false
            self.refuse(placeholder, host.place, written: new.pin)
        }
        guard isSound else { return }
        if let present = app?.hosts[pattern] {
            if let difference = host.difference(from: present) {
                self.say(
                    .fatal, host.place, "names \(pattern), which the app already has: \(difference)",
                    "Change the host first with `pinledger pin add APP HOST PIN` and `pinledger host update APP HOST`, or remove it from the file."
                )
            } else {
                self.say(
                    .note, host.place, "names \(pattern), which the app already has with the same pins and mode",
                    "Nothing needs to be done.")
            }
            return
        }
        guard !isPublicSuffix(pattern.name) else {
            self.say(
                .fatal, host.place, "names \(pattern.name), which \(pattern.sharedNameReason)",
                ProblemType.publicSuffix.entry.advice)
            return
        }
        let mode = host.recordedMode
        self.commands.append(
            .addHost(pattern, includesSubdomains: host.includesSubdomains, mode: mode, pins: host.pins))
        let names = host.includesSubdomains ? "\(pattern) and all names below it" : pattern.text
        let pins = host.pins.isEmpty ? "without pins" : "with \(Self.count(host.pins.count, "pin"))"
        self.steps.append("add \(names) \(pins), mode \(mode.rawValue)")
    }

    /// Refuses a pin that is known to be no key's.
    mutating func refuse(
        _ placeholder: Pin.Placeholder, _ place: ImportFinding.Place, written pin: some CustomStringConvertible
    ) {
        self.say(
            .fatal, place, placeholder.sentence(about: pin).dropLastStop,
            "Put the pin of a real key in its place, as `pinledger pin inspect FILE` shows it; a backup is the pin of another key that is made and kept for it."
        )
    }

    /// Declares a kind of client that the file is for, unless the app has it: from then on every change lists what does
    /// not reach such clients.
    mutating func declare(_ kind: ClientKind, _ settings: ClientSettings = ClientSettings(), in app: App?) {
        guard app?.clients[kind] == nil else { return }
        self.commands.append(.setClient(kind, settings))
        self.steps.append("declare clients of the kind \(kind.rawValue)")
    }

    /// Notes what installs of a kind have built in, by a file that such clients read: no change reaches these pins.
    mutating func noteBuiltIn(_ hosts: [BuiltInHost], of kind: ClientKind, in app: App?) {
        let hosts = hosts.filter { host in
            !host.pins.isEmpty && app?.clients[kind]?.knows(host, .imported) != true
        }
        guard !hosts.isEmpty else { return }
        self.commands.append(.noteBuiltIn(kind, hosts, .imported))
        self.steps.append(
            "remember the pins that installs of the kind \(kind.rawValue) have built in for \(Self.count(hosts.count, "host"))"
        )
    }

    /// A number and what it counts.
    static func count(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}
