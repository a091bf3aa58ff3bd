import ClientFormats
import PinWire
import Pinning
import Testing

@Suite struct `An export for NetKit` {
    /// What stands before an Ed25519 key (RFC 8410 section 10.1).
    private static let prefix: [UInt8] = [0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00]

    private func der(_ byte: UInt8) -> [UInt8] { Self.prefix + Array(repeating: byte, count: 32) }
    private func raw(_ byte: UInt8) -> String { Base64.encode(Array(repeating: byte, count: 32)) }
    private func pin(_ byte: UInt8) throws -> Pin { try #require(Pin(bytes: sha256(self.der(byte)))) }

    /// A host of which both keys can be known, and one of which a pin alone is.
    private func view() throws -> ClientView {
        func host(_ text: String, _ pins: [Pin]) throws -> Document.Host {
            Document.Host(
                pattern: try HostPattern(text), includesSubdomains: false,
                baseline: Document.Policy(
                    mode: .enforce,
                    pins: zip(PinRole.allCases, pins).map { Document.RolePin(pin: $1, role: $0) }), candidate: nil,
                rollout: nil)
        }
        return try ExportsSample.view([
            try host("a.example", [try self.pin(1), try self.pin(2)]),
            try host("b.example", [try self.pin(1), try ExportsSample.pin(7)]),
        ])
    }

    private func hashes() throws -> String {
        """
        /// The keys of which each host's chain must have one.
        let pinnedKeys: [String: [PinnedKey]] = [
            "a.example": [
                PinnedKey.spkiSHA256("\(try self.pin(1).base64)"),  // primary
                PinnedKey.spkiSHA256("\(try self.pin(2).base64)"),  // backup
            ],
            "b.example": [
                PinnedKey.spkiSHA256("\(try self.pin(1).base64)"),  // primary
                PinnedKey.spkiSHA256("\(try ExportsSample.pin(7).base64)"),  // backup
            ],
        ]

        """
    }

    private static let header = """
        // Made by Pinledger for com.example.shop (The shop): NetKit.
        // Check it with: pinledger export netkit com.example.shop --check FILE
        import NetKit


        """

    @Test func `an export for NetKit has the keys themselves for versions that compare them`() throws {
        let material = [sha256(self.der(1)): self.der(1), sha256(self.der(2)): self.der(2)]
        let export = try Export.render(.netkit, of: try self.view(), material: material)
        let keys = """
            #if NETKIT_KEY_DATA
            import Foundation

            /// The keys of which each host's chain must have one, for versions of NetKit without `PinnedKey`:
            /// as `SecKeyCopyExternalRepresentation` gives them.
            let pinnedKeys: [String: [Data]] = [
                "a.example": [
                    Data(base64Encoded: "\(self.raw(1))")!,  // primary
                    Data(base64Encoded: "\(self.raw(2))")!,  // backup
                ],
            ]
            #else

            """
        #expect(export.text == Self.header + keys + (try self.hashes()) + "#endif\n")
        #expect(
            export.notes == [
                "b.example: left out for versions of NetKit without PinnedKey. They compare keys themselves, which are "
                    + "not known of all its pins; `pinledger pin describe APP FILE` keeps them."
            ])
    }

    @Test func `an export for NetKit has hashes alone where no host's keys are all known or match`() throws {
        for material in [[:], [sha256(self.der(1)): self.der(1)], [sha256(self.der(1)): self.der(2)]] {
            let export = try Export.render(.netkit, of: try self.view(), material: material)
            #expect(export.text == Self.header + (try self.hashes()))
            #expect(export.notes.isEmpty)
        }
    }
}
