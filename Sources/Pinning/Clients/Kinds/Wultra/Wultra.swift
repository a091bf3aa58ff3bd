package import PinWire

extension ClientProfile {
    /// SDKs of 2.x understand `depth` and `domainsConfig`: authorities' certificates, and hosts that are not to be looked at.
    static func wultra(_ settings: ClientSettings) -> ClientProfile {
        let isSecond = settings.understandsDomains
        return ClientProfile(
            title: "Wultra SSL pinning",
            isServed: true,
            signature: .es256,
            // Clients look under which name a certificate is listed, and not for which host.
            comparison: .certificate(ofAnyHost: true, orAuthority: isSecond),
            names: .exact(isLookedUp: true, .knownCertificates, subdomains: .knownCertificatesBelow),
            unpinned: .refused,
            reportOnly: isSecond ? .ignored(.notice) : .enforces,
            canTurnOff: isSecond,
            versionKillSwitch: isSecond ? .withVersion : .unsupported,
            wayOut:
                "Upload the certificates that servers present now: nothing else lets installs connect, and removing other certificates has no effect.",
            settings: ClientSettingsForm(
                json: { settings in
                    .members([
                        "understands_domains": .bool(settings.understandsDomains),
                        "entry_days": settings.entryDays.map { .integer($0) },
                        "version_rules": .array(settings.versionRules.map(\.json)),
                        "texts": .array(settings.texts.map(\.json)),
                        // Entries of the ledger from before this member have none.
                        "withheld_certificates": settings.withheld.isEmpty
                            ? nil : .array(settings.withheld.map(\.json)),
                    ])
                },
                read: Self.readWultra),
            findings: WultraLimits.findings)
    }

    @Sendable private static func readWultra(
        _ m: inout JSONMembers, into settings: inout ClientSettings
    ) throws(JSONDefect) {
        if let flag = m.optional("understands_domains") { settings.understandsDomains = try flag.bool() }
        settings.entryDays = try m.optional("entry_days")?.integer(1...3650)
        for field in try m.optional("version_rules")?.elements(atMost: ClientSettings.ruleLimit) ?? [] {
            let rule = try ClientVersionRule(field)
            do throws(ClientSettings.Malformed) { try settings.add(rule) } catch {
                throw field.defect(error.description)
            }
        }
        for field in try m.optional("texts")?.elements(atMost: ClientSettings.ruleLimit) ?? [] {
            let text = try ClientText(field)
            do throws(ClientSettings.Malformed) { try settings.add(text) } catch {
                throw field.defect(error.description)
            }
        }
        for field in try m.optional("withheld_certificates")?.elements(atMost: ClientSettings.ruleLimit) ?? [] {
            let certificate = try WithheldCertificate(field)
            do throws(ClientSettings.Malformed) { try settings.withhold(certificate) } catch {
                throw field.defect(error.description)
            }
        }
    }
}

extension ClientVersionRule {
    package var json: JSON {
        .members([
            "id": .integer(self.id),
            "platform": .string(self.platform.rawValue),
            "major_os_version": self.majorOSVersion.map { .integer($0) },
            "suggested_version": self.suggestedVersion.map { .string($0.text) },
            "required_version": self.requiredVersion.map { .string($0.text) },
            "message_key": self.messageKey.map { .string($0.text) },
        ])
    }

    package init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            ClientVersionRule(
                id: try m.required("id").integer(Self.ids),
                platform: try m.required("platform").parse(WultraPlatform.init(_:)),
                majorOSVersion: try m.optional("major_os_version")?.integer(Self.majorOSVersions),
                suggestedVersion: try m.optional("suggested_version")?.parse(ClientVersion.init),
                requiredVersion: try m.optional("required_version")?.parse(ClientVersion.init),
                messageKey: try m.optional("message_key")?.parse(TextKey.init)
            )
        }
    }
}

extension ClientText {
    package var json: JSON {
        [
            "message_key": .string(self.key.text), "language": .string(self.language.text),
            "text": .string(self.text.text),
        ]
    }

    package init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            ClientText(
                key: try m.required("message_key").parse(TextKey.init),
                language: try m.required("language").parse(TextLanguage.init),
                text: try m.required("text").parse(MessageText.init)
            )
        }
    }
}
