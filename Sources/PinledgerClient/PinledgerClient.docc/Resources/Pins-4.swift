import Foundation
import PinWire
import PinledgerClient

struct Pins {
    let client: PinledgerClient
    let session: URLSession

    init(keysThatShipWithTheApp: [UInt8], document: [UInt8], installID: InstallID, appVersion: String) throws {
        var configuration = ClientConfiguration(
            app: try AppID("com.example.shop"), issuer: "pinledger",
            anchors: try TrustAnchors(jwks: keysThatShipWithTheApp),
            services: [try ServiceAddress("https://pins.example.com")], withoutDocument: .platformTrust,
            afterExpiry: .platformTrust)
        configuration.device = Device(ids: [.installID: installID.text], appVersion: appVersion)
        configuration.builtinDocument = document
        self.client = PinledgerClient(
            configuration, store: KeychainStore(service: "com.example.shop.pins", account: "document"),
            transport: URLSessionTransport()
        ) { failure in print("pins: \(failure)") }
        self.session = URLSession(
            configuration: .ephemeral, delegate: PinnedSessionDelegate(client: self.client), delegateQueue: nil)
    }

    /// Runs for as long as the app does.
    func run() async {
        await self.client.run()
    }

    /// When the app comes to the foreground.
    func becameActive() async { _ = try? await self.client.refresh() }
}
