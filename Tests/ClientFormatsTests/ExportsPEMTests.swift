import ClientFormats
import PinWire
import Pinning
import Testing

@Suite struct `An export as PEM` {
    // The key of RFC 8410 section 10.1, and another with the same header.
    static let ed25519 = "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE="
    static let other = "MCowBQYDK2VwAyEA9gocJEBHG+vcm2OH42ZEy8XiYarSBJ3ZBTA5Ni7J+Ac="
    /// Stands for a certificate: longer than one line, and only ever copied.
    static let certificate = Array("a certificate that takes more than forty-eight bytes".utf8)

    private static let missing =
        "Store the missing material with: pinledger pin describe com.example.shop FILE."

    private func der(_ text: String) throws -> [UInt8] { try #require(Base64.decode(text)) }

    private func view(displayName: String = "The shop") throws -> ClientView {
        let first = try #require(Pin(bytes: sha256(try self.der(Self.ed25519))))
        let second = try #require(Pin(bytes: sha256(try self.der(Self.other))))
        func host(_ text: String, _ pins: [Pin]) throws -> Document.Host {
            Document.Host(
                pattern: try HostPattern(text), includesSubdomains: false,
                baseline: Document.Policy(
                    mode: .enforce,
                    pins: zip(PinRole.allCases, pins).map { Document.RolePin(pin: $1, role: $0) }), candidate: nil,
                rollout: nil)
        }
        let id = try AppID("com.example.shop")
        var app = App(id: id, displayName: displayName, createdAt: ExportsSample.now)
        var knowledge = try ExportsSample.knowledge(9, certificates: [0])
        knowledge.certificates[0].sha256 = sha256(Self.certificate)
        app.keys[second] = knowledge
        let document = Document(
            issuer: "pinledger", app: id, version: 1, pinsValidUntil: nil, killSwitches: [], rollout: nil,
            versionGate: nil,
            hosts: [
                try host("b.example", [first, second]), try host("a.example", [second, try ExportsSample.pin(1)]),
            ],
            fallback: Fallback(), monitoring: Monitoring())
        return ClientView(document, of: app, at: ExportsSample.now)
    }

    private func material(_ ders: [UInt8]...) -> [[UInt8]: [UInt8]] {
        Dictionary(ders.map { (sha256($0), $0) }) { first, _ in first }
    }

    @Test func `a PEM export has each known key once, with its certificates and the hosts that pin it`() throws {
        let material = self.material(try self.der(Self.ed25519), try self.der(Self.other), Self.certificate)
        let export = try Export.render(.pem, of: try self.view(), material: material)
        #expect(
            export.text == """
                # Made by Pinledger for com.example.shop (The shop): PEM.
                # Check it with: pinledger export pem com.example.shop --check FILE

                # sha256/\(Base64.encode(sha256(try self.der(Self.other)))): a.example (primary), b.example (backup)
                -----BEGIN PUBLIC KEY-----
                \(Self.other)
                -----END PUBLIC KEY-----
                -----BEGIN CERTIFICATE-----
                YSBjZXJ0aWZpY2F0ZSB0aGF0IHRha2VzIG1vcmUgdGhhbiBmb3J0eS1laWdodCBi
                eXRlcw==
                -----END CERTIFICATE-----

                # sha256/\(Base64.encode(sha256(try self.der(Self.ed25519)))): b.example (primary)
                -----BEGIN PUBLIC KEY-----
                \(Self.ed25519)
                -----END PUBLIC KEY-----

                """)
        #expect(
            export.notes == ["\(try ExportsSample.pin(1)): left out. Nobody showed more than the pin.", Self.missing])
    }

    @Test func `a PEM export has the certificate alone where the key is not stored`() throws {
        let export = try Export.render(.pem, of: try self.view(), material: self.material(Self.certificate))
        #expect(export.text.contains("BEGIN CERTIFICATE") && !export.text.contains("PUBLIC KEY"))
        #expect(export.notes.count == 4 && export.notes.last == Self.missing)
        #expect(
            export.notes.contains { $0.hasSuffix("its public key is not at hand by itself; its certificates have it.") }
        )
    }

    @Test func `a PEM export is refused without material, and ignores what is stored under another digest`() throws {
        let view = try self.view()
        #expect(throws: ExportRefusal.self) { try Export.render(.pem, of: view) }
        let wrong = [sha256(try self.der(Self.other)): try self.der(Self.ed25519), [1]: Self.certificate]
        #expect(
            performing: { try Export.render(.pem, of: view, material: wrong) },
            throws: { error in
                guard case .noMaterial(let notes)? = error as? ExportRefusal else { return false }
                return notes.count == 4 && "\(error)".hasPrefix("No public key and no certificate")
                    && "\(error)".hasSuffix(Self.missing)
            })
    }

    @Test func `a PEM export tells keys that were shown and not kept from keys that were never shown`() throws {
        let second = try #require(Pin(bytes: sha256(try self.der(Self.other))))
        let first = try self.material(self.der(Self.ed25519))
        #expect(
            try Export.render(.pem, of: try self.view(), material: first).notes.contains(
                "\(second): left out. Its key was shown, and is not kept."))
        let both = try self.material(self.der(Self.ed25519), self.der(Self.other))
        #expect(
            try Export.render(.pem, of: try self.view(), material: both).notes.contains(
                "\(second): its certificate with the SHA-256 \(Hex.encode(sha256(Self.certificate))) is left out. "
                    + "It was shown, and is not kept."))
    }

    @Test func `a PEM export mentions missing keys only where some are missing, and is refused without any host`()
        throws
    {
        let key = try self.der(Self.ed25519)
        let pin = try #require(Pin(bytes: sha256(key)))
        func view(_ mode: PinMode) throws -> ClientView {
            try ExportsSample.view([
                Document.Host(
                    pattern: try HostPattern("a.example"), includesSubdomains: false,
                    baseline: Document.Policy(mode: mode, pins: [Document.RolePin(pin: pin, role: .primary)]),
                    candidate: nil, rollout: nil)
            ])
        }
        #expect(try Export.render(.pem, of: try view(.enforce), material: self.material(key)).notes.isEmpty)
        #expect(
            performing: { try Export.render(.pem, of: try view(.off), material: self.material(key)) },
            throws: { error in
                guard case .nothingToPin(.pem, let notes)? = error as? ExportRefusal else { return false }
                return notes == ["a.example: left out. Its mode is off."]
            })
    }

    @Test func `a PEM export has no block that an app's name made`() throws {
        let material = self.material(try self.der(Self.other))
        let name = "x\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"
        let text = try Export.render(.pem, of: try self.view(displayName: name), material: material).text
        #expect(!text.contains("-----BEGIN CERTIFICATE"))
        #expect(text.split(separator: "\n").count { $0.hasPrefix("-----") } == 2)
    }
}
