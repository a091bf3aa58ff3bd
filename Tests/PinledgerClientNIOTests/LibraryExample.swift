import AsyncHTTPClient
import PinWire
import PinledgerClient
import PinledgerClientNIO

/// The example of the handbook's page `client-library`, which a test compares with it.
func libraryExample(keysThatShipWithTheApp: [UInt8], installID: InstallID, reportKey: ReportKey) async throws {
    var configuration = ClientConfiguration(
        app: try AppID("com.example.shop"), issuer: "pinledger",
        anchors: try TrustAnchors(jwks: keysThatShipWithTheApp),
        services: ["https://pins.example.com", "https://pins.example.net"])
    configuration.device = Device(ids: [.installID: installID.text], appVersion: "2.4.1")

    let http = HTTPClientTransport.makeClient()
    let transport = HTTPClientTransport(http)
    let client = PinledgerClient(configuration, store: FileStore(path: "/var/lib/shop/pins"), transport: transport)
    await client.load()
    if client.policy.document == nil { try await client.refresh() }
    let reporter = PinledgerReporter(
        ReportConfiguration(
            app: configuration.app, install: installID, services: configuration.services, key: reportKey),
        client: client, store: FileStore(path: "/var/lib/shop/reports"), transport: transport)

    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await client.run() }
        group.addTask { await client.follow(transport) }
        group.addTask { await reporter.run() }
        let tls = try PinnedTLS(client: client) { event in reporter.record(event) }
        let response = try await PinnedHTTPClient(tls).send(host: "api.example.com", target: "/v1/items")
        print(response.status)
        group.cancelAll()
    }
    try await http.shutdown()
}
