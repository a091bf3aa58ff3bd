import Keys
import PinWire
import Pinning

/// Makes a plan from a mobile utility server's data about one app: its domains with their certificates' keys, and its
/// clients with version rules, texts and their built-in key.
struct WultraImport {
    private var plan = ImportPlan()

    /// The plan for a file.
    ///
    /// - Parameters:
    ///   - file: The file's contents.
    ///   - id: The app of the import.
    ///   - app: That app's state; nil where it has to be created.
    static func plan(
        _ file: WultraFile, for id: AppID, _ app: App?, at now: Timestamp, isPublicSuffix: (String) -> Bool
    ) -> ImportPlan {
        var reader = WultraImport()
        reader.plan.findings = file.findings
        reader.plan.material = file.material
        reader.read(file, id, app, now, isPublicSuffix)
        return reader.plan
    }

    private mutating func read(
        _ file: WultraFile, _ id: AppID, _ app: App?, _ now: Timestamp, _ isPublicSuffix: (String) -> Bool
    ) {
        guard let name = file.name else { return }
        if name.text != id.text {
            self.plan.say(
                .warning, .value(name.place),
                "is \"\(name.text.printable)\", the name that installs request, but the app is imported as \(id): installs will not find it",
                "Import it into an app of the same name.")
        }
        if app == nil {
            self.plan.commands.append(.create(displayName: file.displayName ?? id.text))
            self.plan.steps.append("create the app \(id)")
        }
        self.addHosts(of: file, app, now, isPublicSuffix)
        self.setClient(of: file, app)
        self.setKey(of: file, id, app)
    }

    private mutating func addHosts(
        of file: WultraFile, _ app: App?, _ now: Timestamp, _ isPublicSuffix: (String) -> Bool
    ) {
        var further: [KeyEvidence] = []
        var hosts: [ImportedHost] = []
        for domain in file.domains {
            var pins: [(pin: Pin, evidence: KeyEvidence?)] = []
            for certificate in domain.certificates {
                let facts = certificate.facts
                guard now < facts.notAfter else {
                    self.plan.say(
                        .note, .value(certificate.place), "expired at \(facts.notAfter), and is left out",
                        "Nothing needs to be done: clients no longer use it.")
                    continue
                }
                if pins.contains(where: { $0.pin == facts.key.pin }) {
                    further.append(.certificate(facts))
                } else {
                    pins.append((facts.key.pin, .certificate(facts)))
                }
            }
            guard !pins.isEmpty else {
                self.plan.say(
                    .warning, .value(domain.place), "has no certificate that is still valid, and is left out",
                    "Add the host with the certificate that it presents.")
                continue
            }
            self.noteNames(of: domain, now)
            hosts.append(
                ImportedHost(
                    pattern: domain.pattern, includesSubdomains: false, mode: domain.isRequired ? .enforce : .off,
                    pins: ImportedHost.inOrder(pins), place: .value(domain.place)))
        }
        if file.domains.isEmpty {
            self.plan.say(
                .warning, .whole, "names no domains, so that nothing will be pinned", "Choose the app that has them.")
        }
        self.plan.add(hosts, to: app, isPublicSuffix: isPublicSuffix)
        if !further.isEmpty { self.plan.commands.append(.describeKeys(further)) }
    }

    /// The server answers certificates under their domain alone, this one under the certificates' own names as well.
    private mutating func noteNames(of domain: WultraFile.Domain, _ now: Timestamp) {
        var names: [String] = []
        for certificate in domain.certificates where now < certificate.facts.notAfter {
            for name in certificate.facts.wultraNames(at: domain.pattern)
            where name != domain.pattern.text && !names.contains(name) { names.append(name) }
        }
        guard !names.isEmpty else { return }
        self.plan.say(
            .note, .value(domain.place),
            "is registered as \(domain.pattern), and its certificates have the name \(names.joined(separator: ", ")): the mobile utility server answers them under \(domain.pattern) alone, and here clients find them under each of these names",
            "Nothing needs to be done.")
    }

    private mutating func setClient(of file: WultraFile, _ app: App?) {
        let present = app?.clients[.wultra]?.settings
        var wanted = present ?? file.settings
        // The file's settings require it; a file without such settings does not say that no client understands it.
        if file.settings.understandsDomains { wanted.understandsDomains = true }
        if let present, !file.settings.versionRules.isEmpty || !file.settings.texts.isEmpty {
            let isFree = present.versionRules.isEmpty && present.texts.isEmpty
            let isSame =
                present.versionRules == file.settings.versionRules && present.texts == file.settings.texts
            guard isFree || isSame else {
                self.plan.say(
                    .fatal, .whole,
                    "has version rules or texts, and the app has others for its clients of the kind wultra already",
                    "Remove them here, or from the app: `pinledger client set APP wultra --settings FILE`.")
                return
            }
            wanted.versionRules = file.settings.versionRules
            wanted.texts = file.settings.texts
        }
        guard wanted != present else { return }
        self.plan.commands.append(.setClient(.wultra, wanted))
        let rules = ImportPlan.count(wanted.versionRules.count, "version rule")
        let texts = ImportPlan.count(wanted.texts.count, "text")
        let depths = wanted.understandsDomains ? ", which understand depths and domainsConfig" : ""
        self.plan.steps.append("declare clients of the kind wultra, with \(rules) and \(texts)\(depths)")
    }

    private mutating func setKey(of file: WultraFile, _ id: AppID, _ app: App?) {
        if let secret = file.secret {
            let key = ClientKey(of: secret)
            self.plan.commands.append(.setClientKey(.wultra, key))
            self.plan.steps.append("sign for them with the key \(key.id), whose private half is stored sealed")
            self.plan.secret = secret
            self.plan.say(
                .note, .whole, "has the private key in the clear, as the mobile utility server keeps it",
                "Erase the file when the import is done.")
            return
        }
        let present = app?.clients[.wultra]?.key?.publicKey
        let wanted = file.publicKey?.subjectPublicKeyInfo
        guard self.plan.fatal.isEmpty, present == nil || wanted != nil && present != wanted else { return }
        self.plan.say(
            .warning, .whole,
            "lacks the private half of the key that installs have built in: before it is given, they are not answered",
            "Take sign_private_key out of mus_mobile_app: `pinledger client set-key \(id) wultra --import FILE`.")
    }
}
