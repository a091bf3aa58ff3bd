import ClientFormats
import Crypto
import PinWire
import Pinning

/// What an install of each kind does with a connection, by the rules of the client's own code, and going by the very
/// bytes that are served or exported.
///
/// Clients that are served fetched their pins at the connection's time. The others were released with what was exported
/// on ``monday``, before anything was switched off.
struct ClientDouble {
    var kind: ClientKind
    var settings: ClientSettings
    var suffixes: Set<String> = publicSuffixes

    struct Unreadable: Error {}

    func deed(_ app: ClientApp, _ connection: Connection) throws -> Taken {
        guard self.kind.isServed else { return try self.deed(ofReleased: app, connection) }
        let saysVersion = connection.saysVersion && (self.kind == .remoteConfig || self.kind == .wultra)
        let view = try app.view(at: connection.time, version: saysVersion ? connection.device.appVersion : nil)
        return switch self.kind {
        case .dynapins: try self.dynapins(view, connection)
        case .wultra: try self.wultra(view, connection)
        case .remoteConfig: try self.remoteConfig(view, connection)
        case .muejam: try Self.muejam(view, connection)
        case .netkit: try Self.netkit(view, connection)
        case .sslPinning: try self.sslPinning(view, connection)
        default: throw Unreadable()
        }
    }

    /// Configured with the patterns of the app's hosts, each of which it asks for by its text.
    private func dynapins(_ view: ClientView, _ connection: Connection) throws -> Taken {
        let isFirst = self.settings.dynapins == .ed25519
        let patterns = view.hosts.map(\.pattern)
        let exact = patterns.first { $0.text == connection.name }
        // Only the first protocol's SDK matches `*.x`, and that at any depth.
        let wide = patterns.first { isFirst && $0.isWildcard && connection.name.hasSuffix(".\($0.name)") }
        guard let asked = exact ?? wide else {
            // 0.2 gives TrustKit a name that it matches with nothing, and refuses what ends in the rest of it: no dot is
            // asked for.
            return !isFirst && patterns.contains { $0.isWildcard && connection.name.hasSuffix($0.name) }
                ? .refuses : .connects
        }
        let request = try DynapinsRequest(query: [(name: "domain", value: asked.text)])
        // All that is not 200 is refused.
        guard let pins = try? DynapinsPins(request, in: view) else { return .refuses }
        if isFirst {
            let answer = DynapinsEnvelope(
                pins, issuedAt: view.now, ttlSeconds: self.settings.ttlSeconds, keyID: "00000000")
            let first = try Self.json(answer.body(signature: Array(repeating: 0, count: 64)))["pins"]?.arrayValue?.first
            return first?.stringValue == connection.leafPin.map { Hex.encode($0.bytes) } ? .connects : .refuses
        }
        let answer = DynapinsToken(pins, issuedAt: view.now, ttlSeconds: self.settings.ttlSeconds, keyID: "00000000")
        let parts = try Self.json(answer.body(signature: Array(repeating: 0, count: 64)))["jws"]?.stringValue?
            .split(separator: ".").map(String.init)
        guard let parts, parts.count == 3, let payload = Base64URL.decode(parts[1]) else { throw Unreadable() }
        let read = try JSON(parsing: payload)
        guard read["domain"]?.stringValue == asked.text else { return .refuses }
        let hashes = Set((read["pins"]?.arrayValue ?? []).compactMap(\.stringValue))
        let domains = PinnedDomains([asked.text: PinnedDomains.Domain(hashes: hashes)])
        guard domains.isTakenByTrustKit(self.suffixes) else { return .crashes }
        return domains.deed(connection)
    }

    /// Used for the hosts that the app has.
    private func wultra(_ view: ClientView, _ connection: Connection) throws -> Taken {
        guard view.host(for: connection.name) != nil else { return .connects }
        var client = try Self.wultraClient(self.settings)
        _ = try Self.update(&client, view, self.settings)
        // The SDK for Android throws where there is no common name.
        guard let name = connection.chain.first.flatMap({ Self.wultraName($0, on: connection.platform) }) else {
            return .refuses
        }
        let verdict = client.verdict(commonName: name, chain: connection.chain.map(\.sha256))
        return verdict == .trusted ? .connects : .refuses
    }

    /// The name by which the SDKs look a certificate up.
    private static func wultraName(_ certificate: CertificateFacts, on platform: Connection.Platform) -> String? {
        if let name = certificate.commonName, !name.isEmpty { return name }
        return platform == .android ? nil : certificate.emailAddress ?? certificate.dnsNames.first
    }

    static func wultraClient(_ settings: ClientSettings) throws -> WultraClient {
        WultraClient(try WultraKeys.privateKey().publicKey, understandsDomains: settings.understandsDomains)
    }

