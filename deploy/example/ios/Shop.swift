import Foundation
import PinWire
import PinledgerClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The app's server, over connections that the app's document judges.
///
/// The keys come from `/client/v1/jwks.json` of a server that you trust, the report key from `pinledger telemetry key create`; both ship with the app. Replace the
/// addresses, the app's id and the issuer by yours.
@MainActor
final class Shop {
    private static let host = "api.example.com"
    private static let services = ["https://pins.example.com", "https://pins.example.net"]

    private let client: PinledgerClient
    private let reporter: PinledgerReporter?
    private let delegate: PinnedSessionDelegate
    private let transport = URLSessionTransport()
    private var session: URLSession

    init() {
        let install = Self.installID()
        let version = Bundle.main.object(forInfoDictionaryKey: "CFBundleShortVersionString") as? String
        guard let app = try? AppID("com.example.shop"), let keys = Self.resource("pinledger-keys.json"),
            let anchors = try? TrustAnchors(jwks: keys)
        else { fatalError("the app ships its id and the keys that may sign its documents") }
        var configuration = ClientConfiguration(app: app, issuer: "pinledger", anchors: anchors, services: Self.services)
        configuration.device = Device(ids: [.installID: install.text], appVersion: version)
        configuration.builtinDocument = Self.resource("pinledger-document.jws")
        let client = PinledgerClient(
            configuration, store: KeychainStore(service: "com.example.shop.pins", account: "document"), transport: self.transport)
        let reporter = Self.reportKey().map { key in
            var reports = ReportConfiguration(app: app, install: install, services: Self.services, key: key)
            reports.platform = .ios
            reports.appVersion = version
            return PinledgerReporter(
                reports, client: client, store: KeychainStore(service: "com.example.shop.pins", account: "reports"),
                transport: self.transport)
        }
        let delegate = PinnedSessionDelegate(client: client) { event in reporter?.record(event) }
        self.client = client
        self.reporter = reporter
        self.delegate = delegate
        self.session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
    }

    /// Keeps documents up to date and sends reports, for as long as the app is in use.
    func run() async {
        await self.client.load()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.client.run() }
            group.addTask { await self.client.follow(self.transport) }
            if let reporter = self.reporter { group.addTask { await reporter.run() } }
            // A new document also holds for what is open.
            for await _ in self.client.policies {
                await self.delegate.cancelRefused(in: self.session)
                self.session = self.delegate.replacedSession(self.session)
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

    // MARK: What ships with the app, and what it made

    private static func resource(_ name: String) -> [UInt8]? {
        guard let url = Bundle.main.url(forResource: name, withExtension: nil), let data = try? Data(contentsOf: url) else {
            return nil
        }
        return [UInt8](data)
    }

    private static func reportKey() -> ReportKey? {
        guard let text = self.resource("pinledger-report-key.json"), let json = try? JSON(parsing: text),
            let id = json["key_id"]?.stringValue, let secret = json["secret"]?.stringValue
        else { return nil }
        return try? ReportKey(id: id, secret: secret)
    }

    /// Made at the first start, and kept in the app's settings: it counts installs, and says nothing of the person.
    private static func installID() -> InstallID {
        let settings = UserDefaults.standard
        if let known = settings.string(forKey: "pinledger-install").flatMap({ InstallID($0) }) { return known }
        let new = InstallID.random()
        settings.set(new.text, forKey: "pinledger-install")
        return new
    }
}
