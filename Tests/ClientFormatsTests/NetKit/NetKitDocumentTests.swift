import ClientFormats
import Foundation
import PinWire
import Pinning
import Testing

/// NetKit's types as far as JSON goes, decoded as Swift does it by itself.
private struct PinDocument: Decodable {
    enum Mode: String, Decodable { case publicKey, certificate }
    enum FailureAction: String, Decodable { case reject, allowWithWarning }

    struct PinnedKey: Decodable {
        var spkiSHA256: String
        var rawKey: Data?
        var certificates: [Data]?
    }

    /// As NetKit has it since it knows hashes.
    struct Policy: Decodable {
        var mode: Mode
        var pinnedHosts: Set<String>
        var pinnedItems: [Data]?
        var fallbackItems: [Data]?
        var failureAction: FailureAction
        var validateCertificateChain: Bool
        var pinnedKeys: [PinnedKey]
        var fallbackKeys: [PinnedKey]
    }

    var app: String
    var version: Int
    var policies: [Policy]
    var builtinHosts: [String]
    var unpinnedHosts: [String]
}

/// As NetKit's documentation has it: the items are needed.
private struct OldDocument: Decodable {
    struct Policy: Decodable {
        var mode: PinDocument.Mode
        var pinnedHosts: Set<String>
        var pinnedItems: [Data]
        var fallbackItems: [Data]
        var failureAction: PinDocument.FailureAction
        var validateCertificateChain: Bool
    }

    var policies: [Policy]
}

@Suite struct `A document for NetKit` {
    /// A key of a client's own tests, and the X9.63 point that they have for it.
    private static let p256 = Base64.decode(
        "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAELeRX04gOcy5WgJ0NH2cQD8mJ0ktNMMu5IDZNJmwaA4NKyF9tmDfUxL3RYL8d1tT8DlYvkabI"
            + "OQT+KSzog2/5cQ==")
    private static let p256Raw = Base64.decode(
        "BC3kV9OIDnMuVoCdDR9nEA/JidJLTTDLuSA2TSZsGgODSshfbZg31MS90WC/HdbU/A5WL5GmyDkE/iks6INv+XE=")
    /// A key that OpenSSL 3.0 wrote with `-pubout` and with `-RSAPublicKey_out`.
    private static let rsa = Base64.decode(
        "MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDDZC6emWqp10ROW5YJD9f/gusNg1iI1JL68bXyWrU/Jh4FlVCvGlONDD+NA+ejj7JJ10AI"
            + "MB3bQiMURa9vlZ9YTfFmZdqGqHgyfurhJyFDWPej8yawV6JFPdTlDEB0oE8Yra+S7o4TFrxsziwtngiQS5COSHxGevCUqeWu+h4xYQID"
            + "AQAB")
    private static let rsaRaw = Base64.decode(
        "MIGJAoGBAMNkLp6ZaqnXRE5blgkP1/+C6w2DWIjUkvrxtfJatT8mHgWVUK8aU40MP40D56OPsknXQAgwHdtCIxRFr2+Vn1hN8WZl2oaoeDJ+"
            + "6uEnIUNY96PzJrBXokU91OUMQHSgTxitr5LujhMWvGzOLC2eCJBLkI5IfEZ68JSp5a76HjFhAgMBAAE=")

    private let p256: [UInt8]
    private let rsa: [UInt8]
    private let material: [[UInt8]: [UInt8]]
    private var app = RenderedApp()

