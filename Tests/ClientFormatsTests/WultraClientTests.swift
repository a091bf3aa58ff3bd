import ClientFormats
import Crypto
import Foundation
import PinWire
import Pinning
import Testing

private typealias Wultra = WultraExamples

/// Answers and files, as a client takes them that behaves as Wultra's do.
@Suite struct `Wultra's clients` {
    private static let challenge = "AAECAwQFBgcICQoLDA0ODw=="
    private static let one = Wultra.certificate(1, "api.example.com")
    private static let two = Wultra.certificate(2, "api.example.com")

    private func client(understandsDomains: Bool = false) throws -> WultraClient {
        WultraClient(try WultraKeys.privateKey().publicKey, understandsDomains: understandsDomains)
    }

    private func update(
        _ client: inout WultraClient, _ app: App, _ settings: ClientSettings = ClientSettings(),
        at now: Timestamp = Wultra.noon, edit: ([UInt8]) -> [UInt8] = { $0 }
    ) throws -> WultraClient.Update {
        let body = WultraInitTemplate(Wultra.view(app, at: now), settings).body(at: now)
        let input = try WultraChallenge(Self.challenge).signingInput(of: body)
        return client.update(
            edit(body), signature: try WultraKeys.sign(input), challenge: Self.challenge, at: now.seconds)
    }

    @Test func `Wultra's clients trust the pinned certificates of a name and no others`() throws {
        var client = try self.client()
        #expect(client.verdict(commonName: "api.example.com", chain: [Self.one.sha256]) == .empty)
        #expect(try self.update(&client, Wultra.app(.init("api.example.com", .enforce, Self.one, Self.two))) == .ok)
        for certificate in [Self.one, Self.two] {
            #expect(client.verdict(commonName: "api.example.com", chain: [certificate.sha256]) == .trusted)
            #expect(client.verdict(commonName: "API.example.com", chain: [certificate.sha256]) == .untrusted)
        }
        let foreign = Wultra.certificate(3, "api.example.com")
        #expect(client.verdict(commonName: "api.example.com", chain: [foreign.sha256]) == .untrusted)
    }

    @Test func `Wultra's clients refuse an answer to another challenge, and one that was changed`() throws {
        let app = Wultra.app(.init("api.example.com", .enforce, Self.one))
        var client = try self.client()
        #expect(try self.update(&client, app) { $0 + [0x20] } == .invalidSignature)
        let body = WultraInitTemplate(Wultra.view(app), ClientSettings()).body(at: Wultra.noon)
        let signature = try WultraKeys.sign(try WultraChallenge("AAECAwQFBgcICQoLDA0ODg==").signingInput(of: body))
        let update = client.update(body, signature: signature, challenge: Self.challenge, at: Wultra.noon.seconds)
        #expect(update == .invalidSignature && client.entries.isEmpty)
    }

    @Test func `Wultra's clients trust a removed certificate until the end that its entry stated`() throws {
        var client = try self.client()
        let settings = ClientSettings(entryDays: 28)
        _ = try self.update(&client, Wultra.app(.init("api.example.com", .enforce, Self.one, Self.two)), settings)
        let told = try #require(client.entries.first { $0.fingerprint == Self.two.sha256 }?.expires)
        let app = Wultra.app(.init("api.example.com", .enforce, Self.one))
        for now in [told - 1, told] {
            #expect(try self.update(&client, app, settings, at: Timestamp(seconds: now)) == .ok)
            let verdict = client.verdict(commonName: "api.example.com", chain: [Self.two.sha256])
            #expect(verdict == (now < told ? .trusted : .untrusted))
        }
        #expect(told <= Wultra.noon.seconds + 28 * Wultra.day)
    }

    @Test func `Wultra's clients keep few entries of one certificate, however often they ask`() throws {
        var client = try self.client()
        let app = Wultra.app(.init("api.example.com", .enforce, Self.one))
        for hour in stride(from: Int64(0), to: 60 * 24, by: 6) {
            let now = Wultra.noon.adding(seconds: hour * 3600)
            #expect(try self.update(&client, app, ClientSettings(entryDays: 28), at: now) == .ok)
            #expect(client.entries.count <= 4)
        }
    }

    @Test func `Wultra's clients keep their entries where an answer has none`() throws {
        var client = try self.client()
        let old = Wultra.certificate(1, "api.example.com", notAfter: Wultra.noon.adding(seconds: 60))
        _ = try self.update(&client, Wultra.app(.init("api.example.com", .enforce, old)))
        let later = Wultra.noon.adding(seconds: 60)
        #expect(try self.update(&client, Wultra.app(), at: later) == .storeIsEmpty)
        #expect(client.entries.map(\.fingerprint) == [old.sha256])
    }

    @Test func `Wultra's clients of version 2.x drop pins that are switched off, and take them up again`() throws {
        var client = try self.client(understandsDomains: true)
        var oldClient = try self.client()
        let settings = ClientSettings(understandsDomains: true)
        var app = Wultra.app(.init("api.example.com", .enforce, Self.one))
        let foreign = [Wultra.certificate(3, "api.example.com").sha256]
        for (killSwitch, verdict) in [
            (nil, WultraClient.Verdict.untrusted), (Wultra.killSwitch(), .trusted), (nil, .untrusted),
        ] as [(KillSwitch?, WultraClient.Verdict)] {
            app.hosts[Wultra.pattern("api.example.com")]?.killSwitch = killSwitch
            #expect(try self.update(&client, app, settings) == .ok)
            #expect(client.verdict(commonName: "api.example.com", chain: foreign) == verdict)
            #expect(client.verdict(commonName: "www.example.com", chain: foreign) == .untrusted)
            // Those before can only be given the pins of what is served.
            #expect(try self.update(&oldClient, app, settings) == .ok)
            #expect(oldClient.verdict(commonName: "api.example.com", chain: foreign) == .untrusted)
            #expect(oldClient.verdict(commonName: "api.example.com", chain: [Self.one.sha256]) == .trusted)
        }
    }

    @Test func `Wultra's clients of version 2.x trust an authority's certificate at its place in the chain`() throws {
        var client = try self.client(understandsDomains: true)
        let authority = Wultra.certificate(4, "Issuing", isAuthority: true, issuer: "CN=Root")
        let app = Wultra.app(.init("api.example.com", .enforce, Self.one, authority))
        #expect(try self.update(&client, app, ClientSettings(understandsDomains: true)) == .ok)
        let renewed = Wultra.certificate(7, "api.example.com").sha256
        #expect(client.verdict(commonName: "api.example.com", chain: [renewed, authority.sha256]) == .trusted)
        #expect(client.verdict(commonName: "api.example.com", chain: [renewed, renewed]) == .untrusted)
        #expect(client.verdict(commonName: "api.example.com", chain: [authority.sha256]) == .untrusted)
    }

    @Test func `Wultra's clients take a static file whose every entry is signed`() throws {
        let app = Wultra.app(.init("api.example.com", .enforce, Self.one, Self.two))
        let file = WultraStaticFile(Wultra.view(app), ClientSettings())
        let signatures = try file.entries.map { try WultraKeys.sign($0.signingInput) }
        var client = try self.client()
        let swapped = try #require(file.bytes(signatures: signatures.reversed()))
        #expect(client.update(file: swapped, at: Wultra.noon.seconds) == .invalidSignature)
        let bytes = try #require(file.bytes(signatures: signatures))
        #expect(client.update(file: bytes, at: Wultra.noon.seconds) == .ok)
        #expect(client.verdict(commonName: "api.example.com", chain: [Self.two.sha256]) == .trusted)
    }
}
