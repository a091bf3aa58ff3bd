import Foundation
import PinWire
import PinledgerClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The app's server, over connections that the app's document judges.
///
/// Root of trust or keys, the document and the report key come from a server that you trust, and ship with the app: see the README beside this file.
/// Replace the addresses, the app's id and the issuer by yours.
@MainActor
final class Shop {
    private static let host = "api.example.com"

    private let client: PinledgerClient
    private let reporter: PinledgerReporter?
    private let delegate: PinnedSessionDelegate
    private let transport: URLSessionTransport
    /// The session of new tasks, and before it those that still finish theirs.
    private var sessions: [URLSession]

    /// - Throws: What is wrong with what ships with the app, or the Keychain's error before the first unlock.
    init() async throws {
        let services = [
            try ServiceAddress("https://pins.example.com"), try ServiceAddress("https://pins.example.net"),
        ]
        // It counts installs, outlasts the deletion of the app, and is in every report. It is on this device alone.
        let install = try await InstallID.kept(in: KeychainStore(service: "com.example.shop.pins", account: "install"))
        let version = Bundle.main.object(forInfoDictionaryKey: "CFBundleShortVersionString") as? String
        let anchors =
            if let root = Self.resource("pinledger-root.json") {
                try TrustAnchors(root: root)
            } else {
                try TrustAnchors(jwks: Self.resource("pinledger-keys.json") ?? [])
            }
        var configuration = ClientConfiguration(
            app: try AppID("com.example.shop"), issuer: "pinledger", anchors: anchors, services: services,
            withoutDocument: .platformTrust, afterExpiry: .platformTrust)
        configuration.device = Device(ids: [.installID: install.text], appVersion: version)
        // With it the first start is pinned, also without a network.
        configuration.builtinDocument = Self.resource("pinledger-document.jws")
        assert(configuration.builtinDocument != nil, "pinledger-document.jws is not in the app's target")
        // A document without it, by a mistake on the server, is told like other failures.
        configuration.expectedHosts = [try HostPattern(Self.host)]
        let transport = URLSessionTransport()
        let client = PinledgerClient(
            configuration, store: KeychainStore(service: "com.example.shop.pins", account: "document"),
            transport: transport
        ) { failure in
            // Into the app's log: a client that never gets a document says so nowhere else.
            print("pins: \(failure)")
        }
        var reporter: PinledgerReporter?
        if let key = try Self.resource("pinledger-report-key.json").map({ try ReportKey(json: $0) }) {
            var reports = ReportConfiguration(install: install, services: services, key: key)
            reports.platform = .ios
            reports.appVersion = version
            let directory = try FileManager.default.url(
                for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
            let file = directory.appending(path: "pinledger-reports").path
            reporter = PinledgerReporter(reports, client: client, store: FileStore(path: file), transport: transport)
        }
        let delegate = PinnedSessionDelegate(client: client) { [reporter] event in
            reporter?.record(event)
            // URLSession says of every refusal that the task was cancelled.
            if !event.isAccepted { print("refused: \(event.host) \(event.outcome)") }
        }
        self.transport = transport
        self.client = client
        self.reporter = reporter
        self.delegate = delegate
        // Hosts with pins have a session of their own.
        self.sessions = [URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)]
    }

    /// Keeps documents up to date and sends reports, for as long as the app is in use.
    func run() async {
        let updates = self.client.policyUpdates()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.client.run() }
            group.addTask { await self.client.follow(self.transport) }
            if let reporter = self.reporter { group.addTask { await reporter.run() } }
            group.addTask {
                // No update comes when a kill switch ends.
                while !Task.isCancelled {
                    try? await Task.sleep(for: .seconds(60))
                    if self.delegate.hasAcceptedRefused { await self.judgeAgain() }
                }
            }
            // A new document also holds for what is open.
            for await _ in updates { await self.judgeAgain() }
        }
    }

    /// Ends the tasks over connections that are refused by now, and lets new ones use no connection from before.
    private func judgeAgain() async {
        guard let session = self.sessions.last else { return }
        // First of all: a task that begins while the others are cancelled is in it already.
        let before = self.sessions
        self.sessions.append(self.delegate.session(like: session))
        await self.delegate.cancelRefused(in: before)
        // Ends by itself, once the session's tasks are done.
        Task { await self.retire(session) }
    }

    /// Ends a session once its tasks are done. Until then each new document judges them too.
    private func retire(_ session: URLSession) async {
        repeat {
            // A request may still be about to begin in it.
            try? await Task.sleep(for: .seconds(60))
        } while await !session.allTasks.isEmpty && !Task.isCancelled
        session.invalidateAndCancel()
        self.sessions.removeAll { $0 === session }
    }

    /// The app is in front: what was engaged meanwhile should hold before the next tap.
    func becameActive() async { _ = try? await self.client.refresh() }

    /// The app is about to be suspended: what is not sent now waits for the next start. The system leaves a few seconds for it.
    func wentToBackground() async {
        await self.reporter?.save()
        await self.reporter?.flush()
    }

    /// What the server answers, or why there is no connection.
    func items() async -> String {
        guard let url = URL(string: "https://\(Self.host)/v1/items") else { return "" }
        // Fetches where the document is stale, or where the last connection was refused.
        await self.client.prepare(for: Self.host)
        // Not before: a new document may have brought another session.
        guard let session = self.sessions.last else { return "" }
        do {
            let (data, _) = try await session.data(from: url)
            return String(decoding: data, as: UTF8.self)
        } catch {
            return "No connection: \(error.localizedDescription)"
        }
    }

    /// For a support screen, beside the install's id: what the app holds and decides, and what fails, as JSON.
    func diagnostics() async -> String { await self.client.diagnostics(for: Self.host).canonicalText }

    private static func resource(_ name: String) -> [UInt8]? {
        guard let url = Bundle.main.url(forResource: name, withExtension: nil), let data = try? Data(contentsOf: url) else {
            return nil
        }
        return [UInt8](data)
    }
}