    /// Lets a client ask once.
    static func update(
        _ client: inout WultraClient, _ view: ClientView, _ settings: ClientSettings
    ) throws -> WultraClient.Update {
        let challenge = "AAECAwQFBgcICQoLDA0ODw=="
        let body = WultraInitTemplate(view, settings).body(at: view.now)
        let signature = try WultraKeys.sign(try WultraChallenge(challenge).signingInput(of: body))
        return client.update(body, signature: signature, challenge: challenge, at: view.now.seconds)
    }

    /// Exact names. The app has pins of its own for the hosts that are left to them, and for those of the fallback.
    private func remoteConfig(_ view: ClientView, _ connection: Connection) throws -> Taken {
        let text = RemoteConfigValue(view, settings: self.settings).text
        let isBuiltin = connection.leafPin == pin(Connection.builtin)
        switch self.settings.schema {
        case .simple:
            let config = try StrictSimpleConfig(config: text)
            guard config.enabled, config.targets.contains(connection.name) else { return .connects }
            return isBuiltin ? .connects : .refuses
        case .advanced:
            let shipped = view.hosts.filter { $0.mode == nil }.map(\.pattern.text)
            let config = try StrictAdvancedConfig(config: text)
            let outcome = config.outcome(
                for: connection.name, bucket: connection.lot,
                shipped: Set(shipped + view.document.fallback.hosts.map(\.text)))
            return switch outcome {
            case .unpinned: .connects
            case .builtin: isBuiltin ? .connects : .refuses
            case .pinned(let pins):
                self.hash(of: connection).map { pins.contains($0.description) } == true ? .connects : .refuses
            }
        }
    }

    /// What the app's build makes of the server's key, written as a pin.
    private func hash(of connection: Connection) -> Pin? {
        switch self.settings.hash {
        case .spki: connection.leafPin
        case .rawKey: connection.chain.first.flatMap { Pin(bytes: $0.key.rawKeySHA256) }
        }
    }

    /// Fingerprints of one host's certificates, against the leaf.
    private static func muejam(_ view: ClientView, _ connection: Connection) throws -> Taken {
        guard view.host(for: connection.name) != nil else { return .connects }
        guard let answer = try? MueJamFingerprints(view, domain: connection.name) else { return .refuses }
        let known = try Self.json(answer.reply.body)["sha256"]?.arrayValue ?? []
        let leaf = connection.chain.first.map { Hex.encode($0.sha256) }
        return known.contains { $0.stringValue?.filter { $0 != ":" }.lowercased() == leaf } ? .connects : .refuses
    }

    /// Exact names, any certificate of the chain.
    private static func netkit(_ view: ClientView, _ connection: Connection) throws -> Taken {
        let json = try Self.json(NetKitDocument(view).bytes)
        let name = JSON.string(connection.name)
        if json["builtinHosts"]?.arrayValue?.contains(name) == true {
            return connection.pins.contains(pin(Connection.builtin)) ? .connects : .refuses
        }
        let policies = json["policies"]?.arrayValue ?? []
        guard let policy = policies.first(where: { $0["pinnedHosts"]?.arrayValue?.contains(name) == true }) else {
            return .connects
        }
        let keys = (policy["pinnedKeys"]?.arrayValue ?? []) + (policy["fallbackKeys"]?.arrayValue ?? [])
        let hashes = Set(keys.compactMap { $0["spkiSHA256"]?.stringValue })
        if connection.pins.contains(where: { hashes.contains($0.base64) }) { return .connects }
        return policy["failureAction"] == "reject" ? .refuses : .reports
    }

    /// One session for all of the app's hosts: on Apple's systems any key of the file, on Android OkHttp's patterns.
    private func sslPinning(_ view: ClientView, _ connection: Connection) throws -> Taken {
        guard view.host(for: connection.name) != nil else { return .connects }
        let file = SSLPinningFile(view, issuedAt: view.now, ttlSeconds: self.settings.ttlSeconds)
        guard let file else { return .refuses }
        let keys = try Self.json(file.body(signature: []))["payload"]?["keys"]?.arrayValue ?? []
        switch connection.platform {
        case .ios:
            return keys.contains { $0["key"]?.stringValue == connection.leafPin?.base64 } ? .connects : .refuses
        case .android:
            let patterns = keys.map {
                (pattern: $0["domainName"]?.stringValue ?? "", hash: $0["key"]?.stringValue ?? "")
            }
            return OkHttp(patterns, isFour: true).deed(connection)
        }
    }

    static func json(_ bytes: [UInt8]?) throws -> JSON {
        guard let bytes else { throw Unreadable() }
        return try JSON(parsing: bytes)
    }
}
