import ClientFormats
import EventStore
import Hummingbird
import PinWire
import Pinning

/// Version rules and texts, which are in the settings of apps' clients.
extension WultraAdminRoutes {
    // MARK: Versions

    func listVersions(_ exchange: Exchange) async throws -> Response {
        exchange.reply(status: 200, WultraAdminAnswer.versionRules(self.versionRules(in: exchange)))
    }

    /// The rules of the app that the path names: none for an unknown app, as in Wultra's server.
    private func versionRules(in exchange: Exchange) -> [ClientVersionRule] {
        let app = try? self.services.wultraApp(try exchange.wultraApp)
        return app?.settings.versionRules ?? []
    }

    func getVersion(_ exchange: Exchange) async throws -> Response {
        let id = try exchange.versionRule
        guard let rule = self.versionRules(in: exchange).first(where: { $0.id == id }) else {
            throw WultraAdminError.unmet("The app has no version rule \(id).")
        }
        return exchange.reply(status: 200, WultraAdminAnswer.versionRule(rule))
    }

    func add(_ rule: ClientVersionRule, _ body: [UInt8], in exchange: Exchange) async throws -> Response {
        let result: CommandExecutor.Result
        do {
            result = try await self.changes.change(try exchange.wultraApp, body, in: exchange) {
                (state) throws(WultraAdminError) in
                try .adding(rule, to: state.settings, of: state.app)
            }
        } catch let error as WultraAdminError where error.code == .appNotFound {
            throw WultraAdminError.unmet(error.message)
        }
        // The new rule has the highest id of those that were recorded with it.
        guard let recorded = result.settings?.versionRules.last else {
            throw WultraAdminFault(description: "what was recorded with a version rule has none")
        }
        return exchange.reply(WultraAdminAnswer.versionRule(recorded), to: result)
    }

    func deleteVersion(_ exchange: Exchange) async throws -> Response {
        let id = try exchange.versionRule
        guard self.services.writer != nil else { throw Problem(.readOnly, "This node is read-only.") }
        do {
            let result = try await self.changes.change(try exchange.wultraApp, [], in: exchange) {
                (state) throws(WultraAdminError) in .deletingVersionRule(id, from: state.settings)
            }
            return exchange.reply(WultraAdminAnswer.ok, to: result)
        } catch let error as WultraAdminError where error.code == .appNotFound {
            return exchange.reply(status: 200, WultraAdminAnswer.ok)
        }
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
                "Texts are kept with apps here, but no app has clients of this kind: create the app first.")
        }
        // Nothing is recorded where one app has no room for it. A recorded text is not judged again.
        for one in all {
            let id = one.app.id
            if try await self.changes.replay(id, body, in: exchange, part: id.text) != nil { continue }
            try await self.changes.check(try .setting(text, in: one.settings), of: id, body, in: exchange)
        }
        for one in all {
            let id = one.app.id
            _ = try await self.changes.change(id, body, in: exchange, part: id.text) {
                (state) throws(WultraAdminError) in try .setting(text, in: state.settings)
            }
        }
        return exchange.reply(status: 200, WultraAdminAnswer.text(text))
    }

    /// Removes a text from every app that has it, one change for each. Where none has it, that is a success.
    func deleteText(_ exchange: Exchange) async throws -> Response {
        guard self.services.writer != nil else { throw Problem(.readOnly, "This node is read-only.") }
        guard let (key, language) = try? exchange.textName else {
            return exchange.reply(status: 200, WultraAdminAnswer.ok)
        }
        for one in self.services.wultraApps
        where one.settings.texts.contains(where: { $0.key == key && $0.language == language }) {
            let id = one.app.id
            _ = try await self.changes.change(id, [], in: exchange, part: id.text) {
                (state) throws(WultraAdminError) in .deletingText(key, language, from: state.settings)
            }
        }
        return exchange.reply(status: 200, WultraAdminAnswer.ok)
    }

    private static func textUnknown(_ key: TextKey, _ language: TextLanguage) -> WultraAdminError {
        .unmet("There is no text \(key.text) in \(language.text).")
    }
}

extension CommandExecutor.Result {
    /// The settings that were recorded.
    fileprivate var settings: ClientSettings? {
        self.recorded.entries.compactMap { entry -> ClientSettings? in
            guard case .app(.clientSet(.wultra, let settings)) = entry.event else { return nil }
            return settings
        }.last
    }
}
