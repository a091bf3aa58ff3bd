import Foundation
import PinWire
import PinledgerClient

struct Pins {
    let client: PinledgerClient
    let session: URLSession

    init(keysThatShipWithTheApp: [UInt8], installID: InstallID, appVersion: String) throws {
        var configuration = ClientConfiguration(
            app: try AppID("com.example.shop"), issuer: "pinledger",
            anchors: try TrustAnchors(jwks: keysThatShipWithTheApp), services: ["https://pins.example.com"])
        configuration.device = Device(ids: [.installID: installID.text], appVersion: appVersion)
        self.client = PinledgerClient(
            configuration, store: KeychainStore(service: "com.example.shop.pins", account: "document"),
            transport: URLSessionTransport())
        self.session = URLSession(
            configuration: .ephemeral, delegate: PinnedSessionDelegate(client: self.client), delegateQueue: nil)
    }
}
