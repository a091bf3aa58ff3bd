package import ClientFormats
package import EventStore
package import Pinning

extension Services {
    /// An app's part of the client template of the Firebase project that its settings name; nil where they name none.
    ///
    /// - Parameter view: The ledger's view that contains the app.
    package func remoteConfigPart(of app: App, in view: LedgerView) throws(RemoteConfigRefusal) -> RemoteConfigPart? {
        guard let settings = app.clients[.remoteConfig]?.settings, settings.firebaseProject != nil,
            let clientView = self.clientView(of: app, in: view)
        else { return nil }
        return try RemoteConfigRules(clientView, settings: settings, firebaseApp: settings.firebaseApp).clientPart
    }
}
