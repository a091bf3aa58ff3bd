import ClientFormats
import Hummingbird
import PinWire
import Pinning

/// Remote configuration in Firebase's form: `/compat/remote-config/{app}`.
struct RemoteConfigRoutes: Sendable {
    let tools: CompatServices

    var routes: [Route] {
        func route(
            _ id: String, _ path: String, _ render: @escaping @Sendable (ClientView, ClientSettings) throws -> [UInt8]
        ) -> Route {
            let path = "/compat/remote-config/{app}" + path
            return Route(
                id, .get, path, surface: .client, access: .everybody, isPrepared: true,
                isForeign: true
            ) { exchange in
                let declared = try self.tools.declared(.remoteConfig, of: try exchange.app)
                return try await self.tools.answer(exchange, declared, as: declared.target(path)) { declared, view in
                    do { return try render(view, declared.client.settings) } catch let refusal as RemoteConfigRefusal {
                        throw Problem(.nothingToExport, "No template can be made: \(refusal). \(refusal.advice)")
                    }
                }
            }
        }
        return [
            route("getRemoteConfig", "") { view, settings in
                Array(RemoteConfigValue(view, settings: settings).text.utf8)
            },
            route("getRemoteConfigTemplate", "/template") { view, settings in
                try RemoteConfigRules(view, settings: settings, firebaseApp: settings.firebaseApp).clientTemplate
            },
            route("getRemoteConfigServerTemplate", "/server-template") { view, settings in
                try RemoteConfigRules(view, settings: settings).serverTemplate
            },
        ]
    }
}
