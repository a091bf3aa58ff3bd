import Foundation
import PinWire
import PinledgerClient

struct Pins {
    let configuration: ClientConfiguration

    init(keysThatShipWithTheApp: [UInt8], document: [UInt8], installID: InstallID, appVersion: String) throws {
        var configuration = ClientConfiguration(
            app: try AppID("com.example.shop"), issuer: "pinledger",
            anchors: try TrustAnchors(jwks: keysThatShipWithTheApp),
            services: [try ServiceAddress("https://pins.example.com")], withoutDocument: .platformTrust,
            afterExpiry: .platformTrust)
        configuration.device = Device(ids: [.installID: installID.text], appVersion: appVersion)
        configuration.builtinDocument = document
        self.configuration = configuration
    }
}
