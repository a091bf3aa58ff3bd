import EventStore
import Formats
import Hummingbird
import PinWire
import Pinning

/// Version rules and texts, which stand in the settings of apps' clients.
extension WultraAdminRoutes {
    // MARK: Versions

    func listVersions(_ exchange: Exchange) async throws -> Response {
        let settings = try self.services.wultraApp(try exchange.wultraApp).settings
        return exchange.reply(status: 200, WultraAdminAnswer.versionRules(settings.versionRules))
    }

    func getVersion(_ exchange: Exchange) async throws -> Response {
        let settings = try self.services.wultraApp(try exchange.wultraApp).settings
        let id = try exchange.versionRule
        guard let rule = settings.versionRules.first(where: { $0.id == id }) else {
            throw WultraAdminError(.refused, "The app has no version rule \(id).")
        }
        return exchange.reply(status: 200, WultraAdminAnswer.versionRule(rule))
    }

    func add(_ rule: ClientVersionRule, _ body: [UInt8], in exchange: Exchange) async throws -> Response {
        let result = try await self.changes.change(try exchange.wultraApp, body, in: exchange) {
            (state) throws(WultraAdminError) in
            try .adding(rule, to: state.settings, of: state.app)
        }
        // The new rule has the highest id of those that were recorded with it.
        guard let recorded = result.settings?.versionRules.last else {
            throw WultraAdminFault(description: "what was recorded with a version rule has none")
        }
        return exchange.reply(WultraAdminAnswer.versionRule(recorded), to: result)
    }

    func deleteVersion(_ exchange: Exchange) async throws -> Response {
        let id = try exchange.versionRule
        let result = try await self.changes.change(try exchange.wultraApp, [], in: exchange) {
            (state) throws(WultraAdminError) in try .deletingVersionRule(id, from: state.settings)
        }
        return exchange.reply(WultraAdminAnswer.ok, to: result)
    }

    // MARK: Texts

    func listTexts(_ exchange: Exchange) async throws -> Response {
        let texts = WultraAdminCommand.texts(of: self.services.wultraApps.map(\.settings))
        return exchange.reply(status: 200, WultraAdminAnswer.texts(texts))
    }

    func getText(_ exchange: Exchange) async throws -> Response {
        let (key, language) = try exchange.textName
        let texts = WultraAdminCommand.texts(of: self.services.wultraApps.map(\.settings))
        guard let text = texts.first(where: { $0.key == key && $0.language == language }) else {
            throw Self.textUnknown(key, language)
        }
        return exchange.reply(status: 200, WultraAdminAnswer.text(text))
    }

    /// Sets a text in every app, one change for each.
    func set(_ text: ClientText, _ body: [UInt8], in exchange: Exchange) async throws -> Response {
        let all = self.services.wultraApps
        guard !all.isEmpty else {
            throw WultraAdminError(
                .refused,
                "Texts are kept with the apps here, and there is none with clients of this kind: create it first.")
        }
        // Nothing is recorded where one app has no room for it. What was recorded already is not judged anew.
        for one in all {
            let id = one.app.id
            if try await self.changes.replay(id, body, in: exchange, part: id.text) != nil { continue }
            try self.changes.check(try .setting(text, in: one.settings), of: id, body, in: exchange)
        }
        for one in all {
            let id = one.app.id
            _ = try await self.changes.change(id, body, in: exchange, part: id.text) {
                (state) throws(WultraAdminError) in try .setting(text, in: state.settings)
            }
        }
        return exchange.reply(status: 200, WultraAdminAnswer.text(text))
    }

    /// Takes a text from every app that has it, one change for each.
    func deleteText(_ exchange: Exchange) async throws -> Response {
        let (key, language) = try exchange.textName
        var isFound = false
        for one in self.services.wultraApps {
            let id = one.app.id
            if one.settings.texts.contains(where: { $0.key == key && $0.language == language }) {
                _ = try await self.changes.change(id, [], in: exchange, part: id.text) {
                    (state) throws(WultraAdminError) in .deletingText(key, language, from: state.settings)
                }
                isFound = true
            } else if !isFound {
                // A repeated request finds its text gone.
                isFound = try await self.changes.replay(id, [], in: exchange, part: id.text) != nil
            }
        }
        guard isFound else { throw Self.textUnknown(key, language) }
        return exchange.reply(status: 200, WultraAdminAnswer.ok)
    }

    private static func textUnknown(_ key: TextKey, _ language: TextLanguage) -> WultraAdminError {
        WultraAdminError(.refused, "There is no text \(key.text) in \(language.text).")
    }
}

extension ChangeHandler.Result {
    /// The settings that were recorded.
    fileprivate var settings: ClientSettings? {
        self.recorded.entries.compactMap { entry -> ClientSettings? in
            guard case .app(.clientSet(.wultra, let settings)) = entry.event else { return nil }
            return settings
        }.last
    }
}