    /// `api.example.com` with an RSA key served and an EC key for later.
    init() throws {
        self.p256 = try #require(Self.p256)
        self.rsa = try #require(Self.rsa)
        self.material = [sha256(self.rsa): self.rsa, sha256(self.p256): self.p256]
        try self.app.add(
            "api.example.com",
            [
                (try #require(Pin(bytes: sha256(self.rsa))), .primary),
                (try #require(Pin(bytes: sha256(self.p256))), .backup),
            ])
    }

    private static func read(_ document: NetKitDocument) throws -> PinDocument {
        try JSONDecoder().decode(PinDocument.self, from: Data(document.bytes))
    }

    private func read(_ app: RenderedApp, for names: [String] = []) throws -> PinDocument {
        try Self.read(NetKitDocument(app.view(), for: names, material: self.material))
    }

    @Test func `a NetKit document has keys as the system takes them out of certificates, and their hashes`() throws {
        let read = try self.read(self.app)
        #expect(read.app == "com.example.app" && read.version == 42 && read.policies.count == 1)
        let policy = try #require(read.policies.first)
        #expect(policy.mode == .publicKey && policy.failureAction == .reject && policy.validateCertificateChain)
        #expect(policy.pinnedHosts == ["api.example.com"])
        #expect(policy.pinnedItems == [Data(try #require(Self.rsaRaw))])
        #expect(policy.fallbackItems == [Data(try #require(Self.p256Raw))])
        #expect(policy.pinnedKeys.map(\.spkiSHA256) == [Base64.encode(sha256(self.rsa))])
        #expect(policy.pinnedKeys.compactMap(\.rawKey) == policy.pinnedItems)
        #expect(policy.fallbackKeys.map(\.spkiSHA256) == [Base64.encode(sha256(self.p256))])
        #expect(policy.fallbackKeys.compactMap(\.rawKey) == policy.fallbackItems)
        #expect(read.builtinHosts == [] && read.unpinnedHosts == [])
    }

    @Test func `a NetKit document has the documented types`() throws {
        let document = NetKitDocument(try self.app.view(), material: self.material)
        let policy = try #require(try JSONDecoder().decode(OldDocument.self, from: Data(document.bytes)).policies.first)
        #expect(policy.pinnedItems.count == 1 && policy.fallbackItems.count == 1)
        #expect(policy.mode == .publicKey && policy.failureAction == .reject && policy.validateCertificateChain)
    }

    @Test func `a NetKit document has items of all keys or of none, since half a set refuses connections`() throws {
        var material = self.material
        material[sha256(self.p256)] = nil
        let document = NetKitDocument(try self.app.view(), material: material)
        let policy = try #require(try Self.read(document).policies.first)
        #expect(policy.pinnedItems == nil && policy.fallbackItems == nil)
        #expect(policy.pinnedKeys.count == 1 && policy.pinnedKeys[0].rawKey == Self.rsaRaw.map { Data($0) })
        #expect(policy.fallbackKeys.count == 1 && policy.fallbackKeys[0].rawKey == nil)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(OldDocument.self, from: Data(document.bytes))
        }
    }

    @Test func `a NetKit document leaves out keys of others and facts that are not its key`() throws {
        let digest = sha256(self.rsa)
        func rawKey(_ material: [[UInt8]: [UInt8]], _ app: RenderedApp) throws -> Data? {
            try Self.read(NetKitDocument(app.view(), material: material)).policies.first?.pinnedKeys.first?.rawKey
        }
        #expect(try rawKey([digest: self.p256], self.app) == nil)
        var known = self.app
        func facts(_ rawKey: [UInt8]) throws -> KeyFacts {
            KeyFacts(
                pin: try #require(Pin(bytes: digest)), algorithm: "rsa", bits: 1024, spkiSHA512: [],
                rawKeySHA256: sha256(rawKey))
        }
        known.know(try facts(try #require(Self.rsaRaw)))
        #expect(try rawKey([digest: self.rsa], known) == Self.rsaRaw.map { Data($0) })
        known.know(try facts([1, 2, 3]))
        #expect(try rawKey([digest: self.rsa], known) == nil)
    }

    @Test(
        arguments: [
            [], [0x30, 0x00], [0x31, 0x07, 0x30, 0x00, 0x03, 0x03, 0x00, 1, 2],
            [0x30, 0x06, 0x30, 0x00, 0x03, 0x03, 0, 1, 2],
            // Unused bits, no key, a longer length than needed, an indefinite one, something behind, another type.
            [0x30, 0x07, 0x30, 0x00, 0x03, 0x03, 1, 1, 2], [0x30, 0x05, 0x30, 0x00, 0x03, 0x01, 0],
            [0x30, 0x81, 0x07, 0x30, 0x00, 0x03, 0x03, 0, 1, 2], [0x30, 0x80, 0x30, 0x00, 0x03, 0x03, 0, 1, 2, 0, 0],
            [0x30, 0x07, 0x30, 0x00, 0x03, 0x03, 0, 1, 2, 9], [0x30, 0x09, 0x30, 0x00, 0x03, 0x03, 0, 1, 2, 5, 0],
            [0x30, 0x07, 0x30, 0x00, 0x04, 0x03, 0, 1, 2], [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF], [0x30, 0x82, 0x01],
            [0x30, 0x07, 0x30, 0x00, 0x03, 0x04, 0, 1, 2],
        ] as [[UInt8]])
    func `a NetKit document takes no key from bytes that are not a certificate`(der: [UInt8]) throws {
        var app = RenderedApp()
        try app.add("a.b", [(try #require(Pin(bytes: sha256(der))), .primary)])
        let policy = try #require(
            try Self.read(NetKitDocument(app.view(), material: [sha256(der): der])).policies.first)
        #expect(policy.pinnedItems == nil && policy.pinnedKeys.count == 1 && policy.pinnedKeys[0].rawKey == nil)
    }

    @Test func `a NetKit document pins what is served besides what is primary`() throws {
        var app = self.app
        try app.see(try #require(Pin(bytes: sha256(self.p256))), at: "api.example.com")
        let policy = try #require(try self.read(app).policies.first)
        #expect(policy.pinnedKeys.map(\.spkiSHA256) == [self.p256, self.rsa].map { Base64.encode(sha256($0)) })
        #expect(policy.fallbackKeys.isEmpty && policy.fallbackItems == [])
    }

    @Test
    func `a NetKit document never has a policy without a key or a host, at which NetKit stops or pins everything`()
        throws
    {
        var app = RenderedApp()
        try app.add("backup.b", [(try .imagined("1"), .backup), (try .imagined("2"), .emergency)])
        try app.add("none.b")
        let read = try self.read(app)
        #expect(read.policies.map(\.pinnedHosts) == [["backup.b"]])
        #expect(read.policies.map(\.pinnedKeys.count) == [1] && read.policies.map(\.fallbackKeys.count) == [1])
        #expect(read.unpinnedHosts == ["none.b"])
        #expect(try self.read(app, for: ["unknown.b"]).policies.isEmpty)
    }

    @Test func `a NetKit document compares whole certificates where asked to`() throws {
        let (now, next) = (Array("certificate".utf8), Array("next certificate".utf8))
        var app = RenderedApp()
        try app.add("a.b", [(try .imagined("1"), .primary), (try .imagined("2"), .backup)])
        app.know(try .imagined("certificate", key: "1"))
        app.know(try .imagined("next certificate", key: "2"))
        app.know(try .imagined("over", key: "2", notAfter: RenderedApp.now))
        var material = [sha256(now): now, sha256(next): next, sha256(Array("over".utf8)): Array("over".utf8)]
        func policy() throws -> PinDocument.Policy? {
            try Self.read(NetKitDocument(app.view(), mode: .certificate, material: material)).policies.first
        }
        let policy1 = try #require(try policy())
        #expect(policy1.mode == .certificate)
        #expect(policy1.pinnedItems == [Data(now)] && policy1.fallbackItems == [Data(next)])
        #expect(policy1.pinnedKeys.map(\.certificates) == [[Data(now)]])
        material[sha256(next)] = nil
        let policy2 = try #require(try policy())
        #expect(policy2.pinnedItems == nil && policy2.fallbackItems == nil)
        #expect(policy2.fallbackKeys.map(\.certificates) == [nil])
    }

    @Test func `a NetKit document reports only by letting failures through to the system's own validation`() throws {
        var app = RenderedApp()
        try app.add("a.b", mode: .reportOnly, [(try .imagined("1"), .primary)])
        let policy = try #require(try self.read(app).policies.first)
        #expect(policy.failureAction == .allowWithWarning && policy.validateCertificateChain)
    }

    @Test func `a NetKit document tells hosts where pinning is off from those left to the app`() throws {
        var app = RenderedApp()
        try app.add("builtin.b", mode: nil)
        try app.add("off.b", mode: .off, [(try .imagined("1"), .primary)])
        try app.add("on.b", [(try .imagined("2"), .primary)])
        let read = try self.read(app)
        #expect(read.policies.map(\.pinnedHosts) == [["on.b"]])
        #expect(read.builtinHosts == ["builtin.b"] && read.unpinnedHosts == ["off.b"])
        app.switchOff()
        let off = try self.read(app)
        #expect(off.policies.isEmpty && off.builtinHosts.isEmpty)
        #expect(off.unpinnedHosts == ["builtin.b", "off.b", "on.b"])
    }

    @Test func `a NetKit document names exactly the hosts that the request names, since NetKit knows only exact names`()
        throws
    {
        var app = self.app
        try app.add("*.wild.b", [(try .imagined("1"), .primary)])
        try app.add("tree.b", includesSubdomains: true, [(try .imagined("2"), .primary)])
        #expect(try self.read(app).policies.map(\.pinnedHosts) == [["api.example.com"], ["tree.b"]])
        let names = [
            "B.wild.b", "a.wild.b", "a.wild.b", "deep.in.tree.b", "unknown.b", "*.wild.b", "no name", "\u{212A}.wild.b",
        ]
        #expect(
            try self.read(app, for: names).policies.map(\.pinnedHosts) == [
                ["a.wild.b", "b.wild.b"], ["deep.in.tree.b"],
            ])
        let text = String(decoding: NetKitDocument(try app.view(), for: names).bytes, as: UTF8.self)
        #expect(text.contains(#""pinnedHosts":["a.wild.b","b.wild.b"]"#))
    }
}
