import Foundation
import PinWire
import PinledgerClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The app's server, over connections that the app's document judges.
///
/// The keys come from `/client/v1/jwks.json` of a server that you trust, the report key from `pinledger telemetry key create --output json`:
/// both ship with the app. Replace the addresses, the app's id and the issuer by yours.
@MainActor
final class Shop {
    private static let host = "api.example.com"
    private static let services = ["https://pins.example.com", "https://pins.example.net"]

    private let client: PinledgerClient
    private let reporter: PinledgerReporter?
    private let delegate: PinnedSessionDelegate
    private let transport: URLSessionTransport
    private var session: URLSession

    /// - Throws: What is wrong with the keys or the id that ship with the app, or the Keychain's error before the first unlock.
    init() async throws {
        // It stays on this device: it counts installs, and says nothing of the person.
        let install = try await InstallID.kept(in: KeychainStore(service: "com.example.shop.pins", account: "install"))
        let version = Bundle.main.object(forInfoDictionaryKey: "CFBundleShortVersionString") as? String
        var configuration = ClientConfiguration(
            app: try AppID("com.example.shop"), issuer: "pinledger",
            anchors: try TrustAnchors(jwks: Self.resource("pinledger-keys.json") ?? []), services: Self.services)
        configuration.device = Device(ids: [.installID: install.text], appVersion: version)
        configuration.builtinDocument = Self.resource("pinledger-document.jws")
        let transport = URLSessionTransport()
        let client = PinledgerClient(
            configuration, store: KeychainStore(service: "com.example.shop.pins", account: "document"),
            transport: transport)
        var reporter: PinledgerReporter?
        if let key = try Self.resource("pinledger-report-key.json").map({ try ReportKey(json: $0) }) {
            var reports = ReportConfiguration(install: install, services: Self.services, key: key)
            reports.platform = .ios
            reports.appVersion = version
            let directory = try FileManager.default.url(
                for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
            let file = directory.appending(path: "pinledger-reports").path
            reporter = PinledgerReporter(reports, client: client, store: FileStore(path: file), transport: transport)
        }
        let delegate = PinnedSessionDelegate(client: client) { [reporter] event in reporter?.record(event) }
        self.transport = transport
        self.client = client
        self.reporter = reporter
        self.delegate = delegate
        // Hosts with pins have a session of their own.
        self.session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
        await client.load()
    }

    /// Keeps documents up to date and sends reports, for as long as the app is in use.
    func run() async {
        let policies = self.client.policies
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.client.run() }
            group.addTask { await self.client.follow(self.transport) }
            if let reporter = self.reporter { group.addTask { await reporter.run() } }
            // A new document also holds for what is open.
            for await _ in policies {
                let old = self.session
                self.session = self.delegate.session(like: old)
                await self.delegate.cancelRefused(in: old)
                group.addTask {
                    // Until then a request may still be about to begin in it.
                    try? await Task.sleep(for: .seconds(60))
                    old.finishTasksAndInvalidate()
                }
            }
        }
    }

    /// What the server answers, or why there is no connection.
    func items() async -> String {
        guard let url = URL(string: "https://\(Self.host)/v1/items") else { return "" }
        // Fetches where the document is stale, or where the pins refused the last connection.
        await self.client.prepare(for: Self.host)
        do {
            let (data, _) = try await self.session.data(from: url)
            return String(decoding: data, as: UTF8.self)
        } catch {
            return "No connection: \(error.localizedDescription)"
        }
    }

    /// For a support screen: each rule and its result, as JSON.
    var explanation: String {
        self.client.policy.explain(Self.host, at: SystemClock.now())?.json.canonicalText ?? "There is no document."
    }

    private static func resource(_ name: String) -> [UInt8]? {
        guard let url = Bundle.main.url(forResource: name, withExtension: nil), let data = try? Data(contentsOf: url) else {
            return nil
        }
        return [UInt8](data)
    }
}
