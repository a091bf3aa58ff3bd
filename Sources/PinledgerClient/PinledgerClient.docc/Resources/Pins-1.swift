import Foundation
import PinWire
import PinledgerClient

struct Pins {
    let configuration: ClientConfiguration

    init(keysThatShipWithTheApp: [UInt8]) throws {
        self.configuration = ClientConfiguration(
            app: try AppID("com.example.shop"), issuer: "pinledger",
            anchors: try TrustAnchors(jwks: keysThatShipWithTheApp),
            services: [try ServiceAddress("https://pins.example.com")], withoutDocument: .platformTrust,
            afterExpiry: .platformTrust)
    }
}
