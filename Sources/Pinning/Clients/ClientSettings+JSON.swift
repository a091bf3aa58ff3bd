package import PinWire

extension ClientSettings {
    /// The settings that concern a kind of client, every one of them explicit.
    package func json(of kind: ClientKind) -> JSON {
        switch kind {
        case .dynapins:
            return .members([
                "protocol": .string(self.dynapins.rawValue), "ttl_seconds": .integer(self.ttlSeconds),
                // Entries of the ledger from before this member have none.
                "cert_fingerprint": self.servesFingerprint ? .bool(true) : nil,
            ])
        case .wultra:
            return .members([
                "understands_domains": .bool(self.understandsDomains),
                "entry_days": self.entryDays.map { .integer($0) },
                "version_rules": .array(self.versionRules.map(\.json)),
                "texts": .array(self.texts.map(\.json)),
                // Entries of the ledger from before this member have none.
                "withheld_certificates": self.withheld.isEmpty ? nil : .array(self.withheld.map(\.json)),
            ])
        case .remoteConfig:
            return .members([
                "schema": .string(self.schema.rawValue), "parameter": .string(self.parameter),
                "hash": .string(self.hash.rawValue),
                "firebase_project": self.firebaseProject.map { .string($0) },
                "firebase_app": self.firebaseApp.map { .string($0.text) },
            ])
        case .muejam, .netkit, .sslPinning, .trustkitIOS, .trustkitAndroid, .appleATS, .androidNSC, .okhttp, .okhttp3,
            .reactNative, .flutter, .curl:
            return [:]
        }
    }

    /// Reads settings of a kind of client; missing ones keep their default.
    package init(_ field: JSONField, of kind: ClientKind) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            var settings = ClientSettings()
            switch kind {
            case .dynapins:
                if let word = m.optional("protocol") { settings.dynapins = try word.oneOf(DynapinsProtocol.self) }
                if let seconds = m.optional("ttl_seconds") { settings.ttlSeconds = try seconds.integer(60...604_800) }
                if let flag = m.optional("cert_fingerprint") {
                    settings.servesFingerprint = try flag.bool()
                    guard !settings.servesFingerprint || settings.dynapins == .ed25519 else {
                        throw flag.defect("must be false unless the protocol is ed25519, which has such answers")
                    }
                }
            case .wultra:
                if let flag = m.optional("understands_domains") { settings.understandsDomains = try flag.bool() }
                settings.entryDays = try m.optional("entry_days")?.integer(1...3650)
                if let rules = m.optional("version_rules") {
                    for field in try rules.elements(atMost: Self.ruleLimit) {
                        let rule = try ClientVersionRule(field)
                        do throws(Malformed) { try settings.add(rule) } catch { throw field.defect(error.description) }
                    }
                }
                if let texts = m.optional("texts") {
                    for field in try texts.elements(atMost: Self.ruleLimit) {
                        let text = try ClientText(field)
                        do throws(Malformed) { try settings.add(text) } catch { throw field.defect(error.description) }
                    }
                }
                if let withheld = m.optional("withheld_certificates") {
                    for field in try withheld.elements(atMost: Self.ruleLimit) {
                        let certificate = try WithheldCertificate(field)
                        do throws(Malformed) { try settings.withhold(certificate) } catch {
                            throw field.defect(error.description)
                        }
                    }
                }
            case .remoteConfig:
                if let schema = m.optional("schema") { settings.schema = try schema.oneOf(RemoteConfigSchema.self) }
                if let parameter = m.optional("parameter") {
                    settings.parameter = try parameter.parameterName()
                }
                if let hash = m.optional("hash") { settings.hash = try hash.oneOf(RemoteConfigHash.self) }
                settings.firebaseProject = try m.optional("firebase_project")?.firebaseProject()
                settings.firebaseApp = try m.optional("firebase_app")?.parse(FirebaseAppID.init(_:))
            case .muejam, .netkit, .sslPinning, .trustkitIOS, .trustkitAndroid, .appleATS, .androidNSC, .okhttp,
                .okhttp3, .reactNative, .flutter, .curl:
                break
            }
            return settings
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

extension JSONField {
    /// A Firebase parameter's name: a letter or an underscore, then letters, digits and underscores, at most 256
    /// characters.
    fileprivate func parameterName() throws(JSONDefect) -> String {
        let text = try self.string()
        let bytes = Array(text.utf8)
        func isLetter(_ byte: UInt8) -> Bool { (65...90).contains(byte & 0xDF) && byte < 0x80 || byte == 0x5F }
        guard let first = bytes.first, isLetter(first), bytes.count <= 256,
            bytes.allSatisfy({ isLetter($0) || (48...57).contains($0) })
        else { throw self.defect("must be the name of a parameter: letters, digits and underscores") }
        return text
    }

    /// A Google project's id: 6 to 30 lower-case letters, digits and hyphens, a letter first.
    fileprivate func firebaseProject() throws(JSONDefect) -> String {
        let text = try self.string()
        guard (6...30).contains(text.utf8.count), (97...122).contains(text.utf8.first ?? 0), !text.hasSuffix("-"),
            text.utf8.allSatisfy({ (97...122).contains($0) || (48...57).contains($0) || $0 == 0x2D })
        else { throw self.defect("must be the id of a project: 6 to 30 lower-case letters, digits and hyphens") }
        return text
    }
}
