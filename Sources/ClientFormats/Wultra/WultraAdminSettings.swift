package import Pinning

// The versions that should update, and the texts for people. The commands are settings alone.
extension WultraAdminCommand {
    /// Adds a rule for versions.
    ///
    /// - Parameters:
    ///   - rule: The rule; its id is ignored. As recorded it is the last of ``settings``: its id is above all that the
    ///     app ever had, since no event of the app's comes before its own.
    ///   - settings: The app's settings so far.
    /// - Throws: ``WultraAdminError`` where a rule for the same platform and system exists, and where there are as many
    ///   as may be.
    package static func adding(
        _ rule: ClientVersionRule, to settings: ClientSettings, of app: App
    ) throws(WultraAdminError) -> Self {
        if let other = settings.versionRules.first(where: {
            $0.platform == rule.platform && $0.majorOSVersion == rule.majorOSVersion
        }) {
            throw .unmet("The rule \(other.id) is for the same platform and system: delete it first.")
        }
        var (settings, rule) = (settings, rule)
        rule.id = max(app.version, settings.versionRules.map(\.id).max() ?? 0) + 1
        do throws(ClientSettings.Malformed) { try settings.add(rule) } catch {
            throw WultraAdminError(.refused, "The rule \(error).")
        }
        return Self([], settings: settings, reason: "Version rule \(rule.id) added")
    }

    /// Removes a rule. Where there is none with the id there is nothing to do, and ``settings`` is nil.
    package static func deletingVersionRule(_ id: Int64, from settings: ClientSettings) -> Self {
        var remaining = settings
        remaining.versionRules.removeAll { $0.id == id }
        return Self(
            [], settings: remaining == settings ? nil : remaining, reason: "Version rule \(id) deleted")
    }

    /// Adds a text, or replaces the one with its key and language. With Wultra, texts belong to no app: do it for every
    /// app with clients of this kind.
    ///
    /// - Throws: ``WultraAdminError`` where there are as many texts as may be.
    package static func setting(
        _ text: ClientText, in settings: ClientSettings
    ) throws(WultraAdminError) -> Self {
        var settings = settings
        settings.texts.removeAll(where: text.isAnother)
        do throws(ClientSettings.Malformed) { try settings.add(text) } catch {
            throw WultraAdminError(.refused, "The text \(error).")
        }
        return Self([], settings: settings, reason: "Text \(text.key.text) set in \(text.language.text)")
    }

    /// Removes a text, from every app with clients of this kind. For an app without it there is nothing to do, and
    /// ``settings`` is nil.
    package static func deletingText(
        _ key: TextKey, _ language: TextLanguage, from settings: ClientSettings
    ) -> Self {
        var remaining = settings
        remaining.texts.removeAll { $0.key == key && $0.language == language }
        return Self(
            [], settings: remaining == settings ? nil : remaining,
            reason: "Text \(key.text) deleted in \(language.text)")
    }

    /// The texts of all apps with clients of this kind, in order of keys and languages. Where apps differ in one, the
    /// first app's counts.
    package static func texts(of all: [ClientSettings]) -> [ClientText] {
        var found: [[String]: ClientText] = [:]
        for text in all.flatMap(\.texts) where found[[text.key.text, text.language.text]] == nil {
            found[[text.key.text, text.language.text]] = text
        }
        return found.values.sorted(by: ClientText.precedes)
    }
}
