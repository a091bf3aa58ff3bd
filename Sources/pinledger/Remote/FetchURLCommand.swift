import ArgumentParser
import AsyncHTTPClient
import Foundation
import PinWire
import PinledgerClient
import PinledgerClientNIO
import Synchronization

/// A request over a pinned connection, as an app that embeds the client library makes it.
struct FetchURLCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch-url",
        abstract: "Fetch an address over a connection that an app's document judges.",
        discussion: """
            pinledger fetch-url https://api.example.com/ --pinned-by com.example.app --trusted-keys keys.json --service https://pins.example.com

            The command does what an app with the library PinledgerClient does: it fetches the app's document, verifies it by the \
            keys that ship with the app, validates the server's chain as the platform does, and then compares pins. The body \
            goes to standard output, the verdict to standard error. With --store it keeps the document, and goes on with it \
            where no service answers. With --report-key it reports the outcome to the first service, signed, where the \
            document asks for reports.

            Exit codes: 0 answered, 5 no such app, 8 not reachable, 10 refused by the chain or by the pins, or the document does not verify.
            """)

    @Argument(help: "The address, beginning with https://.") var url: String
    @Option(help: ArgumentHelp("App whose document judges the connection.", valueName: "app")) var pinnedBy: String
    @Option(
        help: ArgumentHelp(
            "File with the root of trust that ships with the app, or with the keys that do (JWKS).", valueName: "file"))
    var trustedKeys: String
    @Option(
        help: ArgumentHelp(
            "Address of a service that has documents. May be repeated: they are asked in this order.", valueName: "url")
    )
    var service: [String] = []
    @Option(help: ArgumentHelp("Issuer that the document has to name.", valueName: "text")) var issuer = "pinledger"
    @Option(
        help: ArgumentHelp("File that keeps the document between runs. Default: none.", valueName: "file")) var store:
        String?
    @Option(
        help: ArgumentHelp(
            "File with the certificate authorities (PEM) to trust instead of the system's, for the address.",
            valueName: "file"))
    var caFile: String?
    @Option(
        help: ArgumentHelp("Connect to this IP address instead of the name's.", valueName: "address")) var connectTo:
        String?
    @Option(
        help: ArgumentHelp(
            "File with the key that signs reports, as telemetry key create --output json prints it. Default: no report.",
            valueName: "file"))
    var reportKey: String?
    @Flag(help: "Go on until interrupted: follow the app's documents, and fetch again whenever another one holds.")
    var follow = false
    @Flag(
        help:
            "Refuse hosts whose pins have ended, those of which the document says nothing, and all hosts while there is no document."
    )
    var strict = false
    @OptionGroup var device: DeviceOptions

    func run() async throws {
        guard let url = URLComponents(string: self.url), url.scheme?.lowercased() == "https",
            // In A-labels, as documents and certificates have names.
            let host = url.encodedHost.map({ $0.trimmingCharacters(in: ["[", "]"]) }),
            !host.isEmpty, url.user == nil
        else {
            throw CommandFailure("\(self.url) is no address that begins with https://", status: .usage)
        }
        let http = HTTPClientTransport.makeClient()
        do {
            // The command itself says what fails until it follows documents.
            let isFollowing = Atomic(false)
            let client = PinledgerClient(
                try self.configuration(), store: self.documentStore, transport: HTTPClientTransport(http)
            ) { if isFollowing.load(ordering: .relaxed) { Console.error("\($0)") } }
            let reporter = try self.reporter(of: client, http)
            let loaded = await client.load()
            try Self.check(loaded, client)
            do { _ = try await client.refresh() } catch { try self.goOn(without: error, client) }
            // What keeps a store from being read mostly keeps it from being written too.
            if let failure = await client.storeFailure, failure != loaded.store {
                Console.error("The document is not stored: \(failure)")
            }
            let policies = client.policyUpdates()
            try await self.sendAndReport(url, host, client, reporter)
            isFollowing.store(self.follow, ordering: .relaxed)
            if self.follow { try await self.goOn(url, host, client, reporter, policies, http) }
        } catch {
            try? await http.shutdown()
            throw error
        }
        try await http.shutdown()
    }

    private func sendAndReport(
        _ url: URLComponents, _ host: String, _ client: PinledgerClient, _ reporter: PinledgerReporter?
    ) async throws {
        var failure: (any Error)?
        do { try await self.send(url, host, client, reporter) } catch { failure = error }
        await Self.report(reporter)
        guard let failure else { return }
        guard self.follow else { throw failure }
        Console.error((failure as? CommandFailure)?.message ?? "\(failure)")
    }

    /// Holds the stream of documents open, and fetches again with each.
    private func goOn(
        _ url: URLComponents, _ host: String, _ client: PinledgerClient, _ reporter: PinledgerReporter?,
        _ policies: AsyncStream<PinPolicy>, _ http: HTTPClient
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await client.run() }
            group.addTask { await client.follow(HTTPClientTransport(http)) }
            for await policy in policies {
                Console.error("Document \(policy.document?.version ?? 0) holds.")
                try await self.sendAndReport(url, host, client, reporter)
            }
            group.cancelAll()
        }
    }

    private func configuration() throws -> ClientConfiguration {
        let app: AppID
        do { app = try AppID(self.pinnedBy) } catch { throw CommandFailure("--pinned-by \(error)", status: .usage) }
        let keys = try GivenFile.data(self.trustedKeys)
        let anchors: TrustAnchors
        do {
            let isRoot = (try? JSON(parsing: Array(keys)))?["signed"] != nil
            anchors = isRoot ? try TrustAnchors(root: Array(keys)) : try TrustAnchors(jwks: Array(keys))
        } catch {
            throw CommandFailure("\(self.trustedKeys): \(error)", status: .usage)
        }
        let services: [ServiceAddress]
        do { services = try self.service.map { try ServiceAddress($0) } } catch {
            throw CommandFailure("--service \(error)", status: .usage)
        }
        guard !services.isEmpty || self.store != nil else {
            throw CommandFailure(
                "no service is named", advice: "Give --service URL, or --store FILE with a document.", status: .usage)
        }
        var configuration = ClientConfiguration(
            app: app, issuer: self.issuer, anchors: anchors, services: services,
            withoutDocument: self.strict ? .block : .platformTrust, afterExpiry: self.strict ? .block : .platformTrust)
        configuration.device = self.device.device
        return configuration
    }

    private func requireCovered(_ host: String, _ policy: PinPolicy) throws {
        guard self.strict, let document = policy.document,
            policy.decide(host, at: SystemClock.now())?.reason == .hostUnknown
        else { return }
        throw CommandFailure(
            "document \(document.version) says nothing of \(host)",
            advice: "pinledger host list \(self.pinnedBy) shows what it covers.", status: .notVerified)
    }

    /// Nil where nothing is to be reported.
    private func reporter(of client: PinledgerClient, _ http: HTTPClient) throws -> PinledgerReporter? {
        guard let file = self.reportKey else { return nil }
        let data = try GivenFile.data(file)
        guard let key = try? ReportKey(json: Array(data)) else {
            throw CommandFailure(
                "\(file) holds no key for reports", advice: "pinledger telemetry key create --output json prints one.",
                status: .usage)
        }
        guard let install = self.device.installID.flatMap({ InstallID($0) }) else {
            throw CommandFailure(
                "--report-key needs --install-id with 16 bytes in base64url",
                advice:
                    "Each id counts as an install: keep using one, such as that of head -c 16 /dev/urandom | basenc --base64url.",
                status: .usage)
        }
        var configuration = ReportConfiguration(
            install: install, services: client.services, key: key)
        configuration.platform = .server
        configuration.appVersion = self.device.appVersion
        return PinledgerReporter(
            configuration, client: client, store: MemoryStore(), transport: HTTPClientTransport(http))
    }

    private static func report(_ reporter: PinledgerReporter?) async {
        guard let reporter else { return }
        switch await reporter.flush() {
        case .idle: Console.error("Nothing was reported: nothing is new, or the document asks for no reports.")
        case .sent(outcomes: 0): Console.error("Reported which document this install holds.")
        case .sent(let outcomes): Console.error("Reported \(outcomes) outcome\(outcomes == 1 ? "" : "s").")
        case .refused(let status): Console.error("The service refused the report: it answered \(status).")
        case .postponed(let status?): Console.error("The service did not take the report: it answered \(status).")
        case .postponed(nil): Console.error("No service took the report.")
        }
    }

    private var documentStore: any ClientStore {
        self.store.map { FileStore(path: $0) } ?? MemoryStore()
    }

    /// A document that is there and not to be used is no reason to do without one.
    private static func check(_ outcome: PinledgerClient.LoadOutcome, _ client: PinledgerClient) throws {
        if let failure = outcome.store { Console.error("The stored document cannot be read: \(failure)") }
        guard let failure = outcome.stored, client.policy.document == nil else { return }
        throw CommandFailure(
            "the stored document: \(failure)", advice: "Remove the file of --store to begin without it.",
            status: .notVerified)
    }

    /// Where nothing could be fetched, the stored document goes on. A document that does not verify is no reason to do without one.
    private func goOn(without error: any Error, _ client: PinledgerClient) throws {
        guard let failure = error as? RefreshFailure else { throw error }
        guard let held = client.policy.document else {
            let isRefused = failure.troubles.contains { if case .refused = $0.cause { true } else { false } }
            guard isRefused || !self.strict else {
                throw CommandFailure("there is no document: \(failure)", status: .unreachable)
            }
            guard !isRefused else { throw CommandFailure("\(failure)", status: .notVerified) }
            guard !failure.isOfUnknownApp else {
                throw CommandFailure(
                    "no service has documents of \(self.pinnedBy): \(failure)",
                    advice: "Compare the id with those of pinledger app list.", status: .notFound)
            }
            return Console.error("There is no document: \(failure)")
        }
        Console.error("The stored document, version \(held.version), goes on: \(failure)")
    }

    private func send(
        _ url: URLComponents, _ host: String, _ client: PinledgerClient, _ reporter: PinledgerReporter?
    ) async throws {
        try self.requireCovered(host, client.policy)
        let authorities: PinnedTLS.Authorities
        do {
            authorities = try self.caFile.map { .only(pem: try Self.certificates($0)) } ?? .system
            let tls = try PinnedTLS(client: client, authorities: authorities) { event in
                Self.show(event)
                reporter?.record(event)
            }
            var target = url.percentEncodedPath.isEmpty ? "/" : url.percentEncodedPath
            if let query = url.percentEncodedQuery { target += "?\(query)" }
            let response = try await PinnedHTTPClient(tls).send(
                host: host, port: url.port ?? 443, target: target,
                headers: [.init("User-Agent", "pinledger/\(Version.text)"), .init("Accept", "*/*")],
                address: self.connectTo)
            Console.error("Answered with \(response.status).")
            Console.write(response.body)
        } catch let failure as PinnedHTTPClient.Failure {
            switch failure {
            case .refused(let refusal): throw CommandFailure("\(refusal)", status: .notVerified)
            case .tooLong, .timedOut, .broken: throw CommandFailure("\(failure)", status: .unreachable)
            }
        }
    }

    private static func certificates(_ file: String) throws -> [String] {
        let data = try GivenFile.data(file)
        guard let text = String(bytes: data, encoding: .utf8) else {
            throw CommandFailure("\(file) holds no certificate in PEM", status: .usage)
        }
        let end = "-----END CERTIFICATE-----"
        let parts = text.components(separatedBy: end).dropLast().compactMap { part in
            part.range(of: "-----BEGIN CERTIFICATE-----").map { "\(part[$0.lowerBound...])\(end)\n" }
        }
        guard !parts.isEmpty else { throw CommandFailure("\(file) holds no certificate in PEM", status: .usage) }
        return parts
    }

    @Sendable
    private static func show(_ event: ConnectionEvent) {
        guard case .judged(let verdict) = event.outcome else { return }
        let arm = verdict.decision?.arm.map { ", \($0.rawValue)" } ?? ""
        let reason = verdict.decision.map { " (\($0.reason.rawValue)\(arm))" } ?? ""
        let match = verdict.match.map { ", by \($0)" } ?? ""
        Console.error("\(event.host): \(verdict.result.rawValue)\(reason)\(match)")
    }
}

extension RefreshFailure {
    /// Whether each service answered that it has no such document.
    fileprivate var isOfUnknownApp: Bool {
        !self.troubles.isEmpty && self.troubles.allSatisfy { $0.cause == .status(404) }
    }
}
