import AsyncHTTPClient
import PinWire
import PinledgerClient
import PinledgerClientNIO

/// The example of the handbook's page `client-library`, which a test compares with it.
func libraryExample(keysThatShipWithTheApp: [UInt8], installID: String) async throws {
    var configuration = ClientConfiguration(
        app: try AppID("com.example.shop"), issuer: "pinledger",
        anchors: try TrustAnchors(jwks: keysThatShipWithTheApp),
        services: ["https://pins.example.com", "https://pins.example.net"])
    configuration.device = Device(ids: [.installID: installID], appVersion: "2.4.1")

    let http = HTTPClientTransport.makeClient()
    let client = PinledgerClient(
        configuration, store: FileDocumentStore(path: "/var/lib/shop/pins"), transport: HTTPClientTransport(http))
    await client.load()
    if client.policy.document == nil { try await client.refresh() }

    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await client.run() }
        let tls = try PinnedTLS(client: client) { event in print(event.host, event.outcome) }
        let response = try await PinnedHTTPClient(tls).send(host: "api.example.com", target: "/v1/items")
        print(response.status)
        group.cancelAll()
    }
    try await http.shutdown()
}
