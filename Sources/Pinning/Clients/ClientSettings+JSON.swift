package import PinWire

extension ClientSettings {
    /// Version rules, and texts, that one app may have.
    package static let ruleLimit = 200
    /// UTF-8 bytes of one text.
    package static let textLimit = 1000

    /// The settings that concern a kind of client, every one of them spelled out.
    package func json(of kind: ClientKind) -> JSON {
        switch kind {
        case .dynapins:
            return ["protocol": .string(self.dynapins.rawValue), "ttl_seconds": .integer(self.ttlSeconds)]
        case .wultra:
            return .members([
                "understands_domains": .bool(self.understandsDomains),
                "entry_days": self.entryDays.map { .integer($0) },
                "version_rules": .array(self.versionRules.map(\.json)),
                "texts": .array(self.texts.map(\.json)),
            ])
        case .remoteConfig:
            return ["schema": .string(self.schema.rawValue), "parameter": .string(self.parameter)]
        case .muejam, .netkit, .sslPinning, .trustkitIOS, .trustkitAndroid, .appleATS, .androidNSC, .okhttp, .okhttp3,
            .reactNative, .flutter, .curl:
            return [:]
        }
    }

    /// Reads settings of a kind of client; what is not there keeps its default.
    package init(_ field: JSONField, of kind: ClientKind) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            var settings = ClientSettings()
            switch kind {
            case .dynapins:
                if let word = m.optional("protocol") { settings.dynapins = try word.oneOf(DynapinsProtocol.self) }
                if let seconds = m.optional("ttl_seconds") { settings.ttlSeconds = try seconds.integer(60...604_800) }
            case .wultra:
                if let flag = m.optional("understands_domains") { settings.understandsDomains = try flag.bool() }
                settings.entryDays = try m.optional("entry_days")?.integer(1...3650)
                if let rules = m.optional("version_rules") {
                    for rule in try rules.elements(atMost: Self.ruleLimit) {
                        let rule = (place: rule, value: try ClientVersionRule(rule))
                        guard !settings.versionRules.contains(where: { $0.id == rule.value.id }) else {
                            throw rule.place.defect("has the id of another rule")
                        }
                        settings.versionRules.append(rule.value)
                    }
                }
                if let texts = m.optional("texts") {
                    for text in try texts.elements(atMost: Self.ruleLimit) {
                        let text = (place: text, value: try ClientText(text))
                        guard
                            !settings.texts.contains(where: {
                                $0.key == text.value.key && $0.language == text.value.language
                            })
                        else { throw text.place.defect("says the same key in the same language as another text") }
                        settings.texts.append(text.value)
                    }
                }
                settings.versionRules.sort { $0.id < $1.id }
                settings.texts.sort { ($0.key, $0.language) < ($1.key, $1.language) }
            case .remoteConfig:
                if let schema = m.optional("schema") { settings.schema = try schema.oneOf(RemoteConfigSchema.self) }
                if let parameter = m.optional("parameter") {
                    settings.parameter = try parameter.parameterName()
                }
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
            "platform": .string(self.platform),
            "major_os_version": self.majorOSVersion.map { .integer($0) },
            "suggested_version": self.suggestedVersion.map { .string($0) },
            "required_version": self.requiredVersion.map { .string($0) },
            "message_key": self.messageKey.map { .string($0) },
        ])
    }

    package init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            ClientVersionRule(
                id: try m.required("id").integer(1...JSON.largestInteger),
                platform: try m.required("platform").platform(),
                majorOSVersion: try m.optional("major_os_version")?.integer(0...1_000_000),
                suggestedVersion: try m.optional("suggested_version")?.clientVersion(),
                requiredVersion: try m.optional("required_version")?.clientVersion(),
                messageKey: try m.optional("message_key")?.word()
            )
        }
    }
}

extension ClientText {
    package var json: JSON {
        ["message_key": .string(self.key), "language": .string(self.language), "text": .string(self.text)]
    }

    package init(_ field: JSONField) throws(JSONDefect) {
        self = try field.object { (m) throws(JSONDefect) in
            ClientText(
                key: try m.required("message_key").word(), language: try m.required("language").language(),
                text: try m.required("text").sentence()
            )
        }
    }
}

extension JSONField {
    /// The name of a parameter as Firebase has them: a letter or an underscore, then letters, digits and underscores, at
    /// most 256 characters.
    fileprivate func parameterName() throws(JSONDefect) -> String {
        let text = try self.string()
        let bytes = Array(text.utf8)
        func isLetter(_ byte: UInt8) -> Bool { (65...90).contains(byte & 0xDF) && byte < 0x80 || byte == 0x5F }
        guard let first = bytes.first, isLetter(first), bytes.count <= 256,
            bytes.allSatisfy({ isLetter($0) || (48...57).contains($0) })
        else { throw self.defect("must be the name of a parameter: letters, digits and underscores") }
        return text
    }

    fileprivate func platform() throws(JSONDefect) -> String {
        let text = try self.string()
        guard text == "IOS" || text == "ANDROID" else { throw self.defect("must be `IOS` or `ANDROID`") }
        return text
    }

    /// Three numbers with dots between, and perhaps more after a hyphen.
    fileprivate func clientVersion() throws(JSONDefect) -> String {
        let text = try self.string()
        let numbers = text.prefix { $0 != "-" }.split(separator: ".", omittingEmptySubsequences: false)
        guard text.utf8.count <= 64, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), numbers.count == 3,
            numbers.allSatisfy({ (1...9).contains($0.utf8.count) && $0.utf8.allSatisfy { (48...57).contains($0) } })
        else { throw self.defect("must be a version such as `3.1.2`") }
        return text
    }

    /// 1 to 255 printable ASCII characters without blanks.
    fileprivate func word() throws(JSONDefect) -> String {
        let text = try self.string()
        guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw self.defect("must be 1 to 255 printable characters without blanks")
        }
        return text
    }

    fileprivate func language() throws(JSONDefect) -> String {
        let text = try self.string()
        guard text.utf8.count == 2, text.utf8.allSatisfy({ (97...122).contains($0) }) else {
            throw self.defect("must be two lower-case letters, as in ISO 639-1")
        }
        return text
    }

    fileprivate func sentence() throws(JSONDefect) -> String {
        let text = try self.string()
        guard (1...ClientSettings.textLimit).contains(text.utf8.count) else {
            throw self.defect("must have 1 to \(ClientSettings.textLimit) bytes")
        }
        return text
    }
}
