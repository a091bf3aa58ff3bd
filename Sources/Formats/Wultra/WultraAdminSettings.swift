package import Pinning

// Which versions are asked to update, and what people are told. The commands are settings alone.
extension WultraAdminCommand {
    /// One more rule for versions.
    ///
    /// - Parameters:
    ///   - rule: the rule; its id is not looked at.
    ///   - settings: the app's settings so far.
    /// - Returns: The command and the rule as it is recorded: its id is above all that the app ever had, since no event
    ///   of the app's comes before its own.
    /// - Throws: ``WultraAdminError`` where a rule for the same platform and system is there.
    package static func adding(
        _ rule: ClientVersionRule, to settings: ClientSettings, of app: App
    ) throws(WultraAdminError) -> (command: Self, rule: ClientVersionRule) {
        if let other = settings.versionRules.first(where: {
            $0.platform == rule.platform && $0.majorOSVersion == rule.majorOSVersion
        }) {
            throw WultraAdminError(
                .refused, "The rule \(other.id) is for the same platform and system: delete it first.")
        }
        var (settings, rule) = (settings, rule)
        rule.id = max(app.version, settings.versionRules.map(\.id).max() ?? 0) + 1
        settings.versionRules.append(rule)
        return (Self([], settings: settings, reason: "Version rule \(rule.id) added"), rule)
    }

    /// A rule is to go.
    ///
    /// - Throws: ``WultraAdminError`` where there is none with the id.
    package static func deletingVersionRule(
        _ id: Int64, from settings: ClientSettings
    ) throws(WultraAdminError) -> Self {
        guard settings.versionRules.contains(where: { $0.id == id }) else {
            throw WultraAdminError(.refused, "The app has no version rule \(id).")
        }
        var settings = settings
        settings.versionRules.removeAll { $0.id == id }
        return Self([], settings: settings, reason: "Version rule \(id) deleted")
    }

    /// A text is to be added, or to take the place of the one with its key and language. With Wultra, texts belong to
    /// no app: to be done for every app with clients of this kind.
    package static func setting(_ text: ClientText, in settings: ClientSettings) -> Self {
        var settings = settings
        settings.texts.removeAll { $0.key == text.key && $0.language == text.language }
        settings.texts.append(text)
        settings.texts.sort { ($0.key, $0.language) < ($1.key, $1.language) }
        return Self([], settings: settings, reason: "Text \(text.key) set in \(text.language)")
    }

    /// A text is to go, from every app with clients of this kind; nil for an app that does not have it.
    package static func deletingText(_ key: String, _ language: String, from settings: ClientSettings) -> Self? {
        guard settings.texts.contains(where: { $0.key == key && $0.language == language }) else { return nil }
        var settings = settings
        settings.texts.removeAll { $0.key == key && $0.language == language }
        return Self([], settings: settings, reason: "Text \(key) deleted in \(language)")
    }

    /// The texts of all apps with clients of this kind, in order of keys and languages. Where apps differ in one, the
    /// first app's counts.
    package static func texts(of all: [ClientSettings]) -> [ClientText] {
        var found: [[String]: ClientText] = [:]
        for text in all.flatMap(\.texts) where found[[text.key, text.language]] == nil {
            found[[text.key, text.language]] = text
        }
        return found.values.sorted { ($0.key, $0.language) < ($1.key, $1.language) }
    }
}
