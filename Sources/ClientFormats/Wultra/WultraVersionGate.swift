import PinWire
package import Pinning

/// The versions of an app that should update, prepared from its settings.
///
/// A request with all of the gate's inputs is always answered: without a rule for the device, no update is required.
package struct WultraVersionGate: Sendable {
    private struct Place: Hashable {
        var platform: WultraPlatform
        var majorOSVersion: Int64?
    }

    private struct Rule {
        var suggested: AppVersion?
        var required: AppVersion?
        var messageKey: TextKey?
    }

    private let rules: [Place: Rule]
    /// By key and language.
    private let texts: [TextKey: [String: String]]

    /// The language of last resort.
    private static let fallback = "en"

    package init(_ settings: ClientSettings) {
        var rules: [Place: Rule] = [:]
        // The older of two rules for one place, which Wultra's database does not prevent, holds.
        for rule in settings.versionRules.sorted(by: { $0.id < $1.id }) {
            let place = Place(platform: rule.platform, majorOSVersion: rule.majorOSVersion)
            guard rules[place] == nil else { continue }
            rules[place] = Rule(
                suggested: rule.suggestedVersion.flatMap { AppVersion(wultra: $0.text) },
                required: rule.requiredVersion.flatMap { AppVersion(wultra: $0.text) }, messageKey: rule.messageKey)
        }
        self.rules = rules
        var texts: [TextKey: [String: String]] = [:]
        for text in settings.texts { texts[text.key, default: [:]][text.language.text] = text.text.text }
        self.texts = texts
    }

    /// The answer for a device. The rule for its major version of the system holds alone where there is one, else the
    /// rule for all others.
    package func result(for device: WultraDevice, in languages: WultraLanguages) -> WultraVersionResult {
        let rule =
            self.rules[Place(platform: device.platform, majorOSVersion: device.majorOSVersion)]
            ?? self.rules[Place(platform: device.platform, majorOSVersion: nil)]
        guard let rule else { return WultraVersionResult(update: .notRequired) }
        func message() -> String? {
            guard let texts = rule.messageKey.flatMap({ self.texts[$0] }) else { return nil }
            let language = languages.codes.first { texts[$0] != nil } ?? Self.fallback
            return texts[language]
        }
        if let required = rule.required, device.appVersion < required {
            return WultraVersionResult(update: .forced, message: message())
        }
        if let suggested = rule.suggested, device.appVersion < suggested {
            return WultraVersionResult(update: .suggested, message: message())
        }
        return WultraVersionResult(update: .notRequired)
    }
}

/// The gate's answer: the member `verifyVersionResult`.
package struct WultraVersionResult: Hashable, Sendable {
    package enum Update: String, CaseIterable, Sendable, Hashable {
        case notRequired = "NOT_REQUIRED"
        case suggested = "SUGGESTED"
        case forced = "FORCED"
    }

    package var update: Update
    /// The text for the person who should update; nil where there is none.
    package var message: String?

    package init(update: Update, message: String? = nil) {
        self.update = update
        self.message = message
    }

    var json: OrderedJSON {
        .members(["update": .string(self.update.rawValue), "message": self.message.map { .string($0) }])
    }
}
