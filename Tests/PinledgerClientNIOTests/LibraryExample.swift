import PinWire
import PinledgerClient
import PinledgerClientNIO

/// The example of the handbook's page `client-library`, which a test compares with it.
func libraryExample(keysThatShipWithTheApp: [UInt8], reportKey: ReportKey) async throws {
    let installID = try await InstallID.kept(in: FileStore(path: "/var/lib/shop/install"))
    var configuration = ClientConfiguration(
        app: try AppID("com.example.shop"), issuer: "pinledger",
        anchors: try TrustAnchors(jwks: keysThatShipWithTheApp),
        services: try [ServiceAddress("https://pins.example.com"), ServiceAddress("https://pins.example.net")],
        withoutDocument: .block, afterExpiry: .block)
    configuration.expectedHosts = [try HostPattern("api.example.com")]
    configuration.device = Device(ids: [.installID: installID.text], appVersion: "2.4.1")
    var reports = ReportConfiguration(install: installID, services: configuration.services, key: reportKey)
    reports.platform = .server
    reports.appVersion = "2.4.1"

    let transport = HTTPClientTransport(HTTPClientTransport.makeClient())
    let client = PinledgerClient(
        configuration, store: FileStore(path: "/var/lib/shop/pins"), transport: transport
    ) { print("pins:", $0) }
    let reporter = PinledgerReporter(
        reports, client: client, store: FileStore(path: "/var/lib/shop/reports"), transport: transport)
    do {
        let tls = try PinnedTLS(client: client) { event in reporter.record(event) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await client.run() }
            group.addTask { await client.follow(transport) }
            group.addTask { await reporter.run() }
            group.addTask { await tls.run() }
            let response = try await PinnedHTTPClient(tls).send(host: "api.example.com", target: "/v1/items")
            print(response.status)
            group.cancelAll()
        }
    } catch {
        print(error)
    }
    // Also after an error: AsyncHTTPClient ends a program that forgets it.
    try await transport.shutdown()
}
